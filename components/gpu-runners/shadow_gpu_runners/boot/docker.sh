# shellcheck shell=bash
# Docker with the NVIDIA runtime, registry mirrors and proxies.

# replace_if_different SOURCE TARGET MODE: succeed when the target was changed; keep a first original aside.
replace_if_different() {
  if cmp -s "$1" "$2"; then
    return 1
  fi
  mkdir -p "$(dirname "$2")"
  [[ ! -e "$2" || -e "$2.before-shadow-runner" ]] || cp -p "$2" "$2.before-shadow-runner"
  install -m "$3" "$1" "$2"
}

use_proxy_for() {
  local unit=$1
  mkdir -p "${UNITS}/${unit}.d"
  printf '[Service]\nEnvironmentFile=/etc/shadow-runner/proxy.env\n' >"${UNITS}/${unit}.d/20-shadow-proxy.conf"
}

use_proxies() {
  [[ -r "${ETC}/proxy.env" ]] || return 0
  use_proxy_for docker.service
  use_proxy_for "${SHADOW_RUNNER_SERVICE}.service"
}

configure_docker() {
  begin docker
  if done_before docker; then
    report ok "configured by an earlier boot"
    return 0
  fi
  replace_if_different "${ETC}/daemon.json" "${ROOT}/etc/docker/daemon.json" 0644 || true
  use_proxies
  retry 3 2 nvidia-ctk runtime configure --runtime=docker ||
    fail "nvidia-ctk runtime configure: $(last_words "$RETRY_OUTPUT")"
  systemctl daemon-reload
  retry 3 2 systemctl restart docker || fail "systemctl restart docker: $(last_words "$RETRY_OUTPUT")"
  mark_done docker
  report ok "NVIDIA runtime configured"
}
