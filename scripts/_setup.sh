# shellcheck shell=bash
# Sourced by the scripts: makes the project's Python environment from pinned, hashed requirements and says what it does.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${SHADOW_CACHE_HOME:-${XDG_CACHE_HOME:-~/.cache}/shadow-gpu-runners}
export PYTHONPATH=$root/tests${PYTHONPATH:+:$PYTHONPATH}
# Every run of the engine starts Python anew; without kept bytecode it compiles hundreds of modules each time.
unset PYTHONDONTWRITEBYTECODE

step() { printf '\n\033[1m==> %s\033[0m\n' "$*"; }
fail() { printf 'error: %s\n' "$*" >&2; exit 1; }

find_python() {
    local candidate
    for candidate in "${PYTHON:-python3}" python3.13 python3.12 python3.11 /usr/bin/python3; do
        command -v "$candidate" >/dev/null || continue
        "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue
        printf '%s\n' "$candidate" && return
    done
    return 1
}

ensure_python() {
    python=$(find_python) && return
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        step "Installing Python from the system's packages"
        apt-get update -q >/dev/null && apt-get install -y -q --no-install-recommends python3 python3-venv >/dev/null
        python=$(find_python) && return
    fi
    fail "no Python 3.11 or newer with the venv module was found; install it (Debian: apt-get install python3-venv) and run this again"
}

ensure_uv() {
    local stamp
    stamp=$(sha256sum "$root/requirements/uv.txt" | cut -c1-16)
    uv=$cache/uv-$stamp/bin/uv
    [ -x "$uv" ] && return
    "$python" -m venv "$cache/uv-$stamp.new"
    "$cache/uv-$stamp.new/bin/pip" install -q --disable-pip-version-check --require-hashes -r "$root/requirements/uv.txt"
    rm -rf "$cache/uv-$stamp" && mv "$cache/uv-$stamp.new" "$cache/uv-$stamp"
    # A venv's pip has its path baked in; uv itself is a plain executable and may move.
}

ensure_environment() {
    local stamp
    stamp=$(cat "$root/requirements/dev.txt" "$root"/components/*/pyproject.toml | sha256sum | cut -c1-16)
    # A Python that was removed since leaves a link to nothing.
    [ "$(cat "$root/.venv/.complete" 2>/dev/null)" = "$stamp $root" ] && [ -x "$root/.venv/bin/python" ] && return
    ensure_python
    ensure_uv
    step "Python environment: .venv from requirements/dev.txt (hashes checked)"
    "$uv" venv -q --allow-existing --python "$python" "$root/.venv"
    "$uv" pip sync -q --python "$root/.venv/bin/python" --require-hashes "$root/requirements/dev.txt"
    for component in "$root"/components/*/; do
        "$uv" pip install -q --python "$root/.venv/bin/python" --no-deps --no-build-isolation -e "$component"
    done
    printf '%s' "$stamp $root" >"$root/.venv/.complete"
}
