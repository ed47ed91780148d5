"""The command `fault`."""

import argparse
import sys
import time
from collections.abc import Callable

from localcloud.openstack import faults
from localcloud.openstack.services import APIS, NAMES
from localcloud.world import World

SERVICE_ACTIONS: dict[str, tuple[Callable[[str], None], str]] = {
    "pause": (faults.pause, "the service hangs"),
    "resume": (faults.resume, "it goes on"),
    "kill": (faults.kill, "it dies by SIGKILL"),
    "stop": (faults.stop, "it ends in good order"),
    "start": (faults.start, "it comes back, also after `answer`"),
}
"""Actions on a service by their word on the command line, with what they mean."""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the actions to the parser of `fault`."""
    actions = parser.add_subparsers(required=True, metavar="action")
    for name, (action, text) in SERVICE_ACTIONS.items():
        chosen = actions.add_parser(name, help=text)
        chosen.add_argument("service", choices=NAMES)
        chosen.set_defaults(run=_on_service, action=action)
    _add_answer(actions.add_parser("answer", help="an API answers an error to everything"))
    _add_tokens(actions.add_parser("token-seconds", help="tokens expire soon (0: the usual hour)"))
    _add_switches(
        actions.add_parser("on", help="a driver's fault"), actions.add_parser("off", help="undo `on`")
    )
    _add_preempt(actions.add_parser("preempt", help="reclaim a spot server"))
    actions.add_parser("list", help="faults that are on").set_defaults(run=_list)
    actions.add_parser("clear", help="no fault any more").set_defaults(run=_clear)


def _need_cloud() -> None:
    """Refuse where no cloud was ever started: an action that restarts a service would half-make one."""
    World.load()


def _add_answer(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("service", choices=APIS)
    parser.add_argument("status", type=int, nargs="?", default=503)
    parser.add_argument("--retry-after", type=int, default=1, metavar="SECONDS")
    parser.set_defaults(run=_answer)


def _add_tokens(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("seconds", type=_seconds)
    parser.set_defaults(run=_token_seconds)


def _seconds(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"got {text!r}, expected a whole number from 0")
    return int(text)


def _add_switches(on: argparse.ArgumentParser, off: argparse.ArgumentParser) -> None:
    for parser in (on, off):
        parser.add_argument("name", choices=sorted(faults.NAMES), metavar="name")
        parser.add_argument("--project", default="", help="id of the only project that has it")
        parser.add_argument("--volume-type", default="", help="the only volume type that has it")
    on.add_argument("value", help="seconds for a delay, a reason for a failure")
    on.set_defaults(run=_switch_on)
    off.set_defaults(run=_switch_off)


def _add_preempt(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("server", help="id")
    parser.add_argument("--notice", type=float, default=0, metavar="SECONDS", help="announced so long before")
    parser.add_argument("--outcome", choices=("delete", "stop", "error"), default="delete")
    parser.set_defaults(run=_preempt)


def _switch_on(given: argparse.Namespace) -> int:
    faults.switch_on(given.name, given.value, project_id=given.project, volume_type=given.volume_type)
    return 0


def _switch_off(given: argparse.Namespace) -> int:
    faults.switch_off(given.name, project_id=given.project, volume_type=given.volume_type)
    return 0


def _preempt(given: argparse.Namespace) -> int:
    if given.notice:
        faults.announce_reclaim(given.server, given.notice)
        time.sleep(given.notice)
    _need_cloud()
    faults.preempt(given.server, given.outcome)
    return 0


def _list(_given: argparse.Namespace) -> int:
    sys.stdout.write("".join(f"{name} = {value}\n" for name, value in faults.active().items()))
    return 0


def _on_service(given: argparse.Namespace) -> int:
    action: Callable[[str], None] = given.action
    action(given.service)
    return 0


def _answer(given: argparse.Namespace) -> int:
    faults.answer(given.service, given.status, given.retry_after)
    return 0


def _token_seconds(given: argparse.Namespace) -> int:
    _need_cloud()
    faults.token_seconds(given.seconds or None)
    return 0


def _clear(_given: argparse.Namespace) -> int:
    _need_cloud()
    faults.clear()
    return 0
