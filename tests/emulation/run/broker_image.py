"""Images for tests: that of the product's brokers, with files of the tests in one more layer.

An image is named after the tree's broker image, because tests of another tree on this host build another one.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import docker

from emulation.host import images
from emulation.host.docker_host import docker_client, ensure_image
from emulation.host.images import ImageReference, PrintLine

ROOT = Path(__file__).resolve().parents[3]
_KEPT = 5
"""Number of images of other trees that stay."""


def image_with(kind: str, *paths: str) -> Callable[[docker.DockerClient, PrintLine], ImageReference]:
    """A function in place of `ensure_image`, whose image has these files and folders of this tree, too."""

    def build(client: docker.DockerClient, print_line: PrintLine) -> ImageReference:
        lines = [f"COPY {path} /opt/brokerlab/{path}" for path in paths]
        return _built(client, print_line, kind, lines, {path: ROOT / path for path in paths})

    return build


def image_of(kind: str, lines: Sequence[str], files: Mapping[str, Path]) -> str:
    """The name of an image made by these lines of a Dockerfile; `files` are there by their names."""
    client = docker_client()
    try:
        return _built(client, print, kind, lines, files).name
    finally:
        client.close()


def _built(
    client: docker.DockerClient, print_line: PrintLine, kind: str, lines: Sequence[str], files: Mapping[str, Path]
) -> ImageReference:
    base = ensure_image(client, print_line).name
    repository = f"brokerlab-test-{kind}"
    name = f"{repository}:{base.rpartition(':')[2]}"
    dockerfile = "\n".join([f"FROM {base}", *lines, ""]).encode()
    context = io.BytesIO()
    with tarfile.open(fileobj=context, mode="w") as archive:
        for path, file in files.items():
            archive.add(file, path, filter=_for_everybody)
        entry = tarfile.TarInfo("Dockerfile")
        entry.size = len(dockerfile)
        archive.addfile(entry, io.BytesIO(dockerfile))
    context.seek(0)
    with images.one_builder_at_a_time(repository):
        image, _ = client.images.build(fileobj=context, custom_context=True, tag=name, rm=True, forcerm=True)
        images.remove_former(client, name, _KEPT)
    return ImageReference(name, image.id)


def _for_everybody(entry: tarfile.TarInfo) -> tarfile.TarInfo | None:
    """The entry of a file that any user may read; None leaves caches out."""
    entry.mode |= 0o555 if entry.isdir() else 0o444
    return None if entry.name.endswith("__pycache__") else entry
