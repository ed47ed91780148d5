"""`shadow-perfgate init`."""

import json
from importlib.resources import files
from pathlib import Path
from string import Template

import click

from shadow_perfgate.errors import InputError

ENGINES = ("command", "transformers", "openai", "callable")
FORGES = ("gitlab", "github")
PACKAGE = (
    "shadow-perfgate[gpu] @ git+https://HOST/GROUP/shadow-gpu-runners@COMMIT#subdirectory=components/perfgate"
)
"""Stands for what was not told: a name alone could be anybody's in a package index."""
PIPELINES = {"gitlab": Path(".gitlab/perfgate.yml"), "github": Path(".github/workflows/perfgate.yml")}


@click.command("init")
@click.option(
    "--engine", type=click.Choice(ENGINES), default="command", show_default=True, help="What is measured."
)
@click.option(
    "--forge", type=click.Choice(FORGES), default=None, help="By default told by the remote's address."
)
@click.option(
    "--package",
    default="",
    help="What the pipeline gives to pip: a requirement, a wheel's address with #sha256=…, or a path.",
)
def command(engine: str, forge: str | None, package: str) -> None:
    """Write perfgate.toml and a pipeline that runs the gate; existing files are left as they are."""
    from shadow_perfgate.baseline.git import line  # noqa: PLC0415 - loaded when called
    from shadow_perfgate.gate.base import default_branch  # noqa: PLC0415

    here = Path()
    address = line(here, "remote", "get-url", "origin")
    forge = forge or ("github" if "github" in address or Path(".github").is_dir() else "gitlab")
    main = default_branch(here) or line(here, "symbolic-ref", "--short", "HEAD") or "main"
    values = {
        "project": _quoted(_project(address)),
        "main": _quoted(main),
        "workload": _text(f"workload-{engine}.toml").strip(),
    }
    _write(Path("perfgate.toml"), Template(_text("perfgate.toml")).substitute(values))
    pipeline = _with_package(_text(f"{forge}.yml"), package or PACKAGE)
    _write(PIPELINES[forge], Template(pipeline).substitute(values) if forge == "github" else pipeline)
    if forge == "gitlab":
        click.echo(f"include it from .gitlab-ci.yml:  include: [{{local: {PIPELINES[forge]}}}]")
    if not package:
        click.echo(f"--package was not given: replace HOST, GROUP and COMMIT in {PIPELINES[forge]}")
    click.echo("next: adapt perfgate.toml, then try `shadow-perfgate run -n 1`")


def _with_package(pipeline: str, package: str) -> str:
    # In YAML these end the text or the line.
    if set(package) & set('"\\$`\n') or ": " in package or " #" in package:
        expected = "text without quotes, backslashes, $, `, a colon before a space and # after one"
        raise InputError(f"--package: got {package!r}, expected {expected}")
    return pipeline.replace(PACKAGE, package)


def _quoted(text: str) -> str:
    """Return `text` as TOML and YAML write it in quotes."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _text(name: str) -> str:
    return files("shadow_perfgate.scaffold").joinpath(name).read_text(encoding="utf-8")


def _project(address: str) -> str:
    """Return owner/name from a remote's address, or the folder's name."""
    path = address.removesuffix(".git").replace(":", "/").strip("/")
    return "/".join(path.split("/")[-2:]) if address else Path.cwd().name


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        click.echo(f"left as it is: {path}")
    else:
        click.echo(f"written: {path}")
