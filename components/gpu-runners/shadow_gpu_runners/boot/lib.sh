# shellcheck shell=bash
# What every boot script shares: strict bash, its parts, the report on the console, bounded retries, exclusive runs.
set -euo pipefail
set +x
shopt -s nullglob
umask 022

HERE=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")

: "${SHADOW_CONSOLE:=/dev/console}"
: "${SHADOW_METADATA_URL:=http://169.254.169.254}"
: "${SHADOW_RUNNER_SERVICE:=gitlab-runner}"

# Tests set SHADOW_ROOT to a folder; on a machine it is empty.
ROOT=${SHADOW_ROOT:-}
ETC=${ROOT}/etc/shadow-runner
STATE=${ROOT}/var/lib/shadow-runner
RUN=${ROOT}/run/shadow-runner

# shellcheck disable=SC2034  # used by docker.sh and runner.sh
UNITS=${ROOT}/etc/systemd/system
# shellcheck disable=SC2034  # used by runner.sh and secrets.sh
RUNNER_CONFIG=${ROOT}/etc/gitlab-runner/config.toml

PHASE=start
LAST_WAIT=
FAILED=
OUTPUT_IN=/var/log/cloud-init-output.log

# use PART...: read these parts; an end that no one reports is reported from now on.
use() {
  local part
  for part; do
    # shellcheck source=/dev/null
    . "${HERE}/${part}.sh"
  done
  trap 'on_exit "$?"' EXIT
}

# one_line TEXT: control characters become blanks, credentials in addresses are masked, 300 characters kept.
one_line() {
  printf '%s' "$1" | tr -s '[:cntrl:]' ' ' | sed -E 's#(://)[^/@ ]+@#\1***@#g' | cut -c1-300
}

# report STATUS REASON: one line about the current phase, on the console where it can be written.
report() {
  local line
  line="shadow-runner: phase=${PHASE} status=$1 reason=$(one_line "$2")"
  if ! printf '%s\n' "$line" 2>/dev/null >>"$SHADOW_CONSOLE"; then
    printf '%s\n' "$line"
  fi
  on_report "$1" "$2"
}

# on_report STATUS REASON: hook of job.sh, which tells its controller too.
on_report() {
  return 0
}

# waiting REASON: report only when the reason differs from the last one, so that a long wait is one line.
waiting() {
  if [[ "$1" != "$LAST_WAIT" ]]; then
    LAST_WAIT=$1
    report wait "$1"
  fi
}

# fail REASON: the end. The runner stays off, so that no job lands on this machine.
fail() {
  FAILED=1
  report failed "$1"
  keep_runner_off
  exit 1
}

keep_runner_off() {
  systemctl disable --now "$SHADOW_RUNNER_SERVICE" >/dev/null 2>&1 || true
}

# on_exit STATUS: an end that no one reported is a failure of the current phase.
on_exit() {
  [[ "$1" != 0 && -z "$FAILED" ]] || return 0
  report failed "ended with status $1; see ${OUTPUT_IN} on the machine"
  keep_runner_off
}

# begin PHASE: what follows belongs to this phase.
begin() {
  PHASE=$1
  LAST_WAIT=
}

# retry TRIES FIRST_PAUSE COMMAND...: run until it succeeds, doubling the pause up to a minute.
# The last output is kept in RETRY_OUTPUT for the failure report; it goes through a file because a service
# that the command starts would hold a pipe open. Nor may such a service inherit the lock (9).
retry() {
  local tries=$1 pause=$2 output="${RUN}/output" attempt
  shift 2
  for ((attempt = 1; attempt <= tries; attempt++)); do
    if "$@" >"$output" 2>&1 9>&-; then
      return 0
    fi
    RETRY_OUTPUT=$(<"$output")
    ((attempt < tries)) || break
    waiting "attempt ${attempt} of ${tries} failed: $(last_words "$RETRY_OUTPUT")"
    sleep "$pause"
    pause=$((pause * 2 < 60 ? pause * 2 : 60))
  done
  return 1
}

# last_words TEXT: its last line that is not blank, where most tools say why they stopped.
last_words() {
  local words
  words=$(printf '%s\n' "$1" | grep -v '^[[:space:]]*$' | tail -n 1) || true
  printf '%s' "${words:-no output}"
}

done_before() {
  [[ -e "${STATE}/$1.done" ]]
}

mark_done() {
  mkdir -p "$STATE"
  : >"${STATE}/$1.done"
}

# run_alone: a second run (a person, a systemd unit) waits for the first one instead of mixing with it.
run_alone() {
  mkdir -p "$RUN"
  exec 9>"${RUN}/lock"
  flock --wait 3600 9 || fail "another boot run has held ${RUN}/lock for an hour"
}

load_settings() {
  [[ -r "${ETC}/boot.env" ]] || fail "${ETC}/boot.env is missing; was write_files skipped?"
  set -a
  # shellcheck source=/dev/null
  . "${ETC}/boot.env"
  # All downloads go through a proxy where there is one; what is on this machine must say so where it is asked.
  # shellcheck source=/dev/null
  [[ ! -r "${ETC}/proxy.env" ]] || . "${ETC}/proxy.env"
  set +a
}
