#!/bin/sh
# Stand-in for actions/runner's run.sh: takes jobs from the simulated GitHub; with --jitconfig exactly one.
if [ "$(id -u)" -eq 0 ] && [ -z "${RUNNER_ALLOW_RUNASROOT:-}" ]; then
    echo "Must not run interactively with sudo"
    exit 1
fi
: "${RUNNER_STANDIN_ROOT:=$(cd "$(dirname "$0")" && pwd)}"
export RUNNER_STANDIN_ROOT
exec /usr/bin/python3 "$(dirname "$(readlink -f "$0")")/listener.py" "$@"
