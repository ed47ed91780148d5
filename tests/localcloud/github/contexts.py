"""The contexts that expressions of a run and of its jobs can read."""

from typing import Any

from localcloud.github import accounts, runs_store
from localcloud.github.expressions import Scope
from localcloud.github.rest_variables import values_for
from localcloud.github.run_payloads import repository_of
from localcloud.github.simulator import Simulator
from localcloud.github.store import Doc
from localcloud.github.workflow_files import needs_of


def github(sim: Simulator, run: Doc) -> Doc:
    """The `github` context."""
    repo = repository_of(sim, run)
    owner = accounts.account_by_id(sim, repo["owner_id"])
    actor = accounts.account_by_id(sim, run["actor_id"])
    ref = (
        f"refs/pull/{run['pull_number']}/merge" if run["pull_number"] else f"refs/heads/{run['head_branch']}"
    )
    return {
        "event_name": run["event"],
        "event": run["event_payload"],
        "repository": repo["full_name"],
        "repository_id": str(repo["id"]),
        "repository_owner": owner["login"],
        "repository_owner_id": str(owner["id"]),
        "ref": ref,
        "ref_name": ref.removeprefix("refs/heads/").removeprefix("refs/pull/"),
        "ref_type": "branch",
        "head_ref": run["head_branch"] if run["pull_number"] else "",
        "base_ref": run["base_branch"],
        "sha": run["head_sha"],
        "run_id": str(run["id"]),
        "run_number": str(run["run_number"]),
        "run_attempt": str(run["attempt"]),
        "workflow": run["name"],
        "workflow_ref": f"{repo['full_name']}/{run['path']}@{ref}",
        "actor": actor["login"],
        "actor_id": str(actor["id"]),
        "triggering_actor": accounts.account_by_id(sim, run["triggering_actor_id"])["login"],
        "server_url": sim.public_url,
        "api_url": sim.api_url,
        "graphql_url": f"{sim.public_url}/api/graphql",
    }


def of_job(sim: Simulator, run: Doc, key: str, matrix: Doc) -> Scope:
    """What a job's own keys (`if`, `runs-on`, `env`, `strategy`) see, with how its needs ended."""
    spec: Doc = run["spec"]["jobs"][key]
    needs = {need: _need(sim, run, need) for need in needs_of(spec)}
    results = [need["result"] for need in needs.values()]
    return Scope(
        {
            "github": github(sim, run),
            "needs": needs,
            "matrix": matrix,
            "inputs": run["inputs"],
            "vars": values_for(sim, "variable", repository_of(sim, run)),
            "strategy": {"fail-fast": True, "job-index": 0, "job-total": 1},
        },
        failed="failure" in results,
        cancelled=run["cancel_requested"] or "cancelled" in results,
        skipped="skipped" in results,
    )


def _need(sim: Simulator, run: Doc, key: str) -> Doc:
    jobs = [job for job in runs_store.latest_jobs(sim, run) if job["job_key"] == key]
    conclusions = [job["conclusion"] for job in jobs]
    order = ("failure", "cancelled", "success", "skipped")
    result = next((name for name in order if name in conclusions), "skipped")
    outputs: dict[str, Any] = {}
    for job in jobs:
        outputs |= job["outputs"]
    return {"result": result, "outputs": outputs}
