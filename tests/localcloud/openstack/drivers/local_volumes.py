# mypy: disable-error-code="import-not-found,misc"
# pyright: basic, reportMissingImports=false
"""Cinder volume driver without storage: every operation succeeds at once unless a fault is switched on."""

import io
from typing import Any

import switched_faults
from cinder import exception
from cinder.volume import driver


def _act(operation: str, volume: Any) -> None:
    scope = {"project": volume.project_id, "metadata": dict(volume.metadata or {})}
    names = [f"volume_{operation}"]
    if volume.volume_type_id:
        names.append(f"volume_{operation}_{volume.volume_type.name}")
    for name in names:
        switched_faults.delay(f"{name}_delay", **scope)
        if reason := switched_faults.value(f"{name}_fail", **scope):
            raise exception.VolumeBackendAPIException(data=reason)


class LocalVolumeDriver(driver.VolumeDriver):
    """Keeps nothing but Cinder's own records; capacity is the fault `volume_free_gb`, else without end."""

    VERSION = "1.0"

    def do_setup(self, context: Any) -> None:
        """Nothing to set up."""

    def check_for_setup_error(self) -> None:
        """Nothing can be wrong."""

    def _update_volume_stats(self) -> None:
        capacity = float(switched_faults.value("volume_free_gb") or "inf")
        size = "infinite" if capacity == float("inf") else capacity
        self._stats = {
            "volume_backend_name": self.configuration.safe_get("volume_backend_name"),
            "vendor_name": "local",
            "driver_version": self.VERSION,
            "storage_protocol": "iSCSI",
            "total_capacity_gb": size,
            "free_capacity_gb": size,
            "reserved_percentage": 0,
            "QoS_support": False,
            "multiattach": True,
            "online_extend_support": True,
            "thin_provisioning_support": False,
            "thick_provisioning_support": True,
        }

    def create_volume(self, volume: Any) -> None:
        _act("create", volume)

    def clone_image(
        self, context: Any, volume: Any, location: Any, meta: Any, service: Any
    ) -> tuple[None, bool]:
        """Say "cloned", so that Cinder neither downloads nor converts the image."""
        _act("create", volume)
        return None, True

    def create_cloned_volume(self, volume: Any, src_vref: Any) -> None:
        _act("create", volume)

    def create_volume_from_snapshot(self, volume: Any, snapshot: Any) -> None:
        _act("create", volume)

    def delete_volume(self, volume: Any) -> None:
        _act("delete", volume)

    def extend_volume(self, volume: Any, new_size: int) -> None:
        _act("extend", volume)

    def create_snapshot(self, snapshot: Any) -> None:
        _act("snapshot", snapshot.volume)

    def delete_snapshot(self, snapshot: Any) -> None:
        """Nothing is kept."""

    def copy_volume_to_image(self, context: Any, volume: Any, image_service: Any, image_meta: Any) -> None:
        """Upload some zeros."""
        image_service.update(context, image_meta["id"], {}, io.BytesIO(bytes(65536)))

    def retype(self, context: Any, volume: Any, new_type: Any, diff: Any, host: Any) -> tuple[bool, None]:
        return True, None

    def update_migrated_volume(
        self, context: Any, volume: Any, new_volume: Any, status: Any
    ) -> dict[str, None]:
        return {"_name_id": None, "provider_location": None}

    def ensure_export(self, context: Any, volume: Any) -> None:
        """Nothing is exported."""

    def create_export(self, context: Any, volume: Any, connector: Any) -> None:
        """Nothing is exported."""

    def remove_export(self, context: Any, volume: Any) -> None:
        """Nothing is exported."""

    def create_export_snapshot(self, context: Any, snapshot: Any, connector: Any) -> None:
        """Nothing is exported."""

    def remove_export_snapshot(self, context: Any, snapshot: Any) -> None:
        """Nothing is exported."""

    def initialize_connection(self, volume: Any, connector: Any) -> dict[str, Any]:
        """Describe a target that nobody will connect to."""
        _act("attach", volume)
        data = {
            "target_discovered": False,
            "target_portal": "127.0.0.1:3260",
            "target_lun": 1,
            "volume_id": volume.id,
            "target_iqn": f"iqn.2010-10.org.openstack:volume-{volume.id}",
            "access_mode": "rw",
            "discard": False,
        }
        return {"driver_volume_type": "iscsi", "data": data}

    def terminate_connection(self, volume: Any, connector: Any, **kwargs: Any) -> None:
        _act("detach", volume)
