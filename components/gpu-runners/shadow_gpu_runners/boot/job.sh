#!/bin/bash
# Turns a fresh GPU machine into the runner of one job: as boot.sh, but the controller is told each phase, hands over
# the runner's configuration once the GPU has proved healthy, and deletes the machine after the job.
set -e
# shellcheck source=/dev/null
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/lib.sh"
use packages docker gpu metadata secrets once

# on_report STATUS REASON: the controller hears what the console shows; a boot goes on where it cannot be reached.
on_report() {
  controller status "$PHASE" "$1" "$(one_line "$2")" >/dev/null 2>&1 || true
}

keep_runner_off() {
  return 0 # no service to stop: the runner is started by this script alone
}

main() {
  run_alone
  load_settings
  load_job_settings
  one_job_only
  report ok "boot of $(hostname)"
  watch_for_reclaim
  install_packages
  install_runner
  configure_docker
  check_gpu_on_host
  check_gpu_in_container
  close_metadata_route
  remove_secrets
  begin healthy
  report ok "ready for a job"
  fetch_config
  run_one_job
}

main
