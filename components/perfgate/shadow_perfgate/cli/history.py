"""`shadow-perfgate history`."""

from pathlib import Path

import click

from shadow_perfgate.cli import options


@click.command("history")
@options.config_option
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Write a page with plots here.")
@click.option("--all", "everything", is_flag=True, help="Also metrics that are only observed.")
def command(config_path: Path | None, html: Path | None, everything: bool) -> None:
    """Show what each metric did on main: steps, slow drift, and where it stands."""
    from shadow_perfgate import config  # noqa: PLC0415 - loaded when called
    from shadow_perfgate.baseline.history import lines  # noqa: PLC0415
    from shadow_perfgate.decide.verdict import Decision  # noqa: PLC0415
    from shadow_perfgate.gate.place import store_of  # noqa: PLC0415
    from shadow_perfgate.report import history  # noqa: PLC0415
    from shadow_perfgate.report import html as page  # noqa: PLC0415

    settings = config.load(config_path)
    found = [
        line for line in lines(store_of(settings), settings.project, settings) if everything or line.gated
    ]
    if not found:
        click.echo(
            f"no sessions of {settings.main} in {settings.store}; `shadow-perfgate gate` on main adds them"
        )
        return
    history.show(found, options.console())
    if html is not None:
        html.write_text(page.render(Decision(()), found), encoding="utf-8")
        click.echo(f"written to {html}")
