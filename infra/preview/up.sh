#!/usr/bin/env bash
# Brings one stack up to date, policies enforced; for pipelines.
#   infra/preview/up.sh STACK
# Reads CLOUDS_YAML (contents of clouds.yaml) where OS_CLIENT_CONFIG_FILE is not set.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
[ $# -eq 1 ] || { echo "usage: infra/preview/up.sh STACK" >&2; exit 3; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -n "${CLOUDS_YAML:-}" ] && [ -z "${OS_CLIENT_CONFIG_FILE:-}" ]; then
    export OS_CLIENT_CONFIG_FILE=$work/clouds.yaml
    (umask 077 && printf '%s\n' "$CLOUDS_YAML" >"$OS_CLIENT_CONFIG_FILE")
fi
unset CLOUDS_YAML

engine=$(scripts/engine --env)
eval "$engine"
pulumi up --non-interactive --yes --skip-preview --refresh --suppress-outputs --stack "$1" \
    --policy-pack tests/policy --policy-pack-config tests/policy/config.json
