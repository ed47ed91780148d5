"""The configuration file: one YAML document, every fault of it reported together, no secret in it."""

from shadow_autoscaler.edge.config.faults import ConfigError, Fault
from shadow_autoscaler.edge.config.load import load, parse
from shadow_autoscaler.edge.config.model import Config

__all__ = ["Config", "ConfigError", "Fault", "load", "parse"]
