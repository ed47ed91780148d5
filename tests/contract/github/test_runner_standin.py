"""The stand-in for actions/runner: its scripts against the simulator."""

import base64
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from contract.github.harness import FindJobs, Finish, Forge, StartRun, StartScript, workflow
from nacl.public import PublicKey, SealedBox

from localcloud.processes import wait_until

if TYPE_CHECKING:
    import subprocess

REPO = "/repos/acme/inference"
LABELS = ["self-hosted", "gpu"]
LONG = "- run: touch started; exec sleep 600"


def ended(process: "subprocess.Popen[str]") -> tuple[int, str]:
    text = process.communicate(timeout=60)[0]
    return process.returncode, text


def log_of(api: httpx.Client, job: dict[str, Any]) -> str:
    return api.get(f"{REPO}/actions/jobs/{job['id']}/logs", follow_redirects=True).text


def test_an_ephemeral_runner_takes_one_job_ends_with_zero_and_is_forgotten(
    api: httpx.Client, start_run: StartRun, jit_runner: StartScript, jobs_of: FindJobs
) -> None:
    first, second = start_run(workflow()), start_run(workflow())
    code, text = ended(jit_runner("r1", LABELS))
    assert code == 0
    assert "Listening for Jobs" in text
    assert "Job test completed with result: Succeeded" in text
    assert [jobs_of(run)[0]["status"] for run in (first, second)] == ["completed", "queued"]
    assert api.get("/orgs/acme/actions/runners").json()["total_count"] == 0


def test_steps_share_variables_outputs_path_and_files(
    start_run: StartRun, jit_runner: StartScript, api: httpx.Client, jobs_of: FindJobs, finished: Finish
) -> None:
    run = start_run(
        """
on: push
env: {COLOUR: blue}
jobs:
  test:
    runs-on: gpu
    steps:
      - uses: actions/checkout@v4
      - id: one
        run: |
          echo "name=value" >> "$GITHUB_OUTPUT"
          { echo "TEXT<<END"; echo a; echo b; echo END; } >> "$GITHUB_ENV"
          mkdir bin && printf '#!/bin/sh\\necho tool ran\\n' > bin/tool && chmod +x bin/tool
          echo "$PWD/bin" >> "$GITHUB_PATH"
          echo "# Report" >> "$GITHUB_STEP_SUMMARY"
      - run: |
          tool
          test "$TEXT" = "$(printf 'a\\nb')" && test "${{ steps.one.outputs.name }}" = value
          test "$COLOUR-${{ env.COLOUR }}" = blue-blue
          test -f .github/workflows/ci.yml && test "$GITHUB_REPOSITORY" = acme/inference
      - run: print("from python")
        shell: python
"""
    )
    code, text = ended(jit_runner("r1", ["gpu"]))
    (job,) = jobs_of(run)
    assert (code, finished(run)["conclusion"]) == (0, "success"), text + log_of(api, job)
    assert "tool ran" in log_of(api, job)
    assert "from python" in log_of(api, job)


def test_a_failing_step_skips_the_rest_but_what_runs_always(
    start_run: StartRun, jit_runner: StartScript, jobs_of: FindJobs, finished: Finish
) -> None:
    steps = "- run: exit 7\n      - run: echo no\n      - {run: echo yes, if: always()}"
    run = start_run(workflow(steps))
    jit_runner("r1", LABELS)
    assert finished(run)["conclusion"] == "failure"
    conclusions = [step["conclusion"] for step in jobs_of(run)[0]["steps"]]
    assert conclusions == ["success", "failure", "skipped", "success", "success"]


def test_secrets_never_show_in_the_log(
    api: httpx.Client, start_run: StartRun, jit_runner: StartScript, jobs_of: FindJobs, finished: Finish
) -> None:
    key = api.get(f"{REPO}/actions/secrets/public-key").json()
    box = SealedBox(PublicKey(base64.b64decode(key["key"])))
    sealed = base64.b64encode(box.encrypt(b"planted-secret")).decode()
    api.put(f"{REPO}/actions/secrets/TOK", json={"key_id": key["key_id"], "encrypted_value": sealed})
    steps = (
        "- run: 'echo \"${{ secrets.TOK }} ${{ secrets.GITHUB_TOKEN }}\"'\n"
        "      - run: echo '::add-mask::own-secret'; echo own-secret; echo end"
    )
    run = start_run(workflow(steps))
    jit_runner("r1", LABELS)
    finished(run)
    text = log_of(api, jobs_of(run)[0])
    assert "*** ***" in text
    assert text.rstrip().endswith("end")
    assert "planted-secret" not in text
    assert "ghs_" not in text
    assert "own-secret" not in text.split("##[endgroup]")[-1]


def test_a_cancelled_job_is_stopped_and_its_cleanup_still_runs(
    tmp_path: Path,
    api: httpx.Client,
    start_run: StartRun,
    jit_runner: StartScript,
    jobs_of: FindJobs,
    finished: Finish,
) -> None:
    run = start_run(workflow(f"{LONG}\n      - {{run: echo cleanup, if: always()}}"))
    runner = jit_runner("r1", LABELS)
    assert wait_until(lambda: any(tmp_path.rglob("started")), 30)
    api.post(f"{REPO}/actions/runs/{run['id']}/cancel")
    assert finished(run)["conclusion"] == "cancelled"
    assert ended(runner)[0] == 0
    (job,) = jobs_of(run)
    assert [step["conclusion"] for step in job["steps"]][1:3] == ["cancelled", "success"]


