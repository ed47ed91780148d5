"""The program as a pipeline runs it: exit codes, files, summary, comment, fallbacks."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from preview.__main__ import main

SAMPLES = Path(__file__).parent / "samples"
POLICIES = str(Path(__file__).parents[2] / "policy")


def _run(name: str, *arguments: str, env: dict[str, str] | None = None) -> int:
    (file,) = SAMPLES.glob(f"{name}.json*")
    return main([str(file), *arguments], env or {})


def _github(forge: Any, tmp_path: Path, **more: str) -> dict[str, str]:
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": 3, "head": {"sha": "abcdef1234567890"}}}))
    return {
        "GITHUB_ACTIONS": "true",
        "GITHUB_API_URL": forge.url,
        "GITHUB_SERVER_URL": "https://github.test",
        "GITHUB_REPOSITORY": "acme/app",
        "GITHUB_RUN_ID": "77",
        "GITHUB_RUN_ATTEMPT": "1",
        "GITHUB_EVENT_PATH": str(event),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        "GITHUB_TOKEN": "ghs_planted0123456789planted",
        **more,
    }


def _gitlab(forge: Any, **more: str) -> dict[str, str]:
    return {
        "GITLAB_CI": "true",
        "CI_SERVER_URL": forge.url,
        "CI_PROJECT_ID": "7",
        "CI_MERGE_REQUEST_IID": "3",
        "CI_JOB_ID": "900",
        "CI_JOB_URL": "https://gitlab.test/job",
        "CI_COMMIT_SHA": "abcdef1234567890",
        "PREVIEW_GITLAB_TOKEN": "glpat-planted0123456789",
        **more,
    }


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("destroy", (), 0),
        ("replace-and-scale-down", (), 0),
        ("replace-and-scale-down", ("--policies", POLICIES), 2),
        ("streaming-policies", (), 2),
        ("program-error", ("--exit-code", "1"), 1),
        ("forge-unreachable", (), 1),
        ("unchanged", ("--exit-code", "1"), 1),
        ("unchanged", ("--policies", "/nowhere"), 3),
        ("unchanged", ("--policy-config", "/nowhere"), 3),
        ("unchanged", ("--prices", "/nowhere"), 3),
    ],
)
def test_exit_codes(name: str, arguments: tuple[str, ...], code: int) -> None:
    assert _run(name, "--no-comment", *arguments) == code


def test_bad_arguments_and_missing_files_have_their_own_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["/nowhere/preview.json"], {}) == 3
    assert "/nowhere/preview.json" in capsys.readouterr().err
    with pytest.raises(SystemExit) as ended:
        main(["--frobnicate"], {})
    assert ended.value.code == 3


@pytest.mark.parametrize(
    ("arguments", "environment", "place"),
    [
        (("--output", "/nowhere/preview.md"), {}, "--output /nowhere/preview.md"),
        ((), {"GITHUB_STEP_SUMMARY": "/nowhere/summary.md"}, "GITHUB_STEP_SUMMARY /nowhere/summary.md"),
        ((), {"GITHUB_ACTIONS": "true", "GITHUB_RUN_ID": "x"}, "GITHUB_RUN_ID is 'x'"),
        ((), {"GITLAB_CI": "true", "CI_JOB_ID": "x"}, "CI_JOB_ID is 'x'"),
    ],
)
def test_unusable_places_are_named(
    arguments: tuple[str, ...],
    environment: dict[str, str],
    place: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert _run("unchanged", "--no-comment", *arguments, env=environment) == 3
    assert place in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ('{"no-open-ingress": 5}', "no-open-ingress"),
        ('{"no-open-ingress": "mandatroy"}', "mandatory"),
        ('{"no-secret-in-user-data": {"allow": 5}}', "its rules failed"),
    ],
)
def test_policy_config_of_a_wrong_form_is_refused(
    content: str, place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "policies.json"
    file.write_text(content)
    assert _run("create", "--no-comment", "--policies", POLICIES, "--policy-config", str(file)) == 3
    assert place in capsys.readouterr().err


def test_a_message_is_no_command_to_the_workflow(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([f"{tmp_path}/a\n::error::b"], {"GITHUB_ACTIONS": "true"}) == 3
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_policy_config_reaches_the_rules(tmp_path: Path) -> None:
    file = tmp_path / "policies.json"
    file.write_text('{"ownership-marks": "disabled", "no-open-ingress": {"allow": ["ssh"]}}')
    arguments = ("--no-comment", "--policies", POLICIES, "--policy-config", str(file))
    assert _run("replace-and-scale-down", *arguments) == 0


def test_github_gets_one_comment_and_a_summary(
    forge: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    env = _github(forge, tmp_path)
    assert _run("create", env=env) == 0
    assert _run("create", env={**env, "GITHUB_RUN_ATTEMPT": "2"}) == 0
    (comment,) = forge.comments.values()
    assert "commit abcdef12 · [job](https://github.test/acme/app/actions/runs/77)" in comment["body"]
    assert "10 created" in (tmp_path / "summary.md").read_text()
    assert "updated the comment" in capsys.readouterr().err


def test_gitlab_gets_one_note_and_the_file(forge: Any, tmp_path: Path) -> None:
    output = tmp_path / "preview.md"
    for _ in range(2):
        assert _run("create", "--output", str(output), env=_gitlab(forge)) == 0
    assert len(forge.comments) == 1
    assert output.read_text().startswith("### ✅ Preview of `acme/dev`")


def test_a_fork_without_rights_warns_and_keeps_the_summary(
    forge: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    forge.refuse = 403
    assert _run("create", env=_github(forge, tmp_path)) == 0
    assert "::warning::no comment: GitHub answered 403" in capsys.readouterr().err
    assert "10 created" in (tmp_path / "summary.md").read_text()


def test_a_gitlab_fork_pipeline_without_token_prints_the_text(
    forge: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run("create", env=_gitlab(forge, PREVIEW_GITLAB_TOKEN="")) == 0
    captured = capsys.readouterr()
    assert "PREVIEW_GITLAB_TOKEN is not set" in captured.err
    assert "10 created" in captured.out


def test_outside_of_ci_the_text_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run("create") == 0
    assert "10 created" in capsys.readouterr().out


def test_no_sdk_is_loaded_before_it_is_needed() -> None:
    # Where only a comment is made, the program's users install none but their own forge's library.
    watched = "('pulumi', 'openstack', 'keystoneauth1', 'gitlab', 'githubkit', 'pydantic')"
    program = f"import sys, preview.__main__; print([m for m in {watched} if m in sys.modules])"
    infra = Path(__file__).parents[3] / "infra"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=infra, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_tokens_of_the_environment_are_never_published(forge: Any, tmp_path: Path) -> None:
    env = _github(forge, tmp_path, OS_PASSWORD="10 GiB")
    _run("create", env=env)
    (comment,) = forge.comments.values()
    assert "10 GiB" not in comment["body"]
    assert "10 GiB" not in (tmp_path / "summary.md").read_text()
