"""`clouds.yaml`: who may log in to the local cloud, and connections made from it."""

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import yaml

from localcloud.openstack.layout import url
from localcloud.paths import state_home
from localcloud.world import ADMIN_CLOUD, REGION, World, write_private

if TYPE_CHECKING:
    from pathlib import Path

    from openstack.connection import Connection
    from openstack.identity.v3._proxy import Proxy as Identity


def path() -> "Path":
    """File that openstacksdk, the CLI and Pulumi read (OS_CLIENT_CONFIG_FILE)."""
    return state_home() / "clouds.yaml"


def admin_entry(world: World) -> dict[str, Any]:
    """Entry of the cloud's administrator."""
    return password_entry("admin", world.admin_password, "admin")


def password_entry(user: str, password: str, project: str) -> dict[str, Any]:
    """Entry that logs in by user and password."""
    auth = {
        "auth_url": f"{url('keystone')}/v3",
        "username": user,
        "password": password,
        "project_name": project,
        "user_domain_name": "Default",
        "project_domain_name": "Default",
    }
    return {"auth": auth, "region_name": REGION, "identity_api_version": 3}


def credential_entry(credential_id: str, secret: str) -> dict[str, Any]:
    """Entry that logs in by application credential, as automation does at Shadow."""
    auth = {
        "auth_url": f"{url('keystone')}/v3",
        "application_credential_id": credential_id,
        "application_credential_secret": secret,
    }
    kind = "v3applicationcredential"
    return {"auth_type": kind, "auth": auth, "region_name": REGION, "identity_api_version": 3}


def entries() -> dict[str, Any]:
    """All entries by cloud name; empty where the file does not exist."""
    try:
        return dict(yaml.safe_load(path().read_text())["clouds"])
    except FileNotFoundError:
        return {}


def put(name: str, entry: dict[str, Any] | None) -> None:
    """Add, replace or (None) remove one entry; safe while others do the same."""
    with _locked():
        known = entries()
        known.pop(name, None)
        if entry is not None:
            known[name] = entry
        text = yaml.safe_dump({"clouds": known})  # pyright: ignore[reportUnknownMemberType]
        write_private(path(), text)


@contextmanager
def _locked() -> Generator[None]:
    path().parent.mkdir(parents=True, exist_ok=True)
    with path().with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def connect(cloud: str = ADMIN_CLOUD) -> "Connection":
    """Log in as one of the entries."""
    # Imported here: it takes a second, which the status of a running cloud need not wait.
    from openstack.config import OpenStackConfig  # noqa: PLC0415
    from openstack.connection import Connection  # noqa: PLC0415

    os.environ.setdefault("no_proxy", "127.0.0.1,localhost")
    return Connection(config=OpenStackConfig(config_files=[str(path())]).get_one(cloud=cloud))


def identity(connection: "Connection") -> "Identity":
    """Keystone's API of a connection; the SDK's type leaves its version open."""
    return cast("Identity", connection.identity)
