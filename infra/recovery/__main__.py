"""`python -m recovery --stack NAME`: run once after an `up` was killed, then `pulumi up` again.

Exit codes: 0 the state is whole again, 1 the engine failed, 2 the cloud could not be asked.
"""

import argparse
import sys

import openstack
from keystoneauth1.exceptions import ClientException
from openstack.exceptions import SDKException
from terminal import complain, say

from pulumi_cli import EngineError, cloud
from recovery import finders, pending
from shadow_gpu_runners import ownership
from shadow_gpu_runners.urns import name_of


def main(arguments: list[str]) -> int:
    """Find every begun creation in the cloud and settle it in the state."""
    parser = argparse.ArgumentParser(prog="python -m recovery", description=__doc__)
    parser.add_argument("--stack", required=True)
    stack = parser.parse_args(arguments).stack
    try:
        return _settle(stack)
    except EngineError as error:
        return complain(str(error), 1)
    except (SDKException, ClientException) as error:
        return complain(f"OpenStack could not be asked: {error}; check the credential and try again", 2)


def _settle(stack: str) -> int:
    state = pending.export(stack)
    begun = pending.creations(state)
    if not begun:
        say("nothing was left half-done: run `pulumi up`")
        return 0
    connection = openstack.connect(cloud=cloud(stack))
    found: dict[str, str] = {}
    for entry in begun:
        name = name_of(entry.urn)
        identity = finders.find(connection, entry.type, entry.inputs, _deployment(entry.urn))
        say(f"{name}: {'exists, taken into the state' if identity else 'was never made'}")
        if identity:
            found[entry.urn] = identity
    pending.restore(stack, pending.settled(state, found))
    say("done: run `pulumi up`")
    return 0


def _deployment(urn: str) -> str:
    # urn:pulumi:<stack>::<project>::<type>::<name>; the mark is what ownership.deployment_id() made of it.
    stack, project = urn.removeprefix("urn:pulumi:").split("::")[:2]
    return ownership.deployment_of(project, stack)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
