"""The built plugins speak the installed SDKs' language: each property and secret of each type."""

import json
import subprocess
from collections.abc import Iterator
from functools import cache
from typing import Any

import engine_sdk as sdk
import pytest
from engine_machine import ROOT

pytestmark = pytest.mark.engine

NEEDED = {
    "openstack": {
        "openstack:blockstorage/volume:Volume",
        "openstack:compute/flavor:Flavor",
        "openstack:compute/getFlavor:getFlavor",
        "openstack:compute/getLimitsV2:getLimitsV2",
        "openstack:compute/getQuotaSetV2:getQuotaSetV2",
        "openstack:compute/instance:Instance",
        "openstack:compute/keypair:Keypair",
        "openstack:compute/quotaSetV2:QuotaSetV2",
        "openstack:compute/serverGroup:ServerGroup",
        "openstack:compute/volumeAttach:VolumeAttach",
        "openstack:identity/applicationCredential:ApplicationCredential",
        "openstack:identity/getAuthScope:getAuthScope",
        "openstack:identity/getProject:getProject",
        "openstack:identity/project:Project",
        "openstack:images/getImage:getImage",
        "openstack:images/image:Image",
        "openstack:networking/floatingIp:FloatingIp",
        "openstack:networking/floatingIpAssociate:FloatingIpAssociate",
        "openstack:networking/getNetwork:getNetwork",
        "openstack:networking/getQuotaV2:getQuotaV2",
        "openstack:networking/getRouter:getRouter",
        "openstack:networking/getSecGroup:getSecGroup",
        "openstack:networking/getSubnet:getSubnet",
        "openstack:networking/network:Network",
        "openstack:networking/port:Port",
        "openstack:networking/router:Router",
        "openstack:networking/routerInterface:RouterInterface",
        "openstack:networking/secGroup:SecGroup",
        "openstack:networking/secGroupRule:SecGroupRule",
        "openstack:networking/subnet:Subnet",
    },
    "github": {
        "github:index/actionsOrganizationSecret:ActionsOrganizationSecret",
        "github:index/actionsOrganizationVariable:ActionsOrganizationVariable",
        "github:index/actionsRunnerGroup:ActionsRunnerGroup",
        "github:index/actionsSecret:ActionsSecret",
        "github:index/actionsVariable:ActionsVariable",
        "github:index/getOrganization:getOrganization",
        "github:index/getRepository:getRepository",
        "github:index/organizationWebhook:OrganizationWebhook",
        "github:index/repository:Repository",
        "github:index/repositoryWebhook:RepositoryWebhook",
        "github:index/team:Team",
    },
}
BRIDGE_OWN = "terraformConfig"
"""The bridge adds this provider method; SDKs have it on their Provider class, not as a function."""

Schema = dict[str, Any]


@pytest.fixture(params=sorted(NEEDED))
def package(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@cache
def _schema(package: str) -> Schema:
    script = 'eval "$("$0" --env)"; pulumi package get-schema "$PULUMI_HOME"/plugins/resource-"$1"-v*/*-"$1"'
    command = ["/bin/bash", "-c", script, str(ROOT / "scripts" / "engine"), package]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    schema: Schema = json.loads(done.stdout)
    return schema


def test_every_type_that_a_runner_stack_needs_is_served(package: str) -> None:
    schema = _schema(package)
    assert NEEDED[package] - set(schema["resources"]) - set(schema["functions"]) == set()


def test_resources_have_the_properties_of_the_sdk(package: str) -> None:
    differences = [
        difference
        for token, spec in _schema(package)["resources"].items()
        for difference in _differences(token, _resource(spec), sdk.resource(package, token))
    ]
    assert differences == []


def test_functions_have_the_properties_of_the_sdk(package: str) -> None:
    differences = [
        difference
        for token, spec in _schema(package)["functions"].items()
        if not token.endswith(BRIDGE_OWN)
        for difference in _differences(token, _function(spec), sdk.function(package, token))
    ]
    assert differences == []


def _resource(spec: Schema) -> sdk.Resource:
    properties = spec.get("properties", {})
    return sdk.Resource(
        frozenset(spec.get("inputProperties", {})),
        frozenset(spec.get("requiredInputs", [])),
        frozenset(properties),
        frozenset(name for name, kind in properties.items() if kind.get("secret")),
    )


def _function(spec: Schema) -> sdk.Function:
    return sdk.Function(
        frozenset(spec.get("inputs", {}).get("properties", {})),
        frozenset((spec.get("outputs") or {}).get("properties", {})),
    )


def _differences(token: str, plugin: Any, installed: Any) -> Iterator[str]:
    for name in type(plugin).__dataclass_fields__:
        ours, theirs = getattr(plugin, name), getattr(installed, name)
        if ours != theirs:
            yield f"{token} {name}: plugin only {sorted(ours - theirs)}, SDK only {sorted(theirs - ours)}"
