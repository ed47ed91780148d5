"""`python -m teardown --stack NAME`, then `pulumi destroy`: deletes what the autoscaler has made.

The stack knows its controller only, and a network is not deleted while machines hang in it. The controller is
stopped first, so that it makes no more; jobs that still run on the machines fail. Run it again at any time.

Exit codes: 0 nothing of the autoscaler's is left, 1 the engine failed or something is left, 2 the cloud could
not be asked, 3 the answer was no.
"""

import argparse
import sys

import openstack
from keystoneauth1.exceptions import ClientException
from openstack.exceptions import SDKException
from terminal import complain, say

from pulumi_cli import EngineError, cloud, project
from shadow_gpu_runners import ownership
from teardown.machines import NotGoneError, Project


def main(arguments: list[str]) -> int:
    """Show what would be deleted, ask, and delete it."""
    parser = argparse.ArgumentParser(
        prog="python -m teardown", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--stack", required=True, help="name of the Pulumi stack")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--limit", type=float, default=300, help="seconds to wait for deletions (300)")
    options = parser.parse_args(arguments)
    try:
        deployment = ownership.deployment_of(project(), options.stack.rpartition("/")[2])
        connection = openstack.connect(cloud=cloud(options.stack))
        return _tear_down(Project(connection, deployment, options.limit), deployment, ask=not options.yes)
    except (EngineError, NotGoneError) as error:
        return complain(str(error), 1)
    except (SDKException, ClientException) as error:
        return complain(f"OpenStack could not be asked: {error}; check the credential and try again", 2)


def _tear_down(owned: Project, deployment: str, *, ask: bool) -> int:
    found = [*owned.machines(), *owned.leftovers()]
    say(f"{deployment} has made {len(found)} thing(s) that the stack does not know")
    for each in found:
        say(f"  {each}")
    if ask and not _agreed():
        return complain("nothing was changed", 3)
    for name in owned.stop_controller():
        say(f"stopped {name}")
    owned.remove_all()
    say("done: run `pulumi destroy`")
    return 0


def _agreed() -> bool:
    say("The controller is stopped and all of this deleted; jobs that still run on it fail.")
    sys.stdout.write("Go on? [y/N] ")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
