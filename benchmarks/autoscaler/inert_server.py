"""The real server over a cloud that notes when it is asked for a server: `inert_server.py CONFIG NOTES`."""

import os
import sys
import time
from pathlib import Path

from shadow_autoscaler.adapters import github_events
from shadow_autoscaler.core.jobs import ForgeKind, JobFacts, JobKey, JobStatus
from shadow_autoscaler.core.machines import Server
from shadow_autoscaler.edge import config
from shadow_autoscaler.edge.serve import serve
from shadow_autoscaler.edge.wiring import Base
from shadow_autoscaler.ports import ServerSpec
from shadow_autoscaler.runtime.service import World
from shadow_autoscaler.testing.clock import VirtualClock
from shadow_autoscaler.testing.cloud import FakeCloud
from shadow_autoscaler.testing.github import FakeGitHub


class NotingCloud(FakeCloud):
    """Writes down the job and the moment of each create call."""

    notes: Path

    def create(self, spec: ServerSpec) -> Server:
        """Note the call."""
        with self.notes.open("a") as notes:
            notes.write(f"{spec.marks['job']} {time.time()}\n")
        return super().create(spec)


class KnowingGitHub(FakeGitHub):
    """Says of every job that it waits and comes from no fork: a webhook alone does not tell."""

    def job(self, key: JobKey) -> JobFacts:
        """Return the job."""
        labels = ("self-hosted", "shadow-gpu" if key.job_id >= 250_000 else "h100")
        return JobFacts(key, JobStatus.QUEUED, "train", labels, 1, time.time())


def main() -> int:
    """Serve on one core."""
    os.sched_setaffinity(0, {0})
    file, clock = Path(sys.argv[1]), VirtualClock(time.time())
    cloud = NotingCloud(clock)
    cloud.notes = Path(sys.argv[2])
    world = World(
        cloud,
        {ForgeKind.GITHUB: KnowingGitHub(clock)},
        {ForgeKind.GITHUB: github_events.events},
        lambda vm: f"#cloud-config {vm.name}",
    )
    return serve(Base.of(config.load(file), file.parent), outside=world, level="WARNING")


if __name__ == "__main__":
    sys.exit(main())
