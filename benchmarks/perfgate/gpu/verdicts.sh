# Gate runs with injected faults, then A/A runs in eager mode in the time that is left. $1 = seconds in all.
# $WHEELS: wheels that the machine lacks; $GIT: unpacked git where the machine has none. Both may be empty.
set -u
began=$(date +%s) scratch=$(mktemp -d)
export PYTHONUNBUFFERED=1 PYTHONPYCACHEPREFIX=$scratch/pyc
unset PYTHONDONTWRITEBYTECODE
if [ -n "${WHEELS:-}" ]; then
  python3 -m pip install -q --no-index --no-deps --no-compile --target "$scratch/site" "$WHEELS"/*.whl
fi
if ! command -v git >/dev/null; then
  export PATH=$GIT/usr/bin:$PATH GIT_EXEC_PATH=$GIT/usr/lib/git-core LD_LIBRARY_PATH=$GIT/usr/lib/x86_64-linux-gnu
  export GIT_TEMPLATE_DIR=
fi
git --version
export PYTHONPATH=$PWD/components/perfgate:$PWD/benchmarks/perfgate/gpu:$scratch/site
mkdir "$scratch/out"
python3 benchmarks/perfgate/gpu/verdicts.py "$scratch/out" "$(( $1 - 12 ))" "$scratch/repository" 2>&1
tar -C "$scratch" -czf "$OUT/verdicts.tgz" out
left=$(( $1 - ($(date +%s) - began) ))
echo "left: $left s"
[ "$left" -lt 30 ] || python3 benchmarks/perfgate/gpu/calibrate.py "$OUT/eager.jsonl" "$(( left - 12 ))" 4 fork eager 2>&1 | tail -n 4
