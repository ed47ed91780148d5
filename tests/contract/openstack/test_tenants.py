"""A tenant has what a Shadow customer has: member rights, quotas, an application credential."""

import pytest
from openstack import exceptions

from localcloud.openstack import clouds, seed, tenants
from localcloud.openstack.lab import Lab
from localcloud.world import TENANT_CLOUD

pytestmark = pytest.mark.localcloud


def test_a_tenant_cannot_create_flavors(lab: Lab) -> None:
    for cloud in (TENANT_CLOUD, lab.tenant.cloud):
        with clouds.connect(cloud) as tenant, pytest.raises(exceptions.ForbiddenException):
            tenant.compute.create_flavor(name="mine", vcpus=1, ram=512, disk=0)


def test_the_stack_tenant_sees_every_flavor_image_and_volume_type() -> None:
    with clouds.connect(TENANT_CLOUD) as tenant:
        assert {flavor.name for flavor in seed.flavors()} <= {
            flavor.name for flavor in tenant.compute.flavors(details=False)
        }
        assert tenant.image.find_image(seed.IMAGE, ignore_missing=False).visibility == "public"
        assert set(seed.VOLUME_TYPES) <= {kind.name for kind in tenant.block_storage.types()}
        assert {zone.name for zone in tenant.compute.availability_zones()} >= {"zone-a", "zone-b"}


def test_the_stack_tenant_is_no_administrator() -> None:
    with clouds.connect(TENANT_CLOUD) as tenant:
        assert tenant.config.get_auth_args()["application_credential_id"]
        response = tenant.identity.get("/auth/tokens", headers={"X-Subject-Token": tenant.auth_token})
        token_roles = {role["name"] for role in response.json()["token"]["roles"]}
    assert "admin" not in token_roles
    assert "member" in token_roles


def test_quotas_are_those_asked_for() -> None:
    tenant = tenants.make(tenants.unused_name("contract-quotas"), {"instances": 1, "volumes": 2, "port": 3})
    try:
        with tenant.connect() as connection:
            assert connection.compute.get_limits().absolute.instances == 1
            assert connection.block_storage.get_limits().absolute.max_total_volumes == 2
            assert connection.network.get_quota(tenant.project_id).ports == 3
    finally:
        tenant.delete()


def test_leftovers_names_everything_and_delete_removes_it() -> None:
    tenant = tenants.make(tenants.unused_name("contract-leftovers"))
    lab = Lab.open(tenant)
    lab.connection.compute.create_keypair(name="key")
    lab.connection.network.create_security_group(name="group")
    lab.connection.block_storage.create_volume(size=1, name="disk", volume_type="Silver")
    lab.create("forgotten", "micro-c1m2")
    kinds = {item.partition(" ")[0] for item in tenant.leftovers()}
    assert kinds >= {"server", "network", "security", "volume", "keypair"}
    lab.connection.close()
    tenant.delete()
    assert tenant.cloud not in clouds.entries()
    with clouds.connect() as admin:
        assert clouds.identity(admin).find_project(tenant.cloud) is None
        assert list(admin.network.ports(project_id=tenant.project_id)) == []
        everywhere = admin.block_storage.volumes(all_projects=True)
        assert [volume for volume in everywhere if volume.project_id == tenant.project_id] == []


def test_making_a_tenant_again_gives_a_new_credential() -> None:
    name = tenants.unused_name("contract-again")
    first = tenants.make(name)
    old = clouds.entries()[name]
    second = tenants.make(name)
    try:
        assert second == first
        assert clouds.entries()[name]["auth"] != old["auth"]
        assert second.leftovers() == []
    finally:
        second.delete()


def test_a_token_of_the_second_of_the_password_change_is_no_obstacle(monkeypatch: pytest.MonkeyPatch) -> None:
    # Without the quota calls in between, nearly every second sign-in falls into that second.
    monkeypatch.setattr(tenants, "_limit", lambda *_: None)
    name = tenants.unused_name("contract-hasty")
    made = [tenants.make(name) for _ in range(4)]
    try:
        assert made[-1].leftovers() == []
    finally:
        made[-1].delete()
