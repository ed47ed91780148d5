"""`python -m recovery --stack NAME`: run once after an `up` was killed, then `pulumi up` again.

Exit codes: 0 the state is whole again, 1 the engine failed, 2 the cloud could not be asked.
"""

import argparse
import sys

import openstack
from keystoneauth1.exceptions import ClientException
from openstack.exceptions import SDKException

from pulumi_cli import EngineError, cloud
from recovery import finders, pending
from shadow_gpu_runners import ownership


def main(arguments: list[str]) -> int:
    """Find every begun creation in the cloud and settle it in the state."""
    parser = argparse.ArgumentParser(prog="python -m recovery", description=__doc__)
    parser.add_argument("--stack", required=True)
    stack = parser.parse_args(arguments).stack
    try:
        return _settle(stack)
    except EngineError as error:
        return _complain(str(error), 1)
    except (SDKException, ClientException) as error:
        return _complain(f"OpenStack could not be asked: {error}; check the credential and try again", 2)


def _settle(stack: str) -> int:
    state = pending.export(stack)
    begun = pending.creations(state)
    if not begun:
        _say("nothing was left half-done: run `pulumi up`")
        return 0
    connection = openstack.connect(cloud=cloud(stack))
    found: dict[str, str] = {}
    for entry in begun:
        name = entry.urn.rpartition("::")[2]
        identity = finders.find(connection, entry.type, entry.inputs, _deployment(entry.urn))
        _say(f"{name}: {'exists, taken into the state' if identity else 'was never made'}")
        if identity:
            found[entry.urn] = identity
    pending.restore(stack, pending.settled(state, found))
    _say("done: run `pulumi up`")
    return 0


def _deployment(urn: str) -> str:
    # urn:pulumi:<stack>::<project>::<type>::<name>; the mark is what ownership.deployment_id() made of it.
    stack, project = urn.removeprefix("urn:pulumi:").split("::")[:2]
    return ownership.deployment_of(project, stack)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def _complain(text: str, code: int) -> int:
    sys.stderr.write(f"error: {text}\n")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
