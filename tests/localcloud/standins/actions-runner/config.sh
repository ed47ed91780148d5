#!/bin/sh
# Stand-in for actions/runner's config.sh: registers at the simulated GitHub, or removes with `remove`.
if [ "$(id -u)" -eq 0 ] && [ -z "${RUNNER_ALLOW_RUNASROOT:-}" ]; then
    echo "Must not run with sudo"
    exit 1
fi
: "${RUNNER_STANDIN_ROOT:=$(cd "$(dirname "$0")" && pwd)}"
export RUNNER_STANDIN_ROOT
exec /usr/bin/python3 "$(dirname "$(readlink -f "$0")")/configure.py" "$@"
