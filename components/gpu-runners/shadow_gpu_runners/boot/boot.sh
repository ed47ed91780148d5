#!/bin/bash
# Turns a fresh GPU machine into a CI runner: packages, Docker, GPU gate, closed metadata route, runner.
# Safe to run again. The runner starts last, so a machine that fails on the way never takes a job.
set -e
# shellcheck source=/dev/null
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/lib.sh"
use packages docker gpu metadata secrets runner

main() {
  run_alone
  load_settings
  report ok "boot of $(hostname)"
  install_packages
  stop_runner
  configure_docker
  check_gpu_on_host
  check_gpu_in_container
  close_metadata_route
  guard_later_boots
  write_config
  remove_secrets
  start_runner
  begin ready
  report ok "waiting for jobs"
}

main
