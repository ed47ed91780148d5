#!/bin/bash
# Runs a boot script until it succeeds: a mirror, a package index, a volume or the cloud itself may be away for a while,
# and nobody may be watching. The pause doubles from attempt to attempt.
set -e
# shellcheck source=/dev/null
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/lib.sh"

: "${SHADOW_FIRST_PAUSE_S:=15}"
: "${SHADOW_LONGEST_PAUSE_S:=900}"

# keep_trying COMMAND...: each failure has been reported by the command itself.
keep_trying() {
  local pause=$SHADOW_FIRST_PAUSE_S attempt
  for ((attempt = 1; ; attempt++)); do
    ! "$@" || return 0
    report wait "attempt ${attempt} failed; the next one starts by itself in ${pause} s"
    sleep "$pause"
    pause=$((pause * 2 < SHADOW_LONGEST_PAUSE_S ? pause * 2 : SHADOW_LONGEST_PAUSE_S))
  done
}

begin retry
keep_trying bash "$@"
