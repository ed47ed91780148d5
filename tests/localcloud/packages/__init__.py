"""A package index on loopback: the autoscaler's wheel as this checkout has it, and what it needs."""

from localcloud.packages.wheels import ADDRESS, Wheel, built, folder, prepare

__all__ = ["ADDRESS", "Wheel", "built", "folder", "prepare"]
