"""The digest of the program that brokers and drivers are made of, by which a process is told from one of other sources.

The sources are in a checkout and in the broker image alike, under the same names. A process that imports anything else
than its sources is not found.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

_TREE = Path(__file__).parents[1]
_PACKAGES = ("broker_service", "brokerlab", "record")
_DIGITS = 16


@cache
def program_digest() -> str:
    """The digest of this process's program, computed once: about 10 ms. Raises `OSError` for an unreadable source."""
    return digest_of_sources(_TREE)


def digest_of_sources(tree: Path) -> str:
    """The digest of the names and contents of all sources of brokers below a directory. Raises `OSError`."""
    digest = hashlib.sha256()
    sources = [path for package in _PACKAGES for path in (tree / package).rglob("*.py")]
    for name, path in sorted((path.relative_to(tree).as_posix(), path) for path in sources):
        content = path.read_bytes()
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:_DIGITS]