def test_a_terminated_runner_reports_the_shutdown_and_fails_the_job(
    tmp_path: Path,
    api: httpx.Client,
    start_run: StartRun,
    jit_runner: StartScript,
    jobs_of: FindJobs,
    finished: Finish,
) -> None:
    run = start_run(workflow(LONG))
    runner = jit_runner("r1", LABELS)
    assert wait_until(lambda: any(tmp_path.rglob("started")), 30)
    runner.send_signal(signal.SIGTERM)
    assert finished(run)["conclusion"] == "failure"
    assert "received a shutdown signal" in log_of(api, jobs_of(run)[0])
    assert ended(runner)[0] == 0


def test_an_idle_runner_ends_on_sigterm_and_is_offline(api: httpx.Client, jit_runner: StartScript) -> None:
    runner = jit_runner("r1", LABELS)

    def status() -> str:
        return str(api.get("/orgs/acme/actions/runners").json()["runners"][0]["status"])

    assert wait_until(lambda: status() == "online", 30)
    runner.send_signal(signal.SIGTERM)
    assert ended(runner)[0] == 0
    assert status() == "offline"


def test_a_removed_runner_is_told_so(api: httpx.Client, jit_runner: StartScript) -> None:
    runner = jit_runner("r1", LABELS)
    runners = "/orgs/acme/actions/runners"
    assert wait_until(lambda: api.get(runners).json()["runners"][0]["status"] == "online", 30)
    api.delete(f"{runners}/{api.get(runners).json()['runners'][0]['id']}")
    code, text = ended(runner)
    assert code == 1
    assert "The runner registration has been deleted from the server" in text


def test_a_runner_that_is_too_old_is_told_so(forge: Forge, jit_runner: StartScript) -> None:
    forge.sim("PATCH", "/settings", {"minimum_runner_version": "2.334.0"})
    code, text = ended(jit_runner("r1", LABELS, ACTIONS_RUNNER_VERSION="2.40.9"))
    assert code == 1
    assert "Runner version v2.40.9 is deprecated and cannot receive messages" in text


def test_a_broken_jit_configuration_is_refused(run_script: StartScript) -> None:
    code, text = ended(run_script("run.sh", "--jitconfig", "bm90IGpzb24="))
    assert code == 1
    assert "JIT configuration" in text


def test_root_must_say_that_it_means_it(run_script: StartScript) -> None:
    code, text = ended(run_script("run.sh", RUNNER_ALLOW_RUNASROOT=""))
    assert (code, text.split()[0]) in [(1, "Must"), (1, "Not")]


def test_a_classic_runner_serves_several_jobs_and_can_be_removed(
    forge: Forge, api: httpx.Client, run_script: StartScript, start_run: StartRun, finished: Finish
) -> None:
    runners = "/orgs/acme/actions/runners"
    token = api.post(f"{runners}/registration-token").json()["token"]
    arguments = ["--url", f"{forge.url}/acme", "--token", token, "--name", "classic", "--labels", "gpu"]
    code, text = ended(run_script("config.sh", "--unattended", *arguments))
    assert code == 0, text
    (known,) = api.get(runners).json()["runners"]
    assert [label["name"] for label in known["labels"]][:2] == ["self-hosted", "Linux"]
    runner = run_script("run.sh")
    for _ in range(2):
        assert finished(start_run(workflow()))["conclusion"] == "success"
    assert runner.poll() is None
    runner.send_signal(signal.SIGTERM)
    assert ended(runner)[0] == 0
    removal = api.post(f"{runners}/remove-token").json()["token"]
    assert ended(run_script("config.sh", "remove", "--token", removal))[0] == 0
    assert api.get(runners).json()["total_count"] == 0


def test_a_wrong_registration_token_is_refused(forge: Forge, run_script: StartScript) -> None:
    code, text = ended(run_script("config.sh", "--url", f"{forge.url}/acme", "--token", "WRONG"))
    assert code == 1
    assert "404" in text


def test_a_failing_job_started_hook_fails_the_job_before_its_steps(
    tmp_path: Path, start_run: StartRun, jit_runner: StartScript, jobs_of: FindJobs, finished: Finish
) -> None:
    hook = tmp_path / "pre.sh"
    hook.write_text("echo refused; exit 1\n")
    run = start_run(workflow())
    jit_runner("r1", LABELS, ACTIONS_RUNNER_HOOK_JOB_STARTED=str(hook))
    assert finished(run)["conclusion"] == "failure"
    assert jobs_of(run)[0]["steps"][1]["conclusion"] == "cancelled"


@pytest.mark.usefixtures("forge")
def test_a_job_token_reaches_only_its_repository_with_the_permissions_of_the_file(
    start_run: StartRun, jit_runner: StartScript, api: httpx.Client, jobs_of: FindJobs, finished: Finish
) -> None:
    script = (
        "- run: |\n"
        "          ask() { /usr/bin/python3 -c 'import sys,urllib.request,urllib.error as e\n"
        "          try: print(urllib.request.urlopen(urllib.request.Request(sys.argv[1],\n"
        '            headers={"Authorization": "Bearer " + sys.argv[2]})).status)\n'
        '          except e.HTTPError as x: print(x.code)\' "$1" "${{ secrets.GITHUB_TOKEN }}"; }\n'
        "          ask $GITHUB_API_URL/repos/acme/inference/contents/.github/workflows/ci.yml\n"
        "          ask $GITHUB_API_URL/repos/acme/inference/pulls\n"
        "          ask $GITHUB_API_URL/repos/acme/training/contents/x"
    )
    run = start_run(workflow(script))
    jit_runner("r1", LABELS)
    finished(run)
    lines = [line.split(" ", 1)[1] for line in log_of(api, jobs_of(run)[0]).splitlines()]
    assert lines[-3:] == ["200", "403", "404"]
