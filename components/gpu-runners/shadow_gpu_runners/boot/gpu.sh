# shellcheck shell=bash
# The GPU gate. nvidia-smi may exit 0 while a card is broken, hang, or see fewer cards than the flavor has,
# so its output is read, its time is bounded, and host and container must agree.

: "${SHADOW_GPU_COUNT:=1}"
: "${SHADOW_GPU_TIMEOUT_S:=300}"
: "${SHADOW_GPU_INTERVAL_S:=5}"
: "${SHADOW_GPU_COMMAND_TIMEOUT_S:=30}"
: "${SHADOW_GPU_PULL_TIMEOUT_S:=900}"
: "${SHADOW_GPU_IMAGE:=}"

GPU_FIELDS=index,uuid,name,driver_version,memory.total
CHECK_CONTAINER=shadow-gpu-check

# gpu_fault STATUS OUTPUT: print why this answer means trouble; nothing when it is fine.
gpu_fault() {
  case $1 in
    0) grep -iE -m 1 'ERR!|Unknown Error|GPU is lost|requires reset|No devices were found' <<<"$2" || true ;;
    124 | 137) printf 'no answer within %s s' "$SHADOW_GPU_COMMAND_TIMEOUT_S" ;;
    126 | 127) printf 'nvidia-smi not found: %s' "$(last_words "$2")" ;;
    *) printf 'exit status %s: %s' "$1" "$(last_words "$2")" ;;
  esac
}

# ask_gpu COMMAND...: run it within the time limit; sets GPU_OUTPUT and GPU_REASON (empty when fine).
# A process that hangs in the driver cannot be killed, so it is not waited for either, and may not hold the lock (9).
ask_gpu() {
  local limit=$SHADOW_GPU_COMMAND_TIMEOUT_S ended=0
  IFS= read -r -d '' -t $((limit + 6)) GPU_OUTPUT < <(
    exec 9>&-
    timeout --kill-after=5 "$limit" "$@" 2>&1 && printf '\n0' || printf '\n%s' "$?"
  ) || ended=$?
  ((ended <= 128)) || GPU_OUTPUT+=$'\n124'
  GPU_REASON=$(gpu_fault "${GPU_OUTPUT##*$'\n'}" "${GPU_OUTPUT%$'\n'*}")
  GPU_OUTPUT=${GPU_OUTPUT%$'\n'*}
  [[ -z "$GPU_REASON" ]]
}

# count_gpus OUTPUT: the lines that start with an index and a comma.
count_gpus() {
  grep -cE '^[0-9]+, ' <<<"$1" || true
}

expect_gpus() {
  local seen
  seen=$(count_gpus "$GPU_OUTPUT")
  [[ "$seen" == "$SHADOW_GPU_COUNT" ]] || GPU_REASON="$seen of ${SHADOW_GPU_COUNT} GPUs visible"
  [[ -z "$GPU_REASON" ]]
}

# kernel_matches_library: an upgrade without reboot leaves the old kernel module under the new library.
kernel_matches_library() {
  local file=${ROOT}/proc/driver/nvidia/version library
  [[ -r "$file" ]] || return 0
  library=$(awk -F', ' '/^[0-9]+, /{print $4; exit}' <<<"$1")
  grep -qF " ${library} " "$file" ||
    GPU_REASON="driver/library version mismatch: library ${library}, kernel module $(head -n 1 "$file")"
  [[ -z "$GPU_REASON" ]]
}

gpu_ready_on_host() {
  ask_gpu nvidia-smi || return 1
  ask_gpu nvidia-smi "--query-gpu=${GPU_FIELDS}" --format=csv,noheader || return 1
  expect_gpus || return 1
  kernel_matches_library "$GPU_OUTPUT" || return 1
  HOST_GPUS=$GPU_OUTPUT
}

remove_check_container() {
  docker rm --force "$CHECK_CONTAINER" >/dev/null 2>&1 9>&- || true
}

ask_gpu_in_container() {
  remove_check_container
  ask_gpu docker run --rm --name "$CHECK_CONTAINER" --gpus all "$SHADOW_GPU_IMAGE" "$@"
}

gpu_ready_in_container() {
  ask_gpu_in_container nvidia-smi || return 1
  ask_gpu_in_container nvidia-smi "--query-gpu=${GPU_FIELDS}" --format=csv,noheader || return 1
  expect_gpus || return 1
  [[ "$GPU_OUTPUT" == *"$HOST_GPUS"* ]] || GPU_REASON="the container sees other GPUs or another driver than the host"
  [[ -z "$GPU_REASON" ]]
}

# gpu_survives_reload: systemctl daemon-reload can take the device nodes from a running container when
# systemd manages its cgroup, so a job would lose its GPU half-way.
gpu_survives_reload() {
  remove_check_container
  ask_gpu docker run --detach --rm --name "$CHECK_CONTAINER" --gpus all "$SHADOW_GPU_IMAGE" sleep 120 || return 1
  systemctl daemon-reload
  ask_gpu docker exec "$CHECK_CONTAINER" nvidia-smi || GPU_REASON="GPU lost after systemctl daemon-reload: ${GPU_REASON}"
  remove_check_container
  [[ -z "$GPU_REASON" ]]
}

# wait_for_gpu CHECK: until it passes or the time is up.
wait_for_gpu() {
  local deadline=$((SECONDS + SHADOW_GPU_TIMEOUT_S))
  until "$1"; do
    ((SECONDS < deadline)) || fail "gpu_unhealthy after ${SHADOW_GPU_TIMEOUT_S} s: ${GPU_REASON}"
    waiting "$GPU_REASON"
    sleep "$SHADOW_GPU_INTERVAL_S"
  done
}

check_gpu_on_host() {
  begin gpu_host
  if [[ "$SHADOW_GPU_COUNT" == 0 ]]; then
    report ok "no GPU expected"
    return 0
  fi
  wait_for_gpu gpu_ready_on_host
  report ok "${SHADOW_GPU_COUNT} of ${SHADOW_GPU_COUNT} GPUs: $(head -n 1 <<<"$HOST_GPUS")"
}

pull_check_image() {
  timeout "$SHADOW_GPU_PULL_TIMEOUT_S" docker pull --quiet "$SHADOW_GPU_IMAGE"
}

check_gpu_in_container() {
  begin gpu_container
  if [[ "$SHADOW_GPU_COUNT" == 0 ]]; then
    report ok "no GPU expected"
    return 0
  fi
  retry 3 5 pull_check_image || docker image inspect "$SHADOW_GPU_IMAGE" >/dev/null 2>&1 ||
    fail "docker pull ${SHADOW_GPU_IMAGE}: $(last_words "$RETRY_OUTPUT")"
  wait_for_gpu gpu_ready_in_container
  wait_for_gpu gpu_survives_reload
  report ok "${SHADOW_GPU_COUNT} GPUs in a container of ${SHADOW_GPU_IMAGE}"
}
