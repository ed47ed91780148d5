# shellcheck shell=bash
# Packages from apt: repositories with checked keys, pinned versions, bounded waits.

: "${SHADOW_PACKAGES:=}"
: "${SHADOW_APT_TRIES:=6}"
: "${SHADOW_APT_PAUSE_S:=5}"
: "${SHADOW_APT_LOCK_TIMEOUT_S:=300}"

export DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=l

apt_get() {
  apt-get -q -y -o "DPkg::Lock::Timeout=${SHADOW_APT_LOCK_TIMEOUT_S}" -o Acquire::Retries=3 "$@"
}

# fetch URL FILE: over the proxy when one is set.
fetch() {
  curl --fail --silent --show-error --location --max-time 60 --output "$2" "$1"
}

# key_has_fingerprint FILE FINGERPRINT: one of the file's keys must be the expected one.
key_has_fingerprint() {
  gpg --batch --show-keys --with-colons "$1" 2>/dev/null | grep -q "^fpr:::::::::$2:"
}

# add_repository NAME KEY_URL FINGERPRINT: its .sources file becomes active once its key is the expected one.
add_repository() {
  local name=$1 key_url=$2 fingerprint=$3 key=${ROOT}/etc/apt/keyrings/$1.asc
  mkdir -p "${ROOT}/etc/apt/keyrings" "${ROOT}/etc/apt/sources.list.d"
  retry "$SHADOW_APT_TRIES" "$SHADOW_APT_PAUSE_S" fetch "$key_url" "$key" ||
    fail "repository ${name}: key ${key_url} cannot be fetched: $(last_words "$RETRY_OUTPUT")"
  chmod 0644 "$key"
  key_has_fingerprint "$key" "$fingerprint" ||
    fail "repository ${name}: key ${key_url} lacks fingerprint ${fingerprint}; check the repositories input"
  install -m 0644 "${ETC}/sources/${name}.sources" "${ROOT}/etc/apt/sources.list.d/${name}.sources"
}

add_repositories() {
  local name key_url fingerprint
  [[ -r "${ETC}/repositories" ]] || return 0
  while read -r name key_url fingerprint; do
    [[ -z "$name" ]] || add_repository "$name" "$key_url" "$fingerprint"
  done <"${ETC}/repositories"
}

# freeze_upgrades: an unattended driver upgrade leaves kernel module and library at different versions.
freeze_upgrades() {
  systemctl disable --now unattended-upgrades.service apt-daily.timer apt-daily-upgrade.timer >/dev/null 2>&1 || true
}

# hold_packages NAME[=VERSION]...: these, the driver and the kernel keep their versions.
hold_packages() {
  local installed
  mapfile -t installed < <(dpkg-query -W -f '${Package}\n' 'nvidia-driver-*' 'libnvidia-*' 'linux-image-*' 2>/dev/null)
  apt-mark hold "${installed[@]}" "${@%%=*}" >/dev/null 2>&1 || true
}

refuse_snap_docker() {
  local docker
  docker=$(command -v docker) || return 0
  case $(readlink -f "$docker") in
    /snap/* | /usr/bin/snap) fail "Docker comes from a snap, which cannot reach the GPU; use an image without it" ;;
  esac
}

install_packages() {
  local packages
  begin packages
  refuse_snap_docker
  if done_before packages; then
    report ok "installed by an earlier boot"
    return 0
  fi
  freeze_upgrades
  add_repositories
  retry "$SHADOW_APT_TRIES" "$SHADOW_APT_PAUSE_S" apt_get update ||
    fail "apt-get update: $(last_words "$RETRY_OUTPUT")"
  read -ra packages <<<"$SHADOW_PACKAGES"
  retry "$SHADOW_APT_TRIES" "$SHADOW_APT_PAUSE_S" apt_get install --no-install-recommends "${packages[@]}" ||
    fail "apt-get install: $(last_words "$RETRY_OUTPUT")"
  hold_packages "${packages[@]}"
  mark_done packages
  report ok "installed ${SHADOW_PACKAGES:-nothing}"
}
