# shellcheck shell=bash
# The controller: where its state lies, how it is installed, what it may do, and what stands in front of it.

SERVICE=shadow-autoscaler
SERVICE_ETC=${ROOT}/etc/${SERVICE}
SERVICE_DATA=${ROOT}/var/lib/${SERVICE}
SERVICE_CODE=${ROOT}/opt/${SERVICE}

load_service_settings() {
  [[ -r "${ETC}/serve.env" ]] || fail "${ETC}/serve.env is missing; was write_files skipped?"
  # shellcheck source=/dev/null
  . "${ETC}/serve.env"
}

data_device() {
  printf '%s/dev/disk/by-id/virtio-%s' "$ROOT" "${SHADOW_DATA_VOLUME:0:20}"
}

data_device_is_there() {
  [[ -e "$(data_device)" ]]
}

# read_ends: of the volume, where file systems have their marks.
read_ends() {
  local bytes
  bytes=$(blockdev --getsize64 "$(data_device)") &&
    dd if="$(data_device)" of=/dev/null bs=1M count=4 status=none &&
    dd if="$(data_device)" of=/dev/null bs=1M skip="$(((bytes >> 20) - 4))" status=none
}

# volume_is_empty: blkid says 2 where it finds nothing at all, but also where it cannot open or read the volume. So that
# must work before and after; and the caller holds it open, so that blkid meets what has been read.
volume_is_empty() {
  local status=0
  retry 3 1 read_ends || fail "volume ${SHADOW_DATA_VOLUME} cannot be read: $(last_words "$RETRY_OUTPUT")"
  blkid --probe "$(data_device)" >/dev/null 2>&1 || status=$?
  retry 1 1 read_ends || fail "volume ${SHADOW_DATA_VOLUME} cannot be read: $(last_words "$RETRY_OUTPUT")"
  [[ "$status" == 2 ]]
}

# format_empty_volume: one that holds anything, or was mounted before, is never formatted.
format_empty_volume() {
  ! grep -q "^$(data_device) " "${ROOT}/etc/fstab" 2>/dev/null || return 0
  volume_is_empty 8<"$(data_device)" || return 0
  retry 1 1 mkfs.ext4 -q -L shadow-state "$(data_device)" || fail "mkfs.ext4: $(last_words "$RETRY_OUTPUT")"
}

mount_data() {
  begin data
  mkdir -p "$SERVICE_DATA"
  if [[ -z "${SHADOW_DATA_VOLUME:-}" ]]; then
    report ok "state on the boot volume"
    return 0
  fi
  retry 7 1 data_device_is_there || fail "volume ${SHADOW_DATA_VOLUME} does not show up as $(data_device)"
  format_empty_volume
  mountpoint -q "$SERVICE_DATA" || retry 3 2 mount "$(data_device)" "$SERVICE_DATA" ||
    fail "mount $(data_device): $(last_words "$RETRY_OUTPUT")"
  grep -q " ${SERVICE_DATA} " "${ROOT}/etc/fstab" 2>/dev/null ||
    printf '%s %s ext4 defaults,nofail 0 2\n' "$(data_device)" "$SERVICE_DATA" >>"${ROOT}/etc/fstab"
  report ok "state on volume ${SHADOW_DATA_VOLUME}"
}

make_service_user() {
  id -u "$SERVICE" >/dev/null 2>&1 || useradd --system --home-dir "/var/lib/${SERVICE}" --shell /usr/sbin/nologin "$SERVICE"
  chown -R "$SERVICE" "$SERVICE_DATA"
  chmod 0700 "$SERVICE_DATA"
}

