"""Container images that can be pulled in a guest, and the real Docker's words for those that can't."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

STORE = Path("/var/lib/docker/images.json")
_TAG = r"[A-Za-z0-9][A-Za-z0-9._-]*"


@dataclass(frozen=True, slots=True)
class Image:
    """What an image brings: programs by their names and its default command."""

    repository: str
    python: bool = False
    cuda: bool = False
    command: tuple[str, ...] = ("/bin/bash",)


_KNOWN = (
    Image("ubuntu"),
    Image("debian"),
    Image("alpine", command=("/bin/sh",)),
    Image("busybox", command=("/bin/sh",)),
    Image("hello-world", command=("/bin/echo", "Hello from Docker!")),
    Image("curlimages/curl", command=("curl",)),
    Image("python", python=True, command=("python3",)),
    Image("nvidia/cuda", cuda=True),
    Image("nvcr.io/nvidia/pytorch", python=True, cuda=True),
    Image("nvcr.io/nvidia/k8s/cuda-sample", cuda=True),
    Image("pytorch/pytorch", python=True, cuda=True),
    Image("tensorflow/tensorflow", python=True, cuda=True),
    Image("gitlab/gitlab-runner-helper"),
    Image("registry.gitlab.com/gitlab-org/gitlab-runner/gitlab-runner-helper"),
)


class ImageError(Exception):
    """The daemon's refusal, in its own words."""


def split(reference: str) -> tuple[str, str]:
    """Repository (without Docker Hub's prefixes) and tag or digest of a reference."""
    bare = reference.partition("@")[0]
    found = re.fullmatch(rf"(?P<repository>.+?)(?::(?P<tag>{_TAG}))?", bare)
    if found is None:
        raise ImageError("invalid reference format")
    repository = re.sub(r"^(docker\.io/)?(library/)?", "", found["repository"])
    return repository, found["tag"] or "latest"


def find(reference: str) -> Image:
    """The image of a reference.

    Raises:
        ImageError: no registry has it.
    """
    repository, tag = split(reference)
    image = next((image for image in _KNOWN if _same(image.repository, repository)), None)
    if image is None:
        raise ImageError(
            f"pull access denied for {repository}, repository does not exist or may require "
            "'docker login': denied: requested access to the resource is denied"
        )
    if image.repository == "nvidia/cuda" and not re.match(r"\d+\.\d+", tag):
        raise ImageError(f"manifest for {repository}:{tag} not found: manifest unknown: manifest unknown")
    return image


def _same(known: str, repository: str) -> bool:
    """Whether it is the known repository or a copy of it on some mirror (`mirror.example/nvidia/cuda`)."""
    return repository == known or repository.endswith(f"/{known}")


def pulled() -> list[str]:
    """References that the daemon has."""
    return list(json.loads(STORE.read_text())) if STORE.exists() else []


def pull(reference: str) -> Image:
    """Have the daemon take an image; see `find` for what it raises."""
    image = find(reference)
    names = pulled()
    if reference not in names:
        STORE.parent.mkdir(parents=True, exist_ok=True)
        STORE.write_text(json.dumps([*names, reference]))
    return image


def forget(reference: str) -> bool:
    """Remove an image; False where the daemon hasn't got it."""
    names = pulled()
    if reference not in names:
        return False
    STORE.write_text(json.dumps([name for name in names if name != reference]))
    return True
