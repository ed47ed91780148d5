"""The whole autoscaler, except for threads and networks, in virtual time among ports that fail.

`python -m chaos --help` (with `tests` on the module path) runs, replays and shrinks scenarios.
"""
