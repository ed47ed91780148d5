"""A performance gate for inference workloads: measure, compare with main, decide.

Start with `shadow_perfgate.model` (sessions, runs, metrics), `shadow_perfgate.decide` (verdicts) and
`shadow_perfgate.baseline` (stores); the command line is `shadow-perfgate`.
"""

__version__ = "0.1.0"