python_is_new_enough() {
  /usr/bin/python3 -I -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

pip_install() {
  "${SERVICE_CODE}/$1/bin/pip" install --quiet --disable-pip-version-check --no-input "${@:2}"
}

fetch_wheel() {
  curl --fail --silent --show-error --location --max-time 120 --output "$2" "$1" &&
    printf '%s  %s\n' "$SHADOW_WHEEL_SHA256" "$2" | sha256sum --check --status
}

# install_service: complete is what is on the disk; a power cut takes what was written last.
install_service() {
  local name=${SHADOW_WHEEL_SHA256:0:16}
  begin install
  [[ ! -e "${SERVICE_CODE}/${name}/.complete" ]] || { report ok "installed by an earlier boot" && return 0; }
  build_service "$name"
  sync --file-system "${SERVICE_CODE}/${name}"
  : >"${SERVICE_CODE}/${name}/.complete"
  report ok "$("${SERVICE_CODE}/${name}/bin/shadow-autoscaler" --version)"
}

# build_service NAME: the wheel is checked by its hash and brings the complete list, by hash, of what it needs. Old
# releases of pip resolve extras anew in spite of the pins, hence --no-deps.
build_service() {
  local name=$1 wheel
  python_is_new_enough || fail "Python 3.11 or newer with venv is needed; take an image that has it, such as Ubuntu 24.04"
  wheel=${RUN}/${SHADOW_WHEEL_URL##*/}
  retry 5 2 fetch_wheel "$SHADOW_WHEEL_URL" "$wheel" ||
    fail "${SHADOW_WHEEL_URL}: not fetched, or its SHA-256 is not ${SHADOW_WHEEL_SHA256}"
  rm -rf "${SERVICE_CODE:?}/${name}"
  mkdir -p "$SERVICE_CODE"
  /usr/bin/python3 -I -m venv "${SERVICE_CODE}/${name}"
  /usr/bin/python3 -I -m zipfile -e "$wheel" "${RUN}/wheel"
  local index=()
  [[ -z "${SHADOW_PIP_INDEX_URL:-}" ]] || index=(--index-url "$SHADOW_PIP_INDEX_URL")
  retry 4 5 pip_install "$name" "${index[@]}" --require-hashes --no-deps --only-binary :all: \
    -r "${RUN}/wheel/shadow_autoscaler/requirements.txt" || fail "pip: $(last_words "$RETRY_OUTPUT")"
  retry 1 1 pip_install "$name" --no-deps --no-index "$wheel" || fail "pip: $(last_words "$RETRY_OUTPUT")"
  rm -rf "${RUN}/wheel" "$wheel"
}

# unpack_templates FOLDER: the pools' user-data, from the parts that they share.
unpack_templates() {
  /usr/bin/python3 -I -c '
import json, pathlib, sys
folder = pathlib.Path(sys.argv[1])
known = json.loads((folder / "templates.json").read_text("utf-8"))
(folder / "user-data").mkdir()
for name, numbers in known["pools"].items():
    text = "".join(known["parts"][number] for number in numbers)
    (folder / "user-data" / (name + ".yaml")).write_text(text, "utf-8")
(folder / "templates.json").unlink()
' "$1"
}

# place_files: what came with the user-data goes where only the service reads it.
place_files() {
  begin config
  ln -sfn "${SHADOW_WHEEL_SHA256:0:16}" "${SERVICE_CODE}/current"
  [[ -d "${ETC}/controller" ]] || { report ok "placed by an earlier boot" && return 0; }
  rm -rf "${SERVICE_ETC}.new"
  cp -R "${ETC}/controller" "${SERVICE_ETC}.new"
  unpack_templates "${SERVICE_ETC}.new"
  chown -R "$SERVICE" "${SERVICE_ETC}.new"
  chmod -R u=rwX,go= "${SERVICE_ETC}.new"
  rm -rf "$SERVICE_ETC"
  mv "${SERVICE_ETC}.new" "$SERVICE_ETC"
  retry 1 1 "${SERVICE_CODE}/current/bin/shadow-autoscaler" config check --config "${SERVICE_ETC}/config.yaml" ||
    fail "the configuration is refused: ${RETRY_OUTPUT}"
  withdraw "${ETC}/controller" "$SERVICE_ETC"
  report ok "${SERVICE_ETC}/config.yaml"
}

# reject_metadata_for_the_service: it serves strangers, so it has no way to this machine's user-data.
reject_metadata_for_the_service() {
  begin metadata
  retry 5 1 ensure_rule OUTPUT -d "$METADATA_ADDRESS" -m owner ! --uid-owner 0 -j REJECT ||
    fail "iptables: $(last_words "$RETRY_OUTPUT")"
  report ok "closed for users other than root"
}

write_unit() {
  cat >"${UNITS}/${SERVICE}.service" <<UNIT
[Unit]
Description=Creates a fresh GPU machine for each CI job
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=0
RequiresMountsFor=/var/lib/${SERVICE}

[Service]
User=${SERVICE}
ExecStart=/opt/${SERVICE}/current/bin/shadow-autoscaler serve --config /etc/${SERVICE}/config.yaml
EnvironmentFile=-/etc/shadow-runner/proxy.env
Restart=always
RestartSec=2
TimeoutStopSec=60
ProtectSystem=strict
ReadWritePaths=/var/lib/${SERVICE}
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes
ProtectKernelTunables=yes
ProtectKernelModules=yes
ProtectKernelLogs=yes
ProtectControlGroups=yes
ProtectClock=yes
ProtectHostname=yes
ProtectProc=invisible
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
NoNewPrivileges=yes
CapabilityBoundingSet=
SystemCallArchitectures=native
SystemCallFilter=@system-service
UMask=0077
UNIT
}

# service_says PAGE: healthz is fine where it takes webhooks in, readyz where it also decides on them.
service_says() {
  curl --fail-with-body --silent --max-time 5 --noproxy '*' "http://127.0.0.1:${SHADOW_LISTEN_PORT}/$1"
}

start_service() {
  begin service
  write_unit
  systemctl daemon-reload
  # Not enabled: at each boot it starts here, with its state mounted and the metadata route closed.
  retry 3 2 systemctl start "$SERVICE" || fail "systemctl start ${SERVICE}: $(last_words "$RETRY_OUTPUT")"
  retry 8 1 service_says healthz ||
    fail "${SERVICE} does not answer: $(last_words "$(journalctl -n 5 --no-pager -o cat -u "$SERVICE" 2>&1)")"
  report ok "${SERVICE} takes webhooks"
}

# wait_until_ready: webhooks come in meanwhile. They are written down, and decided on once that is possible.
wait_until_ready() {
  begin ready
  retry 8 1 service_says readyz || fail "${SERVICE} does not decide: $(last_words "$RETRY_OUTPUT")"
  report ok "controller answers at ${SHADOW_CALLBACK}"
}

# start_tls: Caddy takes port 443 with the given certificate, or gets and renews one by ACME.
start_tls() {
  [[ -r "${ETC}/Caddyfile" ]] || return 0
  begin tls
  install -D -m 0644 "${ETC}/Caddyfile" "${ROOT}/etc/caddy/Caddyfile"
  if [[ -d "${ETC}/tls" ]]; then
    install -D -m 0644 "${ETC}/tls/certificate.pem" "${ROOT}/etc/caddy/certificate.pem"
    install -D -m 0640 -g caddy "${ETC}/tls/key.pem" "${ROOT}/etc/caddy/key.pem"
  fi
  retry 1 1 caddy validate --adapter caddyfile --config "${ROOT}/etc/caddy/Caddyfile" ||
    fail "caddy validate: $(last_words "$RETRY_OUTPUT")"
  [[ ! -d "${ETC}/tls" ]] || withdraw "${ETC}/tls" "${ROOT}/etc/caddy"
  systemctl enable caddy >/dev/null 2>&1 || true
  retry 3 2 systemctl restart caddy || fail "systemctl restart caddy: $(last_words "$RETRY_OUTPUT")"
  report ok "Caddy in front on port 443"
}
