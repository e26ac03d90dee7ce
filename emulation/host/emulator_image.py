"""The image of the emulator and of Spark in docker-compose.yml: everything that set-up installs on a host.

The hash in its name covers the Dockerfile and the pinned packages, so that it is built again when either changes.
brokerlab's own source is not in it.
"""

from __future__ import annotations

import hashlib
import os
import subprocess

from emulation.host import images
from emulation.host.docker_host import docker_client
from emulation.host.images import ImageRecipe, ImageReference, Packages

REPOSITORY = "brokerlab-emulator"
_DOCKERFILE = images.ROOT / "setup" / "emulator" / "Dockerfile"
_CONTEXT = images.CACHE / "emulator"
_PACKAGES = Packages(_CONTEXT / "packages", "emulator")
_IMAGES_KEPT = 1
_SPARK_DIRECTORIES = ("events", "scratch")
"""Directories of docker-compose's cluster below `.cache/spark`; they belong to the user who makes them."""


def ensure_emulator_image(print_line: images.PrintLine) -> ImageReference:
    """The image for this tree's pins, which takes minutes the first time. Raises `HostError` if it cannot be made."""
    client = docker_client()
    for directory in _SPARK_DIRECTORIES:
        (images.CACHE / "spark" / directory).mkdir(parents=True, exist_ok=True)
    name = f"{REPOSITORY}:{_fingerprint()}"
    with images.one_builder_at_a_time(REPOSITORY):
        if (present := images.find(client, name)) is None:
            base = images.base_image(client, print_line)
            _CONTEXT.mkdir(parents=True, exist_ok=True)
            _PACKAGES.lay_out(print_line)
            print_line(f"building the emulator image {name} on {base} (Java, Mininet and Python packages: minutes)")
            present = ImageRecipe(_CONTEXT, _DOCKERFILE, "host", _proxies()).build(client, name, base)
            images.remove_former(client, name, _IMAGES_KEPT)
    client.images.get(name).tag(REPOSITORY, "latest")
    return present


def _fingerprint() -> str:
    digest = hashlib.sha256(_PACKAGES.fingerprint().encode())
    digest.update(os.environ.get("BASE_IMAGE", "").encode())
    digest.update(_DOCKERFILE.read_bytes())
    return digest.hexdigest()[:16]


def _proxies() -> tuple[tuple[str, str], ...]:
    """The proxies of this host, which the build's apt uses. Docker keeps arguments of these names out of the image."""
    found = {name: os.environ[name] for name in ("http_proxy", "https_proxy") if os.environ.get(name)}
    try:
        command = ["apt-config", "dump", "--format", "%v", "Acquire::http::Proxy"]
        apt = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        apt = ""
    if apt and apt != "DIRECT":
        found["http_proxy"] = apt
    return tuple(found.items())
