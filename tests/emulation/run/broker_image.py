"""Broker images for tests: that of the product, with modules of the tests in one more layer."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import docker

from emulation.host.docker_host import ensure_image
from emulation.host.images import ImageReference, PrintLine

ROOT = Path(__file__).resolve().parents[3]


def image_with(name: str, *paths: str) -> Callable[[docker.DockerClient, PrintLine], ImageReference]:
    """A function in place of `ensure_image`, whose image `name` has these files and folders of this tree, too."""

    def build(client: docker.DockerClient, print_line: PrintLine) -> ImageReference:
        base = ensure_image(client, print_line).name
        lines = [f"FROM {base}", *(f"COPY {path} /opt/brokerlab/{path}" for path in paths)]
        dockerfile = "\n".join([*lines, ""]).encode()
        context = io.BytesIO()
        with tarfile.open(fileobj=context, mode="w") as archive:
            for path in paths:
                archive.add(ROOT / path, path, filter=_without_caches)
            entry = tarfile.TarInfo("Dockerfile")
            entry.size = len(dockerfile)
            archive.addfile(entry, io.BytesIO(dockerfile))
        context.seek(0)
        image, _ = client.images.build(fileobj=context, custom_context=True, tag=name, rm=True)
        return ImageReference(name, image.id)

    return build


def _without_caches(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if entry.name.endswith("__pycache__") else entry
