#!/usr/bin/env bash
# Brings one stack up to date, policies enforced; for pipelines.
#   infra/preview/up.sh STACK
# Reads CLOUDS_YAML (contents of clouds.yaml) where OS_CLIENT_CONFIG_FILE is not set.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
[ $# -eq 1 ] || { echo "usage: infra/preview/up.sh STACK" >&2; exit 3; }

. infra/preview/_cloud.sh
pulumi up --non-interactive --yes --skip-preview --refresh --suppress-outputs --stack "$1" \
    --policy-pack tests/policy --policy-pack-config tests/policy/config.json
