"""`python -m localcloud.quickstart seed | run | fresh [--once]`: before `pulumi up`, the two parts after it.

With `--once`, the machine for each job is left out once it has been shown on this local cloud.
"""

import sys
import time

from rich.console import Console

from localcloud.quickstart import controller, fresh, pipeline, project, screen, timeline
from localcloud.world import World

JOB = "test_inference"


def run(console: Console) -> int:
    """Push the article's pipeline, show its log, then what was built and what it costs; return 0 or 1."""
    world = World.load()
    target = project.ensure(world)
    began = time.monotonic()
    sha = project.push(world)
    started = pipeline.of_commit(target, sha)
    console.print(f"pushed {sha[:8]} to {project.GROUP}/{project.NAME}: {started.web_url}", soft_wrap=True)
    watched = pipeline.job(target, started, JOB)
    for text in pipeline.follow(target, watched):
        screen.show_log(console, text)
    finished = target.pipelines.get(started.id)
    screen.show_result(console, target.jobs.get(watched.id), finished, time.monotonic() - began)
    screen.show_stack(console, screen.stack_outputs())
    return 0 if finished.status == "success" else 1


def main(arguments: list[str]) -> int:
    """Run one of the steps; return 0 on success, 1 when a job isn't green, 2 on a wrong call."""
    console = Console(highlight=False, width=None if sys.stdout.isatty() else timeline.WIDTH)
    if arguments == ["seed"]:
        project.ensure(World.load())
        return 0
    if arguments not in (["run"], ["fresh"], ["fresh", "--once"]):
        console.print("usage: python -m localcloud.quickstart seed | run | fresh [--once]", style="red")
        return 2
    try:
        if arguments == ["run"]:
            return run(console)
        if not (arguments[1:] and fresh.was_shown(console)):
            fresh.run(console, World.load())
    except (pipeline.PipelineError, fresh.FreshError, controller.ControllerError) as error:
        console.print(f"error: {error}", style="red", markup=False)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
