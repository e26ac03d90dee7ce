"""An environment with the built package and its declared dependencies, and with nothing else.

An installation from an index takes a minute of processor time and a network. So the dependencies come from this
environment, as links to the files of exactly those distributions that the package's metadata leads to: one that it
does not declare is missing here as it would be elsewhere.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def make_environment(directory: Path, wheel: Path) -> Path:
    """Makes the environment, and returns its directory of programs. Raises where a requirement is not met."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", directory], check=True)
    python = directory / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check", "--quiet"]
    subprocess.run([*pip, "install", "--no-index", "--no-deps", "--no-compile", str(wheel)], check=True)
    (packages,) = (directory / "lib").glob("python*/site-packages")
    (metadata,) = packages.glob("brokerlab-*.dist-info")
    for needed in _needed(Distribution.at(metadata)):
        _link(needed, packages)
    return python.parent


def _needed(package: Distribution) -> Iterator[Distribution]:
    """The distributions that a package needs, directly or not, each once."""
    waiting = list(_chosen(package, ""))
    seen: set[tuple[str, str]] = set()
    found: set[str] = set()
    while waiting:
        requirement = waiting.pop()
        needed = distribution(requirement.name)
        assert requirement.specifier.contains(needed.version), f"{requirement} is not met by {needed.version}"
        name = canonicalize_name(requirement.name)
        if name not in found:
            found.add(name)
            yield needed
        for extra in {"", *requirement.extras} - {extra for known, extra in seen if known == name}:
            seen.add((name, extra))
            waiting += _chosen(needed, extra)


def _chosen(package: Distribution, extra: str) -> Iterator[Requirement]:
    """The requirements of a package with an extra."""
    for requirement in map(Requirement, package.requires or ()):
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            yield requirement


def _link(package: Distribution, packages: Path) -> None:
    """Links the package's files, one by one, because directories such as `google` have several owners."""
    for file in package.files or ():
        if ".." not in file.parts:
            target = packages / file
            target.parent.mkdir(parents=True, exist_ok=True)
            if not target.exists():
                target.symlink_to(Path(str(file.locate())))
