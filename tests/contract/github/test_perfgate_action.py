"""The performance gate's action as GitHub runs it: inputs, outputs, verdict; the gate itself only answers."""

from pathlib import Path
from typing import Any

import pytest
from contract.github.harness import ROOT, FindJobs, Finish, Forge, StartScript

ACTION = "actions/perfgate/action.yml"
GATE = """#!/bin/sh
[ -n "$GITHUB_TOKEN" ] || exit 70
printf '%s\\n' "$@" >arguments
exit "$(cat verdict)"
"""
WORKFLOW = """
on: push
jobs:
  perfgate:
    runs-on: gpu
    steps:
      - uses: actions/checkout@v4
      - id: gate
        uses: acme/training/actions/perfgate@main
        with: {{config: "a b.toml", comment: "false", undecided: "{undecided}"}}
      - {{if: always(), run: 'echo "code=${{{{ steps.gate.outputs.exit-code }}}}" && cat arguments'}}
"""


@pytest.mark.parametrize(
    ("verdict", "undecided", "conclusion"),
    [(0, "block", "success"), (1, "warn", "failure"), (3, "warn", "success"), (3, "block", "failure")],
)
def test_the_verdict_reaches_the_job_and_later_steps(
    forge: Forge, run_script: StartScript, jobs_of: FindJobs, finished: Finish, tmp_path: Path,
    verdict: int, undecided: str, conclusion: str,
) -> None:  # fmt: skip
    tools = tmp_path / "bin"
    tools.mkdir()
    for name, text in {"shadow-perfgate": GATE, "python3": "#!/bin/sh\n"}.items():
        (tools / name).write_text(text, encoding="utf-8")
        (tools / name).chmod(0o755)
    action = {ACTION: (ROOT / ACTION).read_text(encoding="utf-8")}
    forge.sim("POST", "/files", {"repository": "acme/training", "branch": "main", "files": action})
    files = {".github/workflows/gate.yml": WORKFLOW.format(undecided=undecided), "verdict": str(verdict)}
    made = forge.sim("POST", "/files", {"repository": "acme/inference", "branch": "main", "files": files})
    with forge.api() as api:
        body = {"name": "r1", "runner_group_id": 1, "labels": ["gpu"]}
        jit = api.post("/orgs/acme/actions/runners/generate-jitconfig", json=body).json()[
            "encoded_jit_config"
        ]
        run_script("run.sh", "--jitconfig", jit, PATH=f"{tools}:/usr/bin:/bin")
        run: dict[str, Any] = finished({"id": made["runs"][0]})
        (job,) = jobs_of(run)
        log = api.get(f"/repos/acme/inference/actions/jobs/{job['id']}/logs", follow_redirects=True).text
    assert run["conclusion"] == conclusion, log
    lines = [line.partition(" ")[2] for line in log.splitlines()]
    assert f"code={verdict}" in lines
    assert "a b.toml" in lines
    assert "--comment" not in lines
