"""Composite actions: their steps run with the action's inputs, and give its outputs to later steps."""

from typing import Any

import httpx
from contract.github.harness import FindJobs, Finish, Forge, StartScript

ACTION = """
inputs:
  greeting: {default: hello}
  who: {default: "${{ github.repository }}"}
  skip: {default: ""}
outputs:
  said: {value: "${{ steps.say.outputs.text }}"}
runs:
  using: composite
  steps:
    - if: inputs.skip != ''
      shell: bash
      run: exit 9
    - id: say
      shell: bash
      env: {TEXT: "${{ inputs.greeting }} ${{ inputs.who }}"}
      run: echo "text=$TEXT" >> "$GITHUB_OUTPUT"
"""
WORKFLOW = """
on: push
jobs:
  test:
    runs-on: gpu
    steps:
      - id: one
        uses: ./greet
        with: {greeting: "good ${{ github.ref_name }}"}
      - id: two
        uses: acme/training/greet@main
      - run: test "${{ steps.one.outputs.said }}/${{ steps.say.outputs.text }}" = "good main acme/inference/"
      - run: test "${{ steps.two.outputs.said }}" = "hello acme/inference"
      - uses: ./greet
        with: {skip: "no"}
      - run: echo never
      - {uses: ./greet, if: always()}
"""


def test_inputs_outputs_conditions_and_failures(
    forge: Forge, api: httpx.Client, jit_runner: StartScript, jobs_of: FindJobs, finished: Finish
) -> None:
    files = {"greet/action.yml": ACTION}
    forge.sim("POST", "/files", {"repository": "acme/training", "branch": "main", "files": files})
    files |= {".github/workflows/ci.yml": WORKFLOW}
    made = forge.sim("POST", "/files", {"repository": "acme/inference", "branch": "main", "files": files})
    run: dict[str, Any] = {"id": made["runs"][0]}
    jit_runner("r1", ["gpu"])
    assert finished(run)["conclusion"] == "failure"
    (job,) = jobs_of(run)
    log = api.get(f"/repos/acme/inference/actions/jobs/{job['id']}/logs", follow_redirects=True).text
    assert [step["conclusion"] for step in job["steps"][1:-1]] == [
        *("skipped", "success"),  # one
        *("skipped", "success"),  # two
        *("success", "success"),
        *("failure", "skipped"),  # the action that is told to fail
        "skipped",
        *("skipped", "success"),  # within an action, success is the action's own
    ], log
