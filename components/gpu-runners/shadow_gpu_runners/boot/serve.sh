#!/bin/bash
# Turns a fresh machine into the autoscaler's controller: data volume, Python packages with checked hashes, a hardened
# service, TLS in front of it. Safe to run again: keep-trying.sh does so until it succeeds, and at each later boot.
set -e
# shellcheck source=/dev/null
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/lib.sh"
use packages metadata secrets service
# shellcheck disable=SC2034  # lib.sh shows it
OUTPUT_IN="journalctl -u shadow-controller"

keep_runner_off() {
  return 0 # there is none here; a controller that cannot start is restarted by systemd, or is off already
}

main() {
  run_alone
  load_settings
  load_service_settings
  report ok "boot of $(hostname)"
  install_packages
  mount_data
  make_service_user
  install_service
  place_files
  reject_metadata_for_the_service
  remove_secrets
  start_service
  start_tls
  wait_until_ready
}

main
