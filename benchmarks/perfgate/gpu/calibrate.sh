# A/A: forked fresh processes, then the sampler's overhead, then processes that import everything themselves.
# Usage: calibrate.sh SECONDS RUNS MODE...
set -u
export PYTHONUNBUFFERED=1 PYTHONPATH=components/perfgate:benchmarks/perfgate/gpu PYTHONPYCACHEPREFIX=${TMPDIR:-/tmp}/pyc
unset PYTHONDONTWRITEBYTECODE
tools=benchmarks/perfgate/gpu
seconds=$1 runs=$2; shift 2
python3 "$tools/calibrate.py" "$OUT/aa.jsonl" "$seconds" "$runs" fork "$@" > "$OUT/fork.log" 2>&1
echo "A/A ended with $? after $SECONDS s"; tail -n 4 "$OUT/fork.log"
timeout 90 python3 "$tools/overhead.py" "$OUT/overhead.json" 240 graphs 2>&1 | tail -n 5
echo "overhead until $SECONDS s"
