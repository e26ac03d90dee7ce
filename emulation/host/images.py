"""Builds the images of brokerlab from a base and Python packages, also without an image registry.

The base is, in this order: `BASE_IMAGE` from the environment; the pinned Python image of the Dockerfile, if it is
present or a registry answers at once; else a Debian root bootstrapped from the mirror that this host's apt uses, which
is kept. The host's pip unpacks Python packages, once for each set of pins.
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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import docker
import docker.errors
import requests

from record.errors import HostError
from record.installation import FILES, cache_directory

BOOTSTRAPPED_BASE = "brokerlab-base:bookworm"

ROOT = FILES
CACHE = cache_directory()
_REGISTRY_PATIENCE = 8
"""Seconds in which a registry must answer; otherwise the base is bootstrapped."""

PrintLine = Callable[[str], None]
"""Shows the user a line about a step that takes time, or about a choice."""


@dataclass(frozen=True, slots=True)
class ImageReference:
    """An image by name and, once it exists, by the daemon's own identifier."""

    name: str
    identifier: str | None = None


@dataclass(frozen=True, slots=True)
class Packages:
    """Python packages for an image, as `pyproject.toml` names them."""

    directory: Path
    """The directory into which they are unpacked."""
    image: Literal["broker", "emulator"]

    def fingerprint(self) -> str:
        """A hash that is equal for the same packages at the same versions."""
        digest = hashlib.sha256(platform.machine().encode())
        digest.update("\n".join(self._names()).encode())
        for name in ("constraints.txt", "setup/image-packages.sh"):
            digest.update((ROOT / name).read_bytes())
        return digest.hexdigest()

    def lay_out(self, print_line: PrintLine) -> None:
        """Unpacks them, unless these versions are unpacked already."""
        wanted = self.fingerprint()
        stamp = self.directory.with_name(f"{self.directory.name}.hash")
        if self.directory.is_dir() and stamp.is_file() and stamp.read_text() == wanted:
            return
        print_line("fetching the Python packages of the image")
        stamp.unlink(missing_ok=True)
        _run_step("image-packages.sh", self.directory, self.image, *self._names())
        stamp.write_text(wanted)

    def _names(self) -> list[str]:
        """The packages; those that they need in turn come with them."""
        settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
        named: list[str] = settings["tool"]["brokerlab"]["images"][self.image]
        if self.image == "broker":
            return named
        extras = settings["project"]["optional-dependencies"]
        return [*settings["project"]["dependencies"], *(name for extra in named for name in extras[extra])]


@dataclass(frozen=True, slots=True)
class ImageRecipe:
    """The sources of an image."""

    context: Path
    """The directory that is available to the build."""
    dockerfile: Path
    network: str = "none"
    """Docker's name of the network that is available to the commands of the build."""
    arguments: tuple[tuple[str, str], ...] = ()

    def build(self, client: docker.DockerClient, name: str, base: str) -> ImageReference:
        """Builds the image. Raises `HostError` with the last lines of the build's log."""
        try:
            image, _ = client.images.build(
                path=str(self.context),
                dockerfile=str(self.dockerfile),
                tag=name,
                buildargs={"BASE_IMAGE": base} | dict(self.arguments),
                network_mode=self.network,
                rm=True,
                forcerm=True,
            )
        except docker.errors.BuildError as error:
            log = "".join(str(line.get("stream", "")) for line in error.build_log).strip().splitlines()
            raise HostError("\n    | ".join([f"{name} does not build: {error.msg}", *log[-10:]])) from error
        except (docker.errors.DockerException, requests.RequestException) as error:
            raise HostError(f"{name} does not build: {reason(error)}") from error
        return ImageReference(name, image.id)


@dataclass(frozen=True, slots=True)
class DerivedImage:
    """An image made of the broker image and parts of this host, built when a run first needs it."""

    repository: str
    digest: str
    """The digest of all that is in it."""
    shown: Sequence[str]
    """The names of its parts, for people."""
    dockerfile: str
    lay_out: Callable[[Path], None]
    """Lays its parts into the folder in which it is built."""
    kept: int
    """Number of other images of the repository that stay."""

    def ensure_built(self, client: docker.DockerClient, base: str, print_line: PrintLine) -> str:
        """Builds the image on the broker image `base` if it is missing, announced by `print_line`, and returns its
        name.

        Raises `HostError` with the reason if it cannot be made.
        """
        name = f"{self.repository}:{self.digest}"
        with one_builder_at_a_time(self.repository):
            if find(client, name) is None:
                print_line(f"building the image {name}: the broker image with {', '.join(self.shown)}")
                with tempfile.TemporaryDirectory(dir=CACHE) as folder:
                    context = Path(folder)
                    self.lay_out(context)
                    (context / "Dockerfile").write_text(self.dockerfile)
                    ImageRecipe(context, context / "Dockerfile").build(client, name, base)
                remove_former(client, name, self.kept)
        return name


