"""The table that `status` prints."""

from rich.console import Console
from rich.table import Table

from localcloud import extras
from localcloud.openstack import clouds, control
from localcloud.processes import Service
from localcloud.world import ADMIN_CLOUD


def show() -> bool:
    """Print services and tenants' servers; True where all of it is healthy."""
    services = [*control.known().values(), *(extras.service(name) for name in extras.NAMES)]
    healths = {service.name: health(service) for service in services}
    console = Console()
    console.print(_services(services, healths))
    if healths["nova-api"] == healths["keystone"] == "ready" and ADMIN_CLOUD in clouds.entries():
        console.print(_servers())
    return all(found == "ready" for found in healths.values())


def health(service: Service) -> str:
    """One word on a service: ready, paused, starting (or not answering), down."""
    if not service.running():
        return "down"
    if service.paused():
        return "paused"
    return "ready" if service.healthy() else "not answering"


def _services(services: list[Service], healths: dict[str, str]) -> Table:
    table = Table("service", "health", "pid", "port", "MiB", title="Services on 127.0.0.1")
    table.columns[4].justify = "right"
    total = 0.0
    for service in services:
        memory = service.memory_mib() if service.running() else 0.0
        total += memory
        ports = " ".join(map(str, service.ports)) or "-"
        table.add_row(service.name, healths[service.name], str(service.pid() or "-"), ports, f"{memory:.0f}")
    table.add_section()
    table.add_row("total", "", "", "", f"{total:.0f}")
    return table


def _servers() -> Table:
    table = Table("project", "server", "status", "flavor", "host", "id", title="Servers of all tenants")
    with clouds.connect() as admin:
        projects = {project.id: project.name for project in clouds.identity(admin).projects()}
        for server in admin.compute.servers(all_projects=True):
            flavor = server.flavor.original_name if server.flavor else "-"
            owner = projects.get(server.project_id, server.project_id)
            table.add_row(owner, server.name, server.status, flavor, server.compute_host or "-", server.id)
    return table
