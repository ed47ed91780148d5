# shellcheck shell=bash
# Sourced by the pipelines' scripts: a folder `work` that goes away, credentials from CLOUDS_YAML, the engine on PATH.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -n "${CLOUDS_YAML:-}" ] && [ -z "${OS_CLIENT_CONFIG_FILE:-}" ]; then
    export OS_CLIENT_CONFIG_FILE=$work/clouds.yaml
    (umask 077 && printf '%s\n' "$CLOUDS_YAML" >"$OS_CLIENT_CONFIG_FILE")
fi
unset CLOUDS_YAML

engine=$(scripts/engine --env)
eval "$engine"
