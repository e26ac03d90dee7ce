"""The Docker side of a host: the daemon, and the image that brokers and their sandboxes run.

The image is named after its content: `brokerlab-broker:<hash>`, where the hash covers the Dockerfile, the broker's
source and generated code, and the pinned packages it imports. A tree whose image exists therefore needs no build, and a
run can say exactly what it ran. The base is, in this order: `BASE_IMAGE` from the environment; the pinned Python image
of the Dockerfile, where it is present or a registry answers at once; else a Debian root bootstrapped from the mirror
that this host's apt uses, which is kept.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import re
import subprocess
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
import docker.errors
import requests

from emulation.errors import HostError

REPOSITORY = "brokerlab-broker"
LATEST = f"{REPOSITORY}:latest"
BOOTSTRAPPED_BASE = "brokerlab-base:bookworm"

ROOT = Path(__file__).resolve().parents[1]
_CACHE = ROOT / ".cache"
_PACKAGES = _CACHE / "broker-packages"
_REGISTRY_PATIENCE = 8
"""Seconds that a registry gets to answer before the base is bootstrapped instead."""
_REQUEST_PATIENCE = 120
"""Seconds that one request to the daemon may take."""
_IMAGES_KEPT = 5
"""Broker images of former trees that stay, for runs that began before and for going back and forth."""

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ImageReference:
    """An image by name and, once it exists, by the daemon's own identifier."""

    name: str
    identifier: str | None = None


def docker_client() -> docker.DockerClient:
    """A client whose daemon has answered. Raises `HostError` when none does."""
    try:
        client = docker.from_env(timeout=_REQUEST_PATIENCE)
        client.ping()
    except (docker.errors.DockerException, requests.RequestException) as error:
        raise HostError(
            f"Docker does not answer ({_reason(error)}); start it with `make setup`, or use the process runtime"
        ) from error
    return client


def image_reference() -> ImageReference:
    """What the broker image of the present tree is called, whether or not it was built. Asks no daemon.

    Raises `HostError` when the generated protobuf code is missing.
    """
    return ImageReference(f"{REPOSITORY}:{_image_hash()}")


def find_image(client: docker.DockerClient) -> ImageReference | None:
    """The broker image of the present tree, or None when it must be built first."""
    name = image_reference().name
    identifier = _identifier(client, name)
    return None if identifier is None else ImageReference(name, identifier)


def ensure_image(client: docker.DockerClient | None = None, say: Say = print) -> ImageReference:
    """The broker image of the present tree, built if need be; seconds for new source, a minute for a new base.

    `say` is told each step that takes time. Raises `HostError` with the reason when the image cannot be made.
    """
    client = client or docker_client()
    if (present := find_image(client)) is None:
        with _one_builder_at_a_time():
            present = find_image(client) or _build(client, image_reference().name, say)
    client.images.get(present.name).tag(REPOSITORY, "latest")
    return present


def _build(client: docker.DockerClient, name: str, say: Say) -> ImageReference:
    base = _base_image(client, say)
    _lay_out_packages(say)
    say(f"building the broker image {name} on {base}")
    try:
        image, _ = client.images.build(path=str(ROOT), tag=name, buildargs={"BASE_IMAGE": base}, rm=True, forcerm=True)
    except docker.errors.BuildError as error:
        log = "".join(str(line.get("stream", "")) for line in error.build_log).strip().splitlines()
        raise HostError("\n    | ".join([f"the broker image does not build: {error.msg}", *log[-10:]])) from error
    except (docker.errors.DockerException, requests.RequestException) as error:
        raise HostError(f"the broker image does not build: {_reason(error)}") from error
    _forget_former_trees(client, name)
    return ImageReference(name, image.id)


def _forget_former_trees(client: docker.DockerClient, present: str) -> None:
    images = sorted(client.images.list(REPOSITORY), key=lambda image: str(image.attrs["Created"]), reverse=True)
    # An image lists all of its names, those that others gave it too.
    names = [name for image in images for name in image.tags if name.startswith(f"{REPOSITORY}:")]
    former = [name for name in names if name not in (present, LATEST)]
    for name in former[_IMAGES_KEPT:]:
        # One that containers use is refused, and stays.
        with suppress(docker.errors.APIError):
            client.images.remove(name)


