"""The places of brokerlab's own files: in a checkout, or where it is installed as a package.

An installed brokerlab has those files of the repository that are no code below `brokerlab/shipped`, under the same
paths.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

CODE = Path(__file__).resolve().parents[1]
"""The directory from which brokerlab's packages are imported."""
_SHIPPED = CODE / "brokerlab" / "shipped"
FILES = _SHIPPED if _SHIPPED.is_dir() else CODE
"""The directory under which files have the paths that they have in the repository: scenarios, campaigns and others."""
INSTALLED = FILES is _SHIPPED
"""True for an installed package, False for a checkout."""
_IMAGE_OF_THE_EMULATOR = Path("/opt/brokerlab/packages")
"""The Python packages in the container `emulator` of docker-compose.yml, which runs a checkout and has no `make`."""


def make(target: str) -> str:
    """The advice to make a target of a checkout's Makefile, where that works."""
    if INSTALLED:
        return f"make {target}, in a checkout"
    if _IMAGE_OF_THE_EMULATOR.is_dir():
        return f"make {target} on the host of this container, and brokerlab there"
    return f"make {target}"


def cache_directory() -> Path:
    """The directory for what can be made again, which need not exist."""
    if not INSTALLED:
        return CODE / ".cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "brokerlab"


@cache
def packaged_commit() -> str | None:
    """The commit from which the package was built, with `+` if files differed from it; None where it is not known."""
    try:
        return (_SHIPPED / "commit").read_text(encoding="utf-8").strip() or None
    except OSError:
        return None
