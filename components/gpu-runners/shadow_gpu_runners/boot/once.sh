# shellcheck shell=bash
# One job: the watcher beside it, the hand-over of the runner's configuration, the runner, the last word.

: "${SHADOW_RUNNER_FOLDER:=/opt/actions-runner}"
: "${SHADOW_RUNNER_ARCHIVE_URL:=}"
: "${SHADOW_RUNNER_ARCHIVE_SHA256:=}"
: "${SHADOW_RUNNER_USER:=runner}"
: "${SHADOW_KIND:=github}"

CONFIG=${ROOT}/run/shadow-runner/config
RUNNER_LOG=${ROOT}/var/log/shadow-runner.log

# controller VERB...: controller.py, which alone gets the ticket, by its environment.
controller() {
  (
    set -a
    # shellcheck source=/dev/null
    . "${ETC}/job.env"
    export SHADOW_METADATA_URL SHADOW_ROOT="$ROOT"
    exec /usr/bin/python3 -I "${HERE}/controller.py" "$@" 9>&-
  )
}

load_job_settings() {
  [[ -r "${ETC}/job.env" ]] || fail "${ETC}/job.env is missing; was write_files skipped?"
  # shellcheck source=/dev/null
  . "${ETC}/job.env"
}

# one_job_only: a second run of this script must not take a second job.
one_job_only() {
  ! done_before job || fail "this machine has had its job"
  mark_done job
}

# watch_for_reclaim: a unit of its own, because the notice may come at any time, also before the job.
watch_for_reclaim() {
  [[ -n "${SHADOW_RECLAIM_POINTERS:-}${SHADOW_RECLAIM_PATHS:-}" ]] || return 0
  begin watcher
  cat >"${UNITS}/shadow-reclaim-watch.service" <<UNIT
[Unit]
Description=Tell the controller when the cloud announces that it takes this spot instance

[Service]
EnvironmentFile=/etc/shadow-runner/job.env
Environment=SHADOW_METADATA_URL=${SHADOW_METADATA_URL}
ExecStart=/usr/bin/python3 -I /opt/shadow-runner/controller.py watch
Restart=on-failure
RestartSec=5
UNIT
  systemctl daemon-reload
  systemctl start shadow-reclaim-watch.service || fail "shadow-reclaim-watch.service does not start"
  report ok "watching for a reclaim notice"
}

fetch_archive() {
  curl --fail --silent --show-error --location --max-time 300 --output "$1" "$SHADOW_RUNNER_ARCHIVE_URL" &&
    printf '%s  %s\n' "$SHADOW_RUNNER_ARCHIVE_SHA256" "$1" | sha256sum --check --status
}

# install_runner: GitHub's runner from the image, or from an archive whose checksum must fit.
install_runner() {
  [[ "$SHADOW_KIND" == github ]] || return 0
  begin runner
  if [[ -n "$SHADOW_RUNNER_ARCHIVE_URL" ]]; then
    retry 4 2 fetch_archive "${RUN}/runner.tar.gz" ||
      fail "${SHADOW_RUNNER_ARCHIVE_URL}: not fetched, or its SHA-256 is not ${SHADOW_RUNNER_ARCHIVE_SHA256}"
    mkdir -p "${ROOT}${SHADOW_RUNNER_FOLDER}"
    tar -xzf "${RUN}/runner.tar.gz" -C "${ROOT}${SHADOW_RUNNER_FOLDER}"
    rm -f "${RUN}/runner.tar.gz"
  fi
  [[ -x "${ROOT}${SHADOW_RUNNER_FOLDER}/run.sh" ]] ||
    fail "${SHADOW_RUNNER_FOLDER}/run.sh is missing; bake GitHub's runner into the image or give its archive"
  report ok "GitHub runner in ${SHADOW_RUNNER_FOLDER}"
}

fetch_config() {
  local answer status=0
  begin handover
  answer=$(controller config "$CONFIG") || status=$?
  case $status in
    0) report ok "configuration received" ;;
    3) fail "the controller has no work for this machine: ${answer}" ;;
    *) fail "no configuration: ${answer}" ;;
  esac
}

setting() {
  cat "${CONFIG}/$1" 2>/dev/null || true
}

make_user() {
  id -u "$SHADOW_RUNNER_USER" >/dev/null 2>&1 || useradd --create-home --shell /bin/bash "$SHADOW_RUNNER_USER"
  ! getent group docker >/dev/null || usermod --append --groups docker "$SHADOW_RUNNER_USER"
  chown -R "$SHADOW_RUNNER_USER" "${ROOT}${SHADOW_RUNNER_FOLDER}"
}

# run_github: the configuration goes by the environment, which only root and this user can read, and which the
# runner clears for its jobs.
run_github() {
  local jit
  make_user
  jit=$(setting jit_config)
  erase "${CONFIG}/jit_config"
  (
    cd "${ROOT}${SHADOW_RUNNER_FOLDER}" || exit
    ACTIONS_RUNNER_INPUT_JITCONFIG=$jit HOME=/home/$SHADOW_RUNNER_USER USER=$SHADOW_RUNNER_USER \
      exec setpriv --reuid "$SHADOW_RUNNER_USER" --regid "$(id -g "$SHADOW_RUNNER_USER")" --init-groups \
      ./run.sh 9>&-
  )
}

# run_gitlab: config.toml is filled in with the token now, so that it never stood in the user-data.
run_gitlab() {
  local target=${ROOT}/etc/gitlab-runner/config.toml name token
  name=$(setting runner_name)
  token=$(setting token)
  mkdir -p "$(dirname "$target")"
  chmod 0700 "$(dirname "$target")"
  (umask 077 && RUNNER_NAME=$name RUNNER_TOKEN=$token /usr/bin/python3 -I -c '
import os, sys
text = sys.stdin.read()
print(text.replace("@HOSTNAME@", os.environ["RUNNER_NAME"]).replace("@TOKEN@", os.environ["RUNNER_TOKEN"]), end="")
' <"${ETC}/config.toml.template" >"$target")
  erase "${CONFIG}/token"
  # The manager's own ID at GitLab, by which the controller removes it again.
  [[ ! -s "${CONFIG}/system_id" ]] || (umask 077 && setting system_id >"$(dirname "$target")/.runner_system_id")
  gitlab-runner run-single --config "$target" --runner "$name" --max-builds 1 \
    --wait-timeout "$(setting wait_timeout_s)" 9>&-
}

# run_one_job: whatever the runner says, the controller hears that this machine is free to go.
run_one_job() {
  local status=0
  "run_${SHADOW_KIND}" >"$RUNNER_LOG" 2>&1 || status=$?
  begin ended
  if grep -qi 'deprecated and cannot receive messages' "$RUNNER_LOG"; then
    fail "runner_deprecated: the forge refuses this runner version; renew the image"
  fi
  [[ "$status" == 0 ]] || fail "the runner ended with status ${status}: $(last_words "$(tail -n 5 "$RUNNER_LOG")")"
  report ok "the runner has ended"
}
