"""`shadow-perfgate import`."""

from pathlib import Path

import click

from shadow_perfgate.cli import options


@click.command("import")
@click.argument("results", type=click.Path(dir_okay=False, path_type=Path), nargs=-1, required=True)
@click.option("--format", "name", default=None, help="Format; by default found by the content.")
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("perfgate-sessions"),
    show_default=True,
    help="Folder for one session file per workload.",
)
@options.config_option
def command(results: tuple[Path, ...], name: str | None, output: Path, config_path: Path | None) -> None:
    """Turn results of other tools into sessions: vLLM, AIPerf, llama-bench, GuideLLM and more.

    Each file is one run; give at least five files of fresh processes a side, so that they can be compared.
    """
    from shadow_perfgate import codec, config, imports  # noqa: PLC0415 - loaded when called
    from shadow_perfgate.errors import InputError  # noqa: PLC0415

    if name is not None and name not in imports.FORMATS:
        raise InputError(f"--format: got {name!r}, expected one of {', '.join(imports.FORMATS)}; correct it")
    settings = config.load(config_path)
    found = [settings.labelled(session) for session in imports.read_all(results, name)]
    output.mkdir(parents=True, exist_ok=True)
    for place, session in enumerate(found):
        stem = "".join(sign if sign.isalnum() or sign in "._-" else "-" for sign in session.workload.name)
        twin = any(other.workload.name == session.workload.name for other in found[:place])
        path = output / f"{stem}{f'-{session.workload.digest[:6]}' if twin else ''}.json"
        path.write_text(codec.dumps(session), encoding="utf-8")
        click.echo(f"{session.workload.name}: {len(session.runs)} run(s), written to {path}")
