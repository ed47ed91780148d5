# shellcheck shell=bash
# Removes what cloud-init keeps of the user-data, and our own files that held the runner's token.

: "${SHADOW_CLOUD_DIR:=/var/lib/cloud}"
: "${SHADOW_CLOUD_RUN_DIR:=/run/cloud-init}"

# erase FILE...: overwrite where the file system allows it, then remove.
erase() {
  local file
  for file in "$@"; do
    [[ -e "$file" || -L "$file" ]] || continue
    shred --force --remove=unlink "$file" 2>/dev/null || rm -f "$file"
  done
}

# erase_user_data: the datasource's pickle (obj.pkl) holds the user-data too; cloud-init reads it afresh at need.
erase_user_data() {
  local folder
  for folder in "$SHADOW_CLOUD_DIR"/instances/*/ "$SHADOW_CLOUD_DIR"/seed/*/; do
    [[ -d "$folder" ]] || continue
    erase "$folder"user-data* "$folder"vendor-data* "$folder"vendor-cloud-config* "$folder"cloud-config* "$folder"obj.pkl
    [[ ! -d "${folder}scripts" ]] || find "${folder}scripts" -type f -name 'part-*' -delete
  done
  erase "$SHADOW_CLOUD_RUN_DIR"/instance-data-sensitive.json "$SHADOW_CLOUD_RUN_DIR"/combined-cloud-config.json
}

# detach_config_drive: the drive carries the user-data as well, so it goes until the next boot.
detach_config_drive() {
  local device=${SHADOW_CONFIG_DRIVE:-/dev/disk/by-label/config-2} disk
  [[ -e "$device" ]] || return 0
  disk=$(basename "$(readlink -f "$device")")
  umount "$device" 2>/dev/null || true
  [[ ! -w "/sys/block/${disk}/device/delete" ]] || echo 1 >"/sys/block/${disk}/device/delete"
  [[ ! -e "$device" ]] || report wait "the config drive ${disk} stays attached; only root on the host can read it"
}

remove_secrets() {
  begin secrets
  erase_user_data
  detach_config_drive
  erase "${SHADOW_ETC_DIR}/config.toml"
  [[ ! -e "${SHADOW_ETC_DIR}/config.toml" ]] || fail "${SHADOW_ETC_DIR}/config.toml cannot be removed"
  report ok "copies of the user-data removed"
}
