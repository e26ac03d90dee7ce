"""Docker on this host: the daemon, and the image of brokers and their sandboxes.

The image is named after its content: `brokerlab-broker:<hash>`, where the hash covers the Dockerfile, the broker's
source and generated code, and the pinned packages it imports. A tree whose image exists therefore needs no build, and a
run can record exactly which image it used. `emulation.host.images` describes the base of images.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator

import docker
import docker.errors
import requests

from emulation.host import images
from emulation.host.images import ImageRecipe, ImageReference, Packages, PrintLine
from record.errors import HostError
from record.installation import INSTALLED

REPOSITORY = "brokerlab-broker"
LATEST = f"{REPOSITORY}:latest"

_SOCKET = "unix:///var/run/docker.sock"
"""The daemon's socket, unless `DOCKER_HOST` names another one."""

_REQUEST_PATIENCE = 120
"""Timeout in seconds of one request to the daemon."""
_SOURCE = ("broker_service", "brokerlab", "record")
"""The packages of this tree that a broker imports, and the protocol that it runs."""
_IMAGES_KEPT = 5
"""Number of broker images of former trees that stay, for runs in progress and for switching between trees."""


def docker_client() -> docker.DockerClient:
    """A client of a daemon that has answered. Raises `HostError` if none answers."""
    try:
        client = docker.from_env(timeout=_REQUEST_PATIENCE)
        client.ping()
    except (docker.errors.DockerException, requests.RequestException) as error:
        raise _unreachable(error) from error
    return client


def _unreachable(error: Exception) -> HostError:
    """The system's own error, which libraries wrap several times, with the remedy."""
    refusal = next((cause for cause in _causes(error) if isinstance(cause, OSError) and cause.strerror), None)
    if refusal is None:
        reason = images.reason(error)
    else:
        reason = f"{os.environ.get('DOCKER_HOST', _SOCKET).removeprefix('unix://')}: {refusal.strerror}"
    remedy = "run this as root, or with sudo" if isinstance(refusal, PermissionError) else "start it with `make setup`"
    return HostError(f"Docker does not answer ({reason}); {remedy}, or use the process runtime")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """An exception and its chain of causes."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def image_reference() -> ImageReference:
    """The name of the broker image of the present tree, whether or not it was built. Needs no daemon.

    Raises `HostError` when the generated protobuf code is missing, and for an installed package.
    """
    return ImageReference(f"{REPOSITORY}:{_image_hash()}")


def find_image(client: docker.DockerClient) -> ImageReference | None:
    """The broker image of the present tree, or None if it must be built first."""
    return images.find(client, image_reference().name)


def ensure_image(client: docker.DockerClient | None = None, print_line: PrintLine = print) -> ImageReference:
    """The broker image of the present tree, built if it is missing: in seconds for new source, in a minute for a new
    base.

    `print_line` gets a line for each step that takes time. Raises `HostError` with the reason if no image can be made.
    """
    client = client or docker_client()
    if (present := find_image(client)) is None:
        with images.one_builder_at_a_time(REPOSITORY):
            present = find_image(client) or _build(client, image_reference().name, print_line)
    client.images.get(present.name).tag(REPOSITORY, "latest")
    return present


def _build(client: docker.DockerClient, name: str, print_line: PrintLine) -> ImageReference:
    base = images.base_image(client, print_line)
    _packages().lay_out(print_line)
    print_line(f"building the broker image {name} on {base}")
    built = ImageRecipe(images.ROOT, images.ROOT / "Dockerfile").build(client, name, base)
    images.remove_former(client, name, _IMAGES_KEPT)
    return built


def _packages() -> Packages:
    """The packages that a broker imports."""
    return Packages(images.CACHE / "broker-packages", "broker")


def _image_hash() -> str:
    root = images.ROOT
    if INSTALLED:
        raise HostError("an installed brokerlab cannot build the broker image; use a checkout, or the process runtime")
    source = sorted(path for package in _SOURCE for path in (root / package).rglob("*.py"))
    if not any(path.name == "broker_pb2.py" for path in source):
        raise HostError("the generated protobuf code is missing; make it with `make proto`")
    digest = hashlib.sha256(_packages().fingerprint().encode())
    digest.update(os.environ.get("BASE_IMAGE", "").encode())
    for path in (root / "Dockerfile", root / ".dockerignore", *source):
        digest.update(f"{path.relative_to(root)}\0{path.stat().st_size}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
