"""Runs the command line as `python -m shadow_perfgate`."""

from shadow_perfgate.cli import main

main()
