"""The command line's own behaviour: help, exit codes of faults that are nobody's verdict."""

import subprocess
import sys
from io import StringIO

import pytest

from shadow_perfgate import cli
from shadow_perfgate.cli.progress import LogProgress
from shadow_perfgate.errors import StoreError


def called(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "shadow_perfgate", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_help_names_every_command_and_the_exit_codes() -> None:
    ended = called("--help")
    assert ended.returncode == 0
    assert all(name in ended.stdout for name in cli.COMMANDS)
    assert "0 pass, 1 regression, 2 invalid" in " ".join(ended.stdout.split())


@pytest.mark.parametrize("name", list(cli.COMMANDS))
def test_every_command_has_help(name: str) -> None:
    command = cli.LazyGroup("x").get_command(None, name)  # type: ignore[arg-type]
    assert command is not None
    assert command.get_short_help_str()


@pytest.mark.parametrize("arguments", [["gat"], ["compare"], ["gate", "--surprise"], ["run", "-n", "0"]])
def test_wrong_usage_is_invalid_input(arguments: list[str]) -> None:
    ended = called(*arguments)
    assert ended.returncode == 2
    assert "Usage:" in ended.stderr


@pytest.mark.parametrize(
    ("error", "code"), [(RuntimeError("bug"), 2), (KeyboardInterrupt(), 130), (StoreError("down"), 3)]
)
def test_only_a_regression_ends_with_1(
    error: BaseException, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(**_: object) -> None:
        raise error

    monkeypatch.setattr(cli, "cli", fail)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == code
    if code == 2:
        assert "fault of shadow-perfgate itself" in capsys.readouterr().err


def test_starting_loads_no_heavy_module() -> None:
    heavy = {"pydantic", "rich", "jinja2", "boto3", "torch", "numpy", "statistics"}
    code = "import sys, shadow_perfgate.cli; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not heavy & set(loaded)


class Screen(StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        """Return that it is one."""
        return True


def test_a_terminal_shows_one_line_that_moves() -> None:
    screen = Screen()
    progress = LogProgress(screen)
    for done in range(3):
        progress("decode: base", done, 2)
    assert screen.getvalue().split("\r\033[K") == [
        "",
        "decode: base 0/2",
        "decode: base 1/2",
        "decode: base 2/2\n",
    ]


def test_a_log_gets_a_line_when_the_work_changes_and_not_for_every_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("shadow_perfgate.cli.progress.time.monotonic", lambda: 0.0)
    log = StringIO()
    progress = LogProgress(log)
    for what in ("decode: base", "decode: candidate"):
        for done in range(50):
            progress(what, done, 50)
    assert log.getvalue().splitlines() == ["decode: base 0/50", "decode: candidate 0/50"]
