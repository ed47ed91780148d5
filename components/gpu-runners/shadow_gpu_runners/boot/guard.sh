#!/bin/bash
# Runs at each boot before the runner: renews the firewall rules, then checks the GPU. A failure keeps the runner off.
set -e
# shellcheck source=/dev/null
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/lib.sh"
use gpu metadata secrets

keep_runner_off() {
  # The failed unit does that already; disabling the service would outlive a repaired GPU.
  return 0
}

main() {
  mkdir -p "$RUN"
  [[ ! -e "${RUN}/gate-passed" ]] || exit 0
  load_settings
  close_metadata_route
  check_gpu_on_host
  check_gpu_in_container
  wait_for_cloud_init
  remove_secrets
  : >"${RUN}/gate-passed"
}

main
