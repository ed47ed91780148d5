"""`python -m preview`: turn the output of `pulumi preview --json` into one updating comment.

Exit codes: 0 all well, 1 the preview failed, 2 a mandatory policy is violated or the quota is exceeded,
3 an argument or file cannot be used. A comment that the forge refuses changes no exit code.
"""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from preview import comments, digest, money, policies, quota, render, surroundings
from preview.errors import CommentError, InputError
from preview.resources import changes
from preview.secrets import redacted
from preview.surroundings import Surroundings

OK, FAILED, VIOLATED, BAD_INPUT = 0, 1, 2, 3


def main(arguments: Sequence[str] | None = None, environment: Mapping[str, str] | None = None) -> int:
    """Run the program; returns its exit code."""
    env = dict(os.environ if environment is None else environment)
    options = _parser().parse_args(arguments)
    try:
        around = surroundings.detect(env)
        report = _report(options, around)
        _publish(report, options, around, env)
    except InputError as error:
        _warn(env, redacted(str(error), env), level="error")
        return BAD_INPUT
    over = any(not room.fits for room in report.quota or ())
    if report.failed:
        return FAILED
    return VIOLATED if report.policies.violated or over else OK


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m preview", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    add = parser.add_argument
    add(
        "file",
        nargs="?",
        default="-",
        help="output of `pulumi preview --json --show-sames`; - reads standard input",
    )
    add("--exit-code", type=int, default=0, metavar="N", help="exit code of `pulumi preview`")
    add(
        "--stack", default="", metavar="PROJECT/STACK", help="name to show; told by the preview when left out"
    )
    add(
        "--policies",
        type=Path,
        metavar="FOLDER",
        help="policy pack whose rules run where the engine ran none",
    )
    add("--policy-config", type=Path, metavar="FILE", help="same file as for `--policy-pack-config`")
    add("--prices", type=Path, metavar="FILE", help="price book (YAML or JSON) in place of the public prices")
    add("--quota", default="", metavar="CLOUD", help="compare with the quota of this entry of clouds.yaml")
    add("--output", type=Path, metavar="FILE", help="write the Markdown here as well")
    add("--no-comment", action="store_true", help="do not comment on the pull or merge request")
    return parser


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:  # type: ignore[override]
        """Bad arguments have the exit code of bad input, not argparse's own."""
        self.print_usage(sys.stderr)
        self.exit(BAD_INPUT, f"{self.prog}: error: {redacted(message)}\n")


def _report(options: argparse.Namespace, around: Surroundings) -> render.Report:
    found = digest.read(_text(options.file))
    config = policies.load_config(options.policy_config)
    return render.Report(
        stack=options.stack or found.stack or "unknown stack",
        preview=found,
        changes=changes(found),
        policies=policies.findings(found, options.policies, config),
        cost=money.estimate(found, options.prices),
        quota=quota.check(found, options.quota) if options.quota else None,
        exit_code=options.exit_code,
        footer=around.footer,
    )


def _text(file: str) -> str:
    if file == "-":
        return sys.stdin.read()
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: {error}; expected the output of `pulumi preview --json`") from None


def _publish(
    report: render.Report, options: argparse.Namespace, around: Surroundings, env: Mapping[str, str]
) -> None:
    full = redacted(render.comment(report, comments.GITLAB_LIMIT), env)
    summary = env.get("GITHUB_STEP_SUMMARY")
    if options.output:
        _write(options.output, "w", full, "--output")
    if summary:
        _write(Path(summary), "a", full, "GITHUB_STEP_SUMMARY")
    if options.no_comment:
        return
    try:
        thread = surroundings.thread(env, around.forge)
        room = thread.limit - len(comments.marker(report.stack, around.run)) - 1
        text = redacted(render.comment(report, room), env)
        sys.stderr.write(f"preview: {comments.post(thread, report.stack, around.run, text)}\n")
    except CommentError as error:
        _warn(env, f"no comment: {redacted(str(error), env)}")
        if not summary:
            sys.stdout.write(full + "\n")


def _write(file: Path, mode: str, text: str, place: str) -> None:
    try:
        with file.open(mode, encoding="utf-8") as target:
            target.write(f"{text}\n")
    except OSError as error:
        raise InputError(
            f"{place} {file}: {error.strerror}; expected a file that can be written: check its folder"
        ) from None


def _warn(env: Mapping[str, str], message: str, level: str = "warning") -> None:
    github = env.get("GITHUB_ACTIONS") == "true"
    # Unescaped, a line of the message could be a command of its own to the workflow.
    escaped = message.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    sys.stderr.write(f"::{level}::{escaped}\n" if github else f"preview: {level}: {message}\n")


if __name__ == "__main__":
    sys.exit(main())
