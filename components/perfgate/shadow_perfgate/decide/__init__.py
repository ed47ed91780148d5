"""Decides from measured runs, by rules that are written down in docs/reference/perf-gate.md.

Everything here is a pure function of its arguments: no clock, no file, no randomness.
"""
