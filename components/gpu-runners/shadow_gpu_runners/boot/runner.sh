# shellcheck shell=bash
# GitLab Runner: its configuration, its start, and what must hold at each later boot.

# stop_runner: its package starts it at once, and a running one would take up a new config.toml by itself.
stop_runner() {
  systemctl stop "$SHADOW_RUNNER_SERVICE" >/dev/null 2>&1 || true
}

# guard_later_boots: firewall rules do not outlive a reboot, so a unit renews them and checks the GPU first;
# where it fails, systemd leaves the runner off. It is not ordered after cloud-final.service, in which the
# first boot's script runs: that would be a deadlock.
guard_later_boots() {
  cat >"${UNITS}/shadow-runner-guard.service" <<UNIT
[Unit]
Description=Close the metadata route and check the GPU before the CI runner starts
Wants=network-online.target
After=network-online.target docker.service cloud-config.service
Before=${SHADOW_RUNNER_SERVICE}.service

[Service]
Type=oneshot
RemainAfterExit=yes
TimeoutStartSec=3600
ExecStart=/bin/bash /opt/shadow-runner/guard.sh
UNIT
  mkdir -p "${UNITS}/${SHADOW_RUNNER_SERVICE}.service.d"
  printf '[Unit]\nRequires=shadow-runner-guard.service\nAfter=shadow-runner-guard.service\n' \
    >"${UNITS}/${SHADOW_RUNNER_SERVICE}.service.d/10-shadow-runner.conf"
  systemctl daemon-reload
}

# fill_in_name TEMPLATE: the runner manager is named after its machine. The token stays in the file.
fill_in_name() {
  local name
  name=$(hostname | tr -cd 'A-Za-z0-9.-')
  sed "s/@HOSTNAME@/${name}/g" "$1"
}

write_config() {
  begin config
  local template=${ETC}/config.toml
  if [[ ! -e "$template" && -s "$RUNNER_CONFIG" ]]; then
    report ok "written by an earlier boot"
    return 0
  fi
  [[ -s "$template" ]] || fail "${template} is missing and ${RUNNER_CONFIG} does not exist"
  mkdir -p "$(dirname "$RUNNER_CONFIG")"
  chmod 0700 "$(dirname "$RUNNER_CONFIG")"
  (umask 077 && fill_in_name "$template" >"${RUNNER_CONFIG}.new")
  mv "${RUNNER_CONFIG}.new" "$RUNNER_CONFIG"
  report ok "${RUNNER_CONFIG} written"
}

# runner_stays_up: one that cannot read its configuration ends within a second or two.
runner_stays_up() {
  local look
  for look in 1 2 3; do
    systemctl is-active --quiet "$SHADOW_RUNNER_SERVICE" || return 1
    [[ "$look" == 3 ]] || sleep 1
  done
}

start_runner() {
  begin runner
  : >"${RUN}/gate-passed"
  retry 3 2 systemctl enable --now "$SHADOW_RUNNER_SERVICE" ||
    fail "systemctl enable --now ${SHADOW_RUNNER_SERVICE}: $(last_words "$RETRY_OUTPUT")"
  runner_stays_up ||
    fail "${SHADOW_RUNNER_SERVICE} stopped after its start: $(last_words "$(journalctl -n 5 --no-pager -o cat -u "$SHADOW_RUNNER_SERVICE" 2>&1)")"
  report ok "${SHADOW_RUNNER_SERVICE} started"
}
