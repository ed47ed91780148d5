"""Resource types and properties in words."""

import re
from collections.abc import Mapping
from typing import Any, Final

from preview.markdown import plain

_NOUNS: Final = {
    "openstack:blockstorage/volume:Volume": "volume",
    "openstack:compute/instance:Instance": "instance",
    "openstack:compute/keypair:Keypair": "SSH key pair",
    "openstack:networking/floatingIp:FloatingIp": "floating IP",
    "openstack:networking/secGroup:SecGroup": "security group",
    "openstack:networking/secGroupRule:SecGroupRule": "security group rule",
    "gitlab:index/userRunner:UserRunner": "GitLab runner",
    "gitlab:index/projectHook:ProjectHook": "GitLab project webhook",
    "gitlab:index/groupHook:GroupHook": "GitLab group webhook",
    "gitlab:index/projectVariable:ProjectVariable": "GitLab CI/CD variable",
    "gitlab:index/groupVariable:GroupVariable": "GitLab CI/CD variable",
    "github:index/actionsRunnerGroup:ActionsRunnerGroup": "GitHub runner group",
    "github:index/organizationWebhook:OrganizationWebhook": "GitHub organisation webhook",
    "github:index/repositoryWebhook:RepositoryWebhook": "GitHub repository webhook",
    "github:index/actionsOrganizationVariable:ActionsOrganizationVariable": "GitHub Actions variable",
    "github:index/actionsVariable:ActionsVariable": "GitHub Actions variable",
}
_PROPERTIES: Final = {
    "userData": "user-data",
    "flavorName": "flavor",
    "flavorId": "flavor",
    "imageId": "image",
    "imageName": "image",
    "keyPair": "SSH key pair",
    "blockDevices.uuid": "image of the boot volume",
    "blockDevices.volumeSize": "size of the boot volume",
    "blockDevices.volumeType": "type of the boot volume",
    "blockDevices": "boot volume",
    "tagLists": "tags",
}
_INDEX: Final = re.compile(r'\["(?:[^"\\]|\\.)*"\]|\[[^\]]*\]', re.DOTALL)
_PLURALS: Final = {"security group rule": "security group rules", "SSH key pair": "SSH key pairs"}


def noun(kind: str, inputs: Mapping[str, Any]) -> str:
    """What a resource of type `kind` is called, in the singular."""
    known = _NOUNS.get(kind)
    if known == "instance":
        return f"{_instance_word(str(inputs.get('flavorName') or ''))}instance"
    forge = {"gitlab": "GitLab ", "github": "GitHub "}.get(kind.partition(":")[0], "")
    return known or forge + _spaced(kind.rpartition(":")[2])


def _instance_word(flavor: str) -> str:
    if "-gpu-" not in flavor:
        return ""
    return "spot GPU " if "-preemptible-" in flavor else "GPU "


def counted(number: int, word: str) -> str:
    """`1 port`, `2 ports`."""
    if number == 1:
        return f"1 {word}"
    if word in _PLURALS:
        return f"{number} {_PLURALS[word]}"
    plural = f"{word[:-1]}ies" if word.endswith("y") and word[-2] not in "aeiou" else f"{word}s"
    return f"{number} {plural}"


def property_words(path: str) -> str:
    """A property path such as `blockDevices[0].uuid` in words."""
    keys = _INDEX.sub("", path)
    known = keys
    while known:
        if known in _PROPERTIES:
            return _PROPERTIES[known]
        known = known.rpartition(".")[0]
    return _spaced(keys.rpartition(".")[2])


def _spaced(camel: str) -> str:
    # A provider's names are words; another's text could hold anything.
    return plain(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", camel).lower())
