# mypy: disable-error-code="import-not-found,misc,no-any-return"
# pyright: basic, reportMissingImports=false
"""ML2 mechanism driver that binds every port at once and makes it ACTIVE; no network agent runs."""

import switched_faults
from neutron_lib import constants
from neutron_lib.api.definitions import portbindings
from neutron_lib.plugins.ml2 import api


class LocalPortsDriver(api.MechanismDriver):
    """Binds as Open vSwitch would; the fault `bind_fail` leaves a port unbound, which fails the server."""

    resource_provider_uuid5_namespace = None

    def initialize(self) -> None:
        """Nothing to set up."""

    @property
    def connectivity(self) -> str:
        """Layer 2, as with a real agent."""
        return portbindings.CONNECTIVITY_L2

    def bind_port(self, context: api.PortContext) -> None:
        """Bind to the first segment."""
        if switched_faults.value("bind_fail", project=context.current.get("project_id", "")):
            return
        for segment in context.segments_to_bind[:1]:
            details = {
                portbindings.CAP_PORT_FILTER: True,
                portbindings.VIF_DETAILS_CONNECTIVITY: portbindings.CONNECTIVITY_L2,
            }
            active = constants.PORT_STATUS_ACTIVE
            context.set_binding(segment[api.ID], portbindings.VIF_TYPE_OVS, details, status=active)
