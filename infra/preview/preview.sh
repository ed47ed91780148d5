#!/usr/bin/env bash
# Previews one stack and comments on the pull or merge request; for pipelines.
#   infra/preview/preview.sh STACK [arguments of `python -m preview`]
# Reads CLOUDS_YAML (contents of clouds.yaml) where OS_CLIENT_CONFIG_FILE is not set. Exit codes: python -m preview --help
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
[ $# -gt 0 ] || { echo "usage: infra/preview/preview.sh STACK [arguments of python -m preview]" >&2; exit 3; }
stack=$1
shift

. infra/preview/_cloud.sh
policies=()
if [ -x tests/policy/.venv/bin/python ]; then
    policies=(--policy-pack tests/policy --policy-pack-config tests/policy/config.json)
else
    echo "preview: the policy pack's environment is missing, so its rules run on the preview's JSON;" \
        "install it by: cd tests/policy && pulumi install" >&2
fi

code=0
# Only the streaming form carries the results of policy packs.
PULUMI_ENABLE_STREAMING_JSON_PREVIEW=true pulumi preview --non-interactive --stack "$stack" --json "${policies[@]}" \
    >"$work/preview.json" || code=$?
PYTHONPATH=infra .venv/bin/python -m preview "$work/preview.json" --exit-code "$code" \
    --policies tests/policy --policy-config tests/policy/config.json "$@"
