# shellcheck shell=bash
# Removes what cloud-init keeps of the user-data, and our own files that held the runner's token.

# erase FILE...: overwrite where the file system allows it, then remove.
erase() {
  local file
  for file in "$@"; do
    [[ -e "$file" || -L "$file" ]] || continue
    shred --force --remove=unlink "$file" 2>/dev/null || rm -f "$file"
  done
}

# withdraw SOURCE COPY: erase SOURCE, a file or folder with secrets, once COPY with all that it brought is on the disk.
# SOURCE leaves its name at one stroke: wherever a run may end, none after it finds half of SOURCE there.
withdraw() {
  local aside
  { find "$2" -exec sync {} + && sync "$(dirname "$2")"; } || fail "$2 cannot be written to the disk"
  aside=$(mktemp -d "${ETC}/erase.XXXXXX")
  mv "$1" "$aside/" || fail "$1 cannot be removed"
  sync "$ETC" "$aside"
  erase_withdrawn
}

# erase_withdrawn: also what a run that ended halfway has left.
erase_withdrawn() {
  local folder file
  for folder in "${ETC}"/erase.*/; do
    while IFS= read -r -d '' file; do erase "$file"; done < <(find "$folder" -type f -print0)
    rm -rf "$folder"
  done
}

# erase_user_data: the datasource's pickle (obj.pkl) holds the user-data too; cloud-init reads it afresh at need.
erase_user_data() {
  local folder
  for folder in "$ROOT"/var/lib/cloud/instances/*/ "$ROOT"/var/lib/cloud/seed/*/; do
    [[ -d "$folder" ]] || continue
    erase "$folder"user-data* "$folder"vendor-data* "$folder"vendor-cloud-config* "$folder"cloud-config* "$folder"obj.pkl
    [[ ! -d "${folder}scripts" ]] || find "${folder}scripts" -type f -name 'part-*' -delete
  done
  erase "$ROOT"/run/cloud-init/instance-data-sensitive.json "$ROOT"/run/cloud-init/combined-cloud-config.json
}

# cloud_init_has_written: the merged configuration is the last copy that it makes; the boot before removed it.
cloud_init_has_written() {
  compgen -G "$ROOT/var/lib/cloud/instances/*/cloud-config.txt" >/dev/null
}

# wait_for_cloud_init: it fetches the user-data at each boot and writes the copies that are to be removed.
# Its last stage may itself wait for the runner, so the end of that is not waited for.
wait_for_cloud_init() {
  local look
  begin cloud_init
  [[ -d "$ROOT/var/lib/cloud/instances" && ! -e "$ROOT/run/cloud-init/disabled" ]] || return 0
  for ((look = 0; look < 120; look++)); do
    ! cloud_init_has_written || return 0
    waiting "cloud-init has not written its files"
    sleep 1
  done
  report wait "cloud-init is late; what it writes from now on stays until the next boot"
}

# detach_config_drive: the drive carries the user-data as well, so it goes until the next boot.
detach_config_drive() {
  local device=${ROOT}/dev/disk/by-label/config-2 disk
  [[ -e "$device" ]] || return 0
  disk=$(basename "$(readlink -f "$device")")
  umount "$device" 2>/dev/null || true
  [[ ! -w "${ROOT}/sys/block/${disk}/device/delete" ]] || echo 1 >"${ROOT}/sys/block/${disk}/device/delete"
  [[ ! -e "$device" ]] || report wait "the config drive ${disk} stays attached; only root on the host can read it"
}

remove_secrets() {
  begin secrets
  erase_user_data
  detach_config_drive
  erase_withdrawn
  if [[ -e "${ETC}/config.toml" ]]; then
    [[ -s "$RUNNER_CONFIG" ]] || fail "${RUNNER_CONFIG} has not been written: the first boot ended early; run boot.sh again"
    withdraw "${ETC}/config.toml" "$RUNNER_CONFIG"
  fi
  report ok "copies of the user-data removed"
}
