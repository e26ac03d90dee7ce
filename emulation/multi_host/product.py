"""Packs brokerlab's own files for hosts, into an archive that is named after its content and the same wherever it is
made."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_PACKAGES = (
    "record", "broker_service", "brokerlab", "topology", "scenario", "emulation", "analysis", "studies", "command_line",
    "proto", "setup",
)  # fmt: skip
_FILES = ("pyproject.toml", "constraints.txt", "Makefile", "Dockerfile", ".dockerignore", "README.md")
_LEFT_OUT = frozenset({"__pycache__"})


@dataclass(frozen=True, slots=True)
class Product:
    """An archive (.tar.gz) of brokerlab's files."""

    version: str
    """Hash of the content: hosts with the same version run the same code."""
    content: bytes

    @property
    def name(self) -> str:
        """The name of the directory into which it is unpacked."""
        return f"product-{self.version}"


def pack(root: Path = ROOT) -> Product:
    """Packs the version that runs here."""
    packed = io.BytesIO()
    digest = hashlib.sha256()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for path in sorted(_files(root)):
            content, name = path.read_bytes(), str(path.relative_to(root))
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o755 if path.stat().st_mode & 0o100 else 0o644
            digest.update(f"{name}\0{entry.mode}\0{len(content)}\0".encode() + content)
            archive.addfile(entry, io.BytesIO(content))
    return Product(digest.hexdigest()[:16], gzip.compress(packed.getvalue(), 6, mtime=0))


def _files(root: Path) -> Iterator[Path]:
    for name in _FILES:
        if (root / name).is_file():
            yield root / name
    for package in _PACKAGES:
        for path in (root / package).rglob("*"):
            if path.is_file() and not _LEFT_OUT & set(path.parts):
                yield path
