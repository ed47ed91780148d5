#!/bin/bash
# Runs at each boot before the runner: renews the firewall rules, then checks the GPU. A failure keeps the runner off.
set -euo pipefail
set +x
shopt -s nullglob

HERE=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
for part in lib gpu metadata secrets; do
  # shellcheck source=/dev/null
  . "${HERE}/${part}.sh"
done
trap 'on_exit "$?"' EXIT

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
