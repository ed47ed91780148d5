"""Names of VMs and runners. A name is used once, for ever."""

from shadow_autoscaler.core.pools import Deployment
from shadow_autoscaler.core.state import Counters

MAX_NAME = 63
RUNNER_SUFFIX = 4
"""Room that a runner's name needs beyond its VM's: a dash and up to three digits."""


def vm_name(deployment: Deployment, pool: str, counters: Counters) -> str:
    """Return `<prefix>-<pool>-<generation+counter>`, the pool's name cut where it does not fit."""
    number = f"{counters.generation}{counters.vms:05d}"
    room = MAX_NAME - RUNNER_SUFFIX - len(deployment.name_prefix) - len(number) - 2
    return f"{deployment.name_prefix}-{pool[:room].strip('-')}-{number}"


def runner_name(vm: str, registration: int) -> str:
    """Return the name of a VM's n-th registration."""
    return f"{vm}-{registration}"


def vm_of_runner(name: str) -> str:
    """Return the VM whose registration has that name; empty where the form is another one."""
    stem, dash, number = name.rpartition("-")
    return stem if dash and number.isdigit() else ""


def ours(deployment: Deployment, counters: Counters, vm: str) -> bool:
    """Whether this store made that name: prefix and generation agree, so it is no other deployment's."""
    generation = counters.generation
    prefix, _, number = vm.rpartition("-")
    return (
        bool(generation)
        and prefix.startswith(f"{deployment.name_prefix}-")
        and number.startswith(generation)
        and number[len(generation) :].isdigit()
    )
