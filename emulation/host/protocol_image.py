"""Images for brokers whose protocol from outside has requirements: the broker image, and the required packages.

Such an image is named after its content: `brokerlab-protocol:<hash>`, where the hash covers the broker image and the
packages at the versions that are installed on this host, so that brokers in containers run what the simulator runs. The
host's pip unpacks the packages, as it does for the broker image, so that the host's settings apply.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import docker

from broker_service.routing.registry import requirements_of
from broker_service.routing.requirements import Requirement
from emulation.host import images
from emulation.host.images import DerivedImage, PrintLine

REPOSITORY = "brokerlab-protocol"
_IMAGES_KEPT = 5
"""Number of images for other protocols that stay."""
_DOCKERFILE = """\
ARG BASE_IMAGE
FROM ${BASE_IMAGE}
LABEL brokerlab="1"
USER root
COPY packages /opt/brokerlab/requirements
ENV PYTHONPATH=/opt/brokerlab:/opt/brokerlab/packages:/opt/brokerlab/requirements
RUN ["python3", "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", "/opt/brokerlab/requirements"]
USER 10001:10001
"""


def image_for(client: docker.DockerClient, base: str, protocol: str, print_line: PrintLine) -> str:
    """The image of brokers that route by a protocol, built if it is missing: the broker image `base` for one without
    requirements.

    `print_line` gets a line before the build. Raises `HostError` with the reason if it cannot be made.
    """
    packages = [_pinned(requirement) for requirement in requirements_of(protocol)]
    if not packages:
        return base
    image = DerivedImage(
        repository=REPOSITORY,
        digest=_digest(client, base, packages),
        shown=[_shown(package) for package in packages],
        dockerfile=_DOCKERFILE,
        lay_out=lambda context: images.unpack_packages(context / "packages", packages),
        kept=_IMAGES_KEPT,
    )
    return image.ensure_built(client, base, print_line)


def _pinned(requirement: Requirement) -> str:
    """A requirement as pip takes it: a wheel's path, or the version that is installed here."""
    if requirement.file is not None:
        return str(requirement.file)
    version = requirement.version
    return f"{requirement.name}{requirement.extras}" + (f"=={version}" if version is not None else "")


def _shown(package: str) -> str:
    return Path(package).name


def _digest(client: docker.DockerClient, base: str, packages: Sequence[str]) -> str:
    digest = hashlib.sha256(_DOCKERFILE.encode())
    digest.update(str(client.images.get(base).id).encode())
    for name in ("constraints.txt", "setup/image-packages.sh"):
        digest.update((images.ROOT / name).read_bytes())
    for package in packages:
        content = Path(package).read_bytes() if package.startswith("/") else b""
        digest.update(f"{_shown(package)}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:16]
