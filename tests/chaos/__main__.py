"""Run, replay and shrink scenarios: `PYTHONPATH=tests python -m chaos --seed 7 --jobs 300`."""

import argparse
import logging
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from chaos.report import save, table
from chaos.scenario import EVERYTHING, Scenario, Trouble
from chaos.shrink import shrink
from chaos.simulation import Result, Simulation


def main(arguments: Sequence[str] | None = None) -> int:
    """Run scenarios; 0 when every law held, 1 when one was broken."""
    wanted = _parser().parse_args(arguments)
    logging.disable(logging.CRITICAL)
    trouble = EVERYTHING if wanted.trouble is None else frozenset(map(Trouble, wanted.trouble))
    results = list[Result]()
    for seed in range(wanted.seed, wanted.seed + wanted.seeds):
        results.append(_run(Scenario(seed, wanted.jobs, trouble), wanted.save, small=wanted.shrink))
    sys.stdout.write(table([result for result in results if not result.breaches]) + "\n")
    return 1 if any(result.breaches for result in results) else 0


def _run(scenario: Scenario, folder: Path, *, small: bool) -> Result:
    start = time.process_time()
    result = Simulation(scenario).run()
    result.figures["CPU s"] = round(time.process_time() - start, 1)
    state = "BROKEN" if result.breaches else "ok"
    _say(f"seed {scenario.seed} jobs {scenario.jobs}: {state}")
    if result.breaches:
        _explain(scenario, result, folder, small=small)
    return result


def _explain(scenario: Scenario, result: Result, folder: Path, *, small: bool) -> None:
    for breach in result.breaches[:20]:
        _say(f"  {breach}")
    smallest = scenario if not small else shrink(scenario, lambda less: bool(Simulation(less).run().breaches))
    path = save(Simulation(smallest, trace=True).run(), folder)
    _say(f"  smallest failing scenario and its trace: {path}")


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m chaos", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="first seed (default %(default)s)")
    parser.add_argument("--seeds", type=int, default=1, help="number of seeds (default %(default)s)")
    parser.add_argument("--jobs", type=int, default=300, help="jobs per seed (default %(default)s)")
    parser.add_argument(
        "--trouble", nargs="*", choices=list(Trouble), metavar="KIND",
        help=f"kinds of trouble, all by default, none when empty: {' '.join(Trouble)}",
    )  # fmt: skip
    parser.add_argument(
        "--shrink",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="look for the smallest scenario that fails, which repeats the run many times",
    )
    parser.add_argument(
        "--save", type=Path, default=Path(), help="folder for the trace of a failure (default: this one)"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
