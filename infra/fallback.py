"""`python infra/fallback.py --stack NAME`: `pulumi up`, on-demand for what spot had no room for.

Only pools with `market: spot-then-on-demand` move; a move is written to the pool's `onDemandFallback`, so
that a review shows it and a later edit takes it back.

Exit codes: 0 up, 1 failed for another reason than capacity, 2 the cloud could not be asked.
"""

import argparse
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import openstack
from keystoneauth1.exceptions import ClientException
from openstack.connection import Connection
from openstack.exceptions import SDKException

from pulumi_cli import EngineError, cloud, pulumi, pulumi_json, run
from shadow_gpu_runners import fallback


def main(arguments: list[str]) -> int:
    """Run `up`; where spot had no room, move those instances to on-demand and run it once more."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--stack", required=True)
    stack = parser.parse_args(arguments).stack
    try:
        return _settle(stack)
    except EngineError as error:
        return _say(f"error: {error}", 1)
    except (SDKException, ClientException) as error:
        return _say(f"error: OpenStack could not be asked: {error}; check the credential and try again", 2)


def _settle(stack: str) -> int:
    code, events = _up(stack)
    if code == 0:
        return _say("up to date", 0)
    pools = pulumi_json("config", "get", "pools", "--stack", stack)
    proposal = _proposal(stack, events)
    for failure in proposal.others:
        _say(f"{failure.name}: {failure.reason}: {failure.message}", 1)
    moved = [_move(stack, pools, name, instances) for name, instances in proposal.fallback.items()]
    if proposal.others or not any(moved):
        return _say("not a lack of spot capacity in a pool that may fall back; see the errors above", 1)
    code, _ = _up(stack)
    return _say(
        "up, with the fallback written to the stack's configuration" if code == 0 else "failed again", code
    )


def _up(stack: str) -> tuple[int, list[Mapping[str, Any]]]:
    _say(f"pulumi up --stack {stack} …", 0)
    command = ["pulumi", "up", "--stack", stack, "--yes", "--skip-preview", "--refresh", "--json"]
    done = run(command, stdout=subprocess.PIPE)
    events = fallback.read_event_log(done.stdout)
    for event in events:
        diagnostic = event.get("diagnosticEvent", {})
        if diagnostic.get("severity") == "error":
            _say(str(diagnostic.get("message")).strip(), 1)
    return done.returncode, events


def _proposal(stack: str, events: list[Mapping[str, Any]]) -> fallback.Proposal:
    failed = fallback.failures(events)
    connection = openstack.connect(cloud=cloud(stack))
    faults = {found.server_id: _fault(connection, found.server_id) for found in failed if found.server_id}
    return fallback.propose(fallback.failures(events, faults))


def _fault(connection: Connection, server: str) -> str:
    fault: dict[str, str] | None = connection.compute.get_server(server).fault
    return fault.get("message", "") if fault else ""


def _move(stack: str, pools: list[dict[str, Any]], name: str, instances: tuple[str, ...]) -> bool:
    for index, pool in enumerate(pools):
        if pool["name"] == name and pool.get("market") == "spot-then-on-demand":
            for instance in instances:
                place = len(pool.setdefault("onDemandFallback", []))
                pool["onDemandFallback"].append(instance)
                path = f"pools[{index}].onDemandFallback[{place}]"
                pulumi("config", "set", "--path", path, instance, "--stack", stack)
                _say(f"{instance}: no spot capacity, on-demand from now on", 0)
            return True
    return False


def _say(text: str, code: int) -> int:
    (sys.stderr if code else sys.stdout).write(f"{text}\n")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
