"""Images for brokers that are deployed systems behind adapters: the broker image, the adapters, and the system.

Each is built when a run first needs it, so that no other run carries what is in it, and is named after its content:
`brokerlab-system:<hash>`. The system's server is this host's own, with those of its libraries that the broker image
lacks, so that containers run what the process runtime runs.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from functools import partial
from pathlib import Path

import docker

from emulation.host import images
from emulation.host.images import DerivedImage, PrintLine
from emulation.host.system_parts import SystemParts
from record.errors import HostError

REPOSITORY = "brokerlab-system"
_IMAGES_KEPT = 9
"""Number of images that stay: those of three systems for this tree and some others."""
_SOURCE = ("emulation/__init__.py", "emulation/adapters")
_BASE_LIBRARIES = ("ld-linux", "libc.so", "libm.so")
"""Beginnings of the names of libraries that are one with the image's own C library."""
_NEVER_LOADED = shutil.ignore_patterns("legal", "man", "jmods", "include", "demo", "ct.sym", "src.zip", "*.diz")
"""Parts of Java that only those need who write programs in it."""
_DOCKERFILE = """\
ARG BASE_IMAGE
FROM ${BASE_IMAGE}
LABEL brokerlab="1"
USER root
COPY packages /opt/brokerlab/system
COPY emulation /opt/brokerlab/emulation
COPY programs /usr/local/sbin
COPY libraries /opt/brokerlab/libraries
COPY trees /
RUN cd /opt/brokerlab/libraries && \\
    for each in *; do [ ! -e "$each" ] || ldconfig -p | grep -qF "$each" || mv "$each" /usr/local/lib/; done && \\
    cd / && rm -r /opt/brokerlab/libraries && ldconfig && \\
    for each in /usr/local/sbin/*; do [ ! -e "$each" ] || ! ldd "$each" | grep "not found"; done
ENV PYTHONPATH=/opt/brokerlab:/opt/brokerlab/packages:/opt/brokerlab/system
RUN ["python3", "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", "/opt/brokerlab/system", \
     "/opt/brokerlab/emulation"]
USER 10001:10001
"""


def system_image(client: docker.DockerClient, base: str, parts: SystemParts, print_line: PrintLine) -> str:
    """The name of the image of a system, built on the broker image `base` if it is missing.

    `print_line` gets a line before the build. Raises `HostError` with the reason if it cannot be made.
    """
    image = DerivedImage(
        repository=REPOSITORY,
        digest=_digest(client, base, parts),
        shown=_shown(parts),
        dockerfile=_DOCKERFILE,
        lay_out=partial(_lay_out, parts),
        kept=_IMAGES_KEPT,
    )
    return image.ensure_built(client, base, print_line)


def _lay_out(parts: SystemParts, context: Path) -> None:
    images.unpack_packages(context / "packages", parts.packages)
    for place in _SOURCE:
        target = context / place
        target.parent.mkdir(parents=True, exist_ok=True)
        source = images.ROOT / place
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copyfile(source, target)
    for folder in ("programs", "libraries", "trees"):
        (context / folder).mkdir()
    for program in parts.programs:
        shutil.copy(program, context / "programs")
    for tree in parts.trees:
        target = context / "trees" / tree.relative_to("/")
        shutil.copytree(tree, target, ignore=_unneeded)
    for file in (*parts.programs, *parts.loaded):
        for library in _libraries(file):
            if not any(library.resolve().is_relative_to(tree) for tree in parts.trees):
                shutil.copy(library.resolve(), context / "libraries" / library.name)


def _unneeded(directory: str, names: list[str]) -> set[str]:
    """Parts of a directory that an image goes without, and links that lead nowhere."""
    return set(_NEVER_LOADED(directory, names)) | {name for name in names if not Path(directory, name).exists()}


def _libraries(program: Path) -> list[Path]:
    """The shared libraries of a program on this host, but for those of the C library."""
    listed = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        raise HostError(f"the libraries of {program} cannot be listed: {listed.stderr.strip()}")
    rows = [row.split() for row in listed.stdout.splitlines() if "=> /" in row]
    return [Path(row[2]) for row in rows if not row[0].startswith(_BASE_LIBRARIES)]


def _shown(parts: SystemParts) -> list[str]:
    return [*parts.packages, *(part.name for part in (*parts.programs, *parts.trees))]


def _digest(client: docker.DockerClient, base: str, parts: SystemParts) -> str:
    digest = hashlib.sha256(_DOCKERFILE.encode())
    digest.update(str(client.images.get(base).id).encode())
    digest.update("\0".join(_shown(parts)).encode())
    sources = [
        images.ROOT / "constraints.txt",
        images.ROOT / "setup" / "image-packages.sh",
        Path(__file__),
        *parts.programs,
    ]
    sources += sorted(file for place in _SOURCE for file in _files(images.ROOT / place))
    for tree in parts.trees:
        for file in sorted(tree.rglob("*")):
            digest.update(f"{file}\0{file.stat().st_size if file.is_file() else 0}\0".encode())
    for file in sources:
        content = file.read_bytes()
        digest.update(f"{file.name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:16]


def _files(place: Path) -> list[Path]:
    return list(place.glob("*.py")) if place.is_dir() else [place]