def _base_image(client: docker.DockerClient, say: Say) -> str:
    if chosen := os.environ.get("BASE_IMAGE"):
        if _identifier(client, chosen) is None:
            _pull(client, chosen, say)
        return chosen
    pinned = _pinned_base()
    for known in (pinned, BOOTSTRAPPED_BASE):
        if _identifier(client, known) is not None:
            return known
    if _registry_answers(pinned):
        _pull(client, pinned, say)
        return pinned
    say(f"no image registry answers: bootstrapping {BOOTSTRAPPED_BASE} with debootstrap (about a minute, once)")
    _bootstrap_base(client)
    return BOOTSTRAPPED_BASE


def _registry_answers(image: str) -> bool:
    impatient = docker.from_env(timeout=_REGISTRY_PATIENCE)
    try:
        impatient.images.get_registry_data(image)
    except (docker.errors.DockerException, requests.RequestException):
        return False
    finally:
        impatient.close()
    return True


def _pull(client: docker.DockerClient, image: str, say: Say) -> None:
    say(f"pulling {image}")
    try:
        client.images.pull(image)
    except (docker.errors.DockerException, requests.RequestException) as error:
        raise HostError(f"cannot pull the base image {image}: {_reason(error)}") from error


def _bootstrap_base(client: docker.DockerClient) -> None:
    _CACHE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=_CACHE) as directory:
        archive = Path(directory, "base.tar")
        _run_step("bootstrap-base.sh", archive)
        repository, _, tag = BOOTSTRAPPED_BASE.partition(":")
        api: Any = client.api
        api.import_image_from_file(str(archive), repository=repository, tag=tag, changes=["LABEL brokerlab=1"])


def _lay_out_packages(say: Say) -> None:
    """Unpacks what a broker imports into the build context, unless it is there for these very pins."""
    wanted = _packages_hash()
    stamp = _CACHE / "broker-packages.hash"
    if _PACKAGES.is_dir() and stamp.is_file() and stamp.read_text() == wanted:
        return
    say("fetching what a broker imports")
    stamp.unlink(missing_ok=True)
    _run_step("broker-packages.sh", _PACKAGES)
    stamp.write_text(wanted)


def _run_step(script: str, *arguments: Path) -> None:
    result = subprocess.run([ROOT / "setup" / script, *arguments], stderr=subprocess.PIPE, text=True, check=False)
    if result.returncode != 0:
        raise HostError(result.stderr.strip() or f"setup/{script} failed with exit code {result.returncode}")


@contextmanager
def _one_builder_at_a_time() -> Iterator[None]:
    _CACHE.mkdir(exist_ok=True)
    with (_CACHE / "image.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _image_hash() -> str:
    source = sorted((ROOT / "broker_service").rglob("*.py"))
    if not any(path.name == "broker_pb2.py" for path in source):
        raise HostError("the generated protobuf code is missing; make it with `make proto`")
    digest = hashlib.sha256(_packages_hash().encode())
    digest.update(os.environ.get("BASE_IMAGE", "").encode())
    for path in (ROOT / "Dockerfile", ROOT / ".dockerignore", *source):
        digest.update(f"{path.relative_to(ROOT)}\0{path.stat().st_size}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _packages_hash() -> str:
    digest = hashlib.sha256(platform.machine().encode())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    digest.update("\n".join(project["dependencies"]).encode())
    for name in ("constraints.txt", "setup/broker-packages.sh"):
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


def _pinned_base() -> str:
    match = re.search(r"^ARG BASE_IMAGE=(\S+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    if match is None:
        raise HostError(f"{ROOT / 'Dockerfile'} pins no base: it needs a line ARG BASE_IMAGE=...")
    return match[1]


def _identifier(client: docker.DockerClient, name: str) -> str | None:
    try:
        return client.images.get(name).id
    except docker.errors.ImageNotFound:
        return None


def _reason(error: Exception) -> str:
    said = getattr(error, "explanation", None) or error
    return str(said).strip().splitlines()[0]
