# mypy: disable-error-code="import-not-found,misc,no-any-return"
# pyright: basic, reportMissingImports=false
"""Nova's fake virt driver with GPUs, a node id that survives restarts, faults, the guest's console log."""

import os
from pathlib import Path
from typing import Any

import switched_faults
from nova import conf, exception
from nova.compute import power_state
from nova.virt import fake
from oslo_serialization import jsonutils

CONF = conf.CONF
_CONSOLE_BYTES = 256 * 1024


def node_id() -> str:
    """Id of this host's node; Nova's own fake driver makes a new one at each start and can't be restarted."""
    return (Path(CONF.state_path) / "compute_id").read_text().strip()


def _pci_devices() -> list[dict[str, Any]]:
    wanted = [item.split(":") for item in os.environ.get("LOCALCLOUD_PCI", "").split(",") if item]
    kinds = [(vendor, product) for vendor, product, count in wanted for _ in range(int(count))]
    return [
        {
            "dev_id": f"pci_0000_{bus:02x}_00_0",
            "address": f"0000:{bus:02x}:00.0",
            "vendor_id": vendor,
            "product_id": product,
            "status": "available",
            "dev_type": "type-PCI",
            "parent_addr": None,
            "numa_node": None,
            "label": f"label_{vendor}_{product}",
        }
        for bus, (vendor, product) in enumerate(kinds, start=0x10)
    ]


class LocalDriver(fake.FakeDriver):
    """A host of 512 CPUs and 2 TiB, so that GPUs and quotas are what runs out.

    Faults (switched_faults): spawn_delay, spawn_fail, destroy_delay, destroy_fail.
    """

    vcpus = 512
    memory_mb = 2 * 1024 * 1024
    local_gb = 40_000

    def get_nodenames_by_uuid(self, refresh: bool = False) -> dict[str, str]:
        return {node_id(): name for name in self.get_available_nodes()}

    def get_available_resource(self, nodename: str) -> dict[str, Any]:
        resources = super().get_available_resource(nodename)
        resources["uuid"] = node_id()
        if devices := _pci_devices():
            resources["pci_passthrough_devices"] = jsonutils.dumps(devices)
        return resources

    def spawn(self, context: Any, instance: Any, *args: Any, **kwargs: Any) -> Any:
        self._obey("spawn", instance)
        return super().spawn(context, instance, *args, **kwargs)

    def destroy(self, context: Any, instance: Any, *args: Any, **kwargs: Any) -> Any:
        self._obey("destroy", instance)
        return super().destroy(context, instance, *args, **kwargs)

    def get_info(self, instance: Any, use_cache: bool = True) -> Any:
        self._remember(instance)
        return super().get_info(instance, use_cache=use_cache)

    def get_console_output(self, context: Any, instance: Any) -> str:
        """Return the end of what the guest wrote to its console."""
        path = Path(os.environ["LOCALCLOUD_GUESTS"]) / instance.uuid / "console.log"
        try:
            return path.read_bytes()[-_CONSOLE_BYTES:].decode("utf-8", "replace")
        except OSError:
            return ""

    @staticmethod
    def _obey(operation: str, instance: Any) -> None:
        scope = {"project": instance.project_id, "metadata": instance.metadata}
        switched_faults.delay(f"{operation}_delay", **scope)
        if reason := switched_faults.value(f"{operation}_fail", **scope):
            raise exception.NovaException(reason)

    def _remember(self, instance: Any) -> None:
        """Take over a guest that was started before this process was."""
        state = instance.power_state
        if instance.uuid not in self.instances and state in (power_state.RUNNING, power_state.SHUTDOWN):
            self.instances[instance.uuid] = fake.FakeInstance(instance.name, state, instance.uuid)