def unpack_packages(directory: Path, names: Sequence[str]) -> None:
    """Unpacks packages for the Python of the broker image, with what they need in turn. Raises `HostError`."""
    _run_step("image-packages.sh", directory, "broker", *names)


def find(client: docker.DockerClient, name: str) -> ImageReference | None:
    """The image of this name; None if the daemon does not have it."""
    try:
        return ImageReference(name, client.images.get(name).id)
    except docker.errors.ImageNotFound:
        return None


def require_built_on(client: docker.DockerClient, name: str, base: str) -> None:
    """Raises `HostError` for an image that is not there, or that does not begin with the layers of `base`."""
    remedy = f"build it again, `FROM {base.partition(':')[0]}`"
    try:
        layers, expected = (client.images.get(each).attrs["RootFS"]["Layers"] for each in (name, base))
    except docker.errors.ImageNotFound:
        raise HostError(f"brokers.image: there is no image {name} on this host; {remedy}") from None
    except (docker.errors.DockerException, requests.RequestException) as error:
        raise HostError(f"brokers.image: {name} cannot be looked at: {reason(error)}") from error
    if layers[: len(expected)] != expected:
        raise HostError(f"brokers.image: {name} is not built on the broker image of this tree; {remedy}")


def remove_former(client: docker.DockerClient, present: str, kept: int) -> None:
    """Removes all images of the same repository but `present`, `latest` and the youngest `kept` others."""
    repository = present.partition(":")[0]
    images = sorted(client.images.list(repository), key=lambda image: str(image.attrs["Created"]), reverse=True)
    # An image lists all of its names, also those that other users gave it.
    names = [name for image in images for name in image.tags if name.startswith(f"{repository}:")]
    former = [name for name in names if name not in (present, f"{repository}:latest")]
    for name in former[kept:]:
        # Docker refuses to remove an image that containers use, and it stays.
        with suppress(docker.errors.APIError):
            client.images.remove(name)


@contextmanager
def one_builder_at_a_time(repository: str) -> Iterator[None]:
    """Lets one process at a time build a repository's images. A second one waits, and then finds the built image."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / f"{repository}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def base_image(client: docker.DockerClient, print_line: PrintLine) -> str:
    """The name of the base, which is present on return. Raises `HostError` if none can be obtained."""
    with one_builder_at_a_time(BOOTSTRAPPED_BASE.partition(":")[0]):
        if chosen := os.environ.get("BASE_IMAGE"):
            if find(client, chosen) is None:
                _pull(client, chosen, print_line)
            return chosen
        return _standard_base(client, print_line)


def pinned_base() -> str:
    """The base that the Dockerfile names."""
    match = re.search(r"^ARG BASE_IMAGE=(\S+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    if match is None:
        raise HostError(f"{ROOT / 'Dockerfile'} pins no base: it needs a line ARG BASE_IMAGE=...")
    return match[1]


def reason(error: Exception) -> str:
    """Docker's error in one line."""
    explanation = getattr(error, "explanation", None) or error
    return str(explanation).strip().splitlines()[0]


def _standard_base(client: docker.DockerClient, print_line: PrintLine) -> str:
    pinned = pinned_base()
    for known in (pinned, BOOTSTRAPPED_BASE):
        if find(client, known) is not None:
            return known
    if _registry_answers(pinned):
        _pull(client, pinned, print_line)
        return pinned
    print_line(f"no image registry answers: bootstrapping {BOOTSTRAPPED_BASE} with debootstrap (about a minute, once)")
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


def _pull(client: docker.DockerClient, image: str, print_line: PrintLine) -> None:
    print_line(f"pulling {image}")
    try:
        client.images.pull(image)
    except (docker.errors.DockerException, requests.RequestException) as error:
        raise HostError(f"cannot pull the base image {image}: {reason(error)}") from error


def _bootstrap_base(client: docker.DockerClient) -> None:
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as directory:
        archive = Path(directory, "base.tar")
        _run_step("bootstrap-base.sh", archive)
        repository, _, tag = BOOTSTRAPPED_BASE.partition(":")
        api: Any = client.api
        api.import_image_from_file(str(archive), repository=repository, tag=tag, changes=["LABEL brokerlab=1"])


def _run_step(script: str, *arguments: Path | str) -> None:
    result = subprocess.run([ROOT / "setup" / script, *arguments], stderr=subprocess.PIPE, text=True, check=False)
    if result.returncode != 0:
        raise HostError(result.stderr.strip() or f"setup/{script} failed with exit code {result.returncode}")
