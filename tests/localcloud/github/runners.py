"""Self-hosted runners as stored: who is online, who is busy, how they look, who goes."""

from localcloud.github.errors import ApiError
from localcloud.github.simulator import Simulator
from localcloud.github.store import Doc

READ_ONLY_LABELS = frozenset({"self-hosted", "linux", "windows", "macos", "x64", "x86", "arm", "arm64"})


def online(sim: Simulator, runner: Doc) -> bool:
    """Whether the runner gave a sign of life lately."""
    seen = runner.get("last_seen")
    return seen is not None and sim.clock.now() - seen < sim.setting("runner_offline_after_s")


def busy(runner: Doc) -> bool:
    """Whether a job is assigned to it or runs on it."""
    return runner.get("job_id") is not None


def label_names(runner: Doc) -> frozenset[str]:
    """Labels in lower case, as jobs are matched."""
    return frozenset(name.lower() for name in runner["labels"])


def show_labels(names: list[str]) -> list[Doc]:
    """REST form of labels; system labels are read-only."""
    return [
        {
            "id": number,
            "name": name,
            "type": "read-only" if name.lower() in READ_ONLY_LABELS else "custom",
        }
        for number, name in enumerate(names, 1)
    ]


def show(sim: Simulator, runner: Doc) -> Doc:
    """REST form of a runner."""
    return {
        "id": runner["id"],
        "name": runner["name"],
        "os": runner["os"],
        "status": "online" if online(sim, runner) else "offline",
        "busy": busy(runner),
        "ephemeral": runner["ephemeral"],
        "runner_group_id": runner["group_id"],
        "labels": show_labels(runner["labels"]),
    }


def of_scope(sim: Simulator, scope: Doc) -> list[Doc]:
    """Runners of one organisation or repository: `{"org_id": …}` or `{"repo_id": …}`."""
    return sim.store.find("runner", **scope)


def create(
    sim: Simulator, scope: Doc, name: str, labels: list[str], group_id: int, *, ephemeral: bool
) -> Doc:
    """Register a runner that is still offline.

    Raises:
        ApiError: 409 for a name in use, 422 for a full group.
    """
    known = of_scope(sim, scope)
    if any(runner["name"].lower() == name.lower() for runner in known):
        raise ApiError(409, f"Already exists - A runner with the name {name} already exists")
    limit = sim.setting("max_runners_per_group")
    if sum(runner["group_id"] == group_id for runner in known) >= limit:
        raise ApiError(422, f"Runner group {group_id} has reached max limit of {limit} runners")
    return sim.store.save(
        "runner",
        {
            "id": sim.store.next_id("runner"),
            "org_id": scope.get("org_id"),
            "repo_id": scope.get("repo_id"),
            "name": name,
            "os": "unknown",
            "labels": labels,
            "group_id": group_id,
            "ephemeral": ephemeral,
            "created": sim.clock.now(),
            "job_id": None,
        },
    )


def remove(sim: Simulator, runner: Doc) -> None:
    """Forget a runner and its sessions."""
    for session in sim.store.find("session", runner_id=runner["id"]):
        sim.store.remove("session", session)
    sim.store.remove("runner", runner)


def sweep(sim: Simulator) -> None:
    """Remove runners that were offline for too long."""
    now = sim.clock.now()
    for runner in sim.store.find("runner"):
        silent = now - (runner.get("last_seen") or runner.get("closed") or runner["created"])
        limit = "ephemeral_removed_after_s" if runner["ephemeral"] else "runner_removed_after_s"
        if not busy(runner) and silent > sim.setting(limit):
            remove(sim, runner)
