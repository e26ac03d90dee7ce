"""Requirements of protocols from outside: the packages that an author's code imports.

A file names them as every Python script does, in a block of comments; a package in its `__init__.py`:

    # /// script
    # dependencies = ["sortedcontainers>=2.4", "./wheels/mine-1.0-py3-none-any.whl"]
    # ///

The block can be read without running the code, which does not run where a package is missing. A path is relative to the
file. brokerlab itself, which every protocol imports, need not be named.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from broker_service.routing.outside import ProtocolError, source_of

_BLOCK = re.compile(r"(?m)^# /// script$\s(?P<content>(^#(| .*)$\s)+)^# ///$")
_NAME = re.compile(r"\s*(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)\s*(?P<extras>\[[^\]]*\])?")
_OWN = "brokerlab"


@dataclass(frozen=True, slots=True)
class Requirement:
    """A package that a protocol's code imports."""

    text: str
    """The requirement as the author wrote it."""
    name: str
    extras: str = ""
    """Parts of the package that are asked for, as `[one,other]`."""
    file: Path | None = None
    """The wheel of a requirement that is a path."""

    @property
    def version(self) -> str | None:
        """The version that is installed here; None where it is missing."""
        from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - no broker asks

        try:
            return version(self.name)
        except PackageNotFoundError:
            return None


def requirements_at(place: str) -> tuple[Requirement, ...]:
    """The requirements of the code at a path or `module:Name`. Raises `ProtocolError` for a block that is wrong."""
    source = source_of(place)
    file = source / "__init__.py" if source.is_dir() else source
    if not file.is_file():
        return ()  # loading it says what is wrong; reading a device or a pipe might never end
    try:
        block = _BLOCK.search(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return ()
    if block is None:
        return ()
    named = _named(file, block["content"])
    made = (_requirement(file, text) for text in named)
    return tuple(requirement for requirement in made if requirement.name != _OWN)


def require_installed(place: str) -> None:
    """Raises `ProtocolError` that names all requirements of the code at a place that are not installed here."""
    missing = [requirement for requirement in requirements_at(place) if requirement.version is None]
    if missing:
        wanted = " ".join(f"'{requirement.file or requirement.text}'" for requirement in missing)
        raise ProtocolError(
            f"{place} needs {', '.join(requirement.text for requirement in missing)}, which this Python does not have; "
            f"install it by `pip install {wanted}`"
        )


def _named(file: Path, content: str) -> list[str]:
    import tomllib  # noqa: PLC0415 - no broker reads a block

    lines = (line[2:] if line.startswith("# ") else line[1:] for line in content.splitlines())
    try:
        dependencies = tomllib.loads("\n".join(lines)).get("dependencies", [])
    except tomllib.TOMLDecodeError as error:
        raise ProtocolError(f"{file}: its block `# /// script` is no TOML: {error}") from None
    if not (isinstance(dependencies, list) and all(isinstance(text, str) for text in dependencies)):
        raise ProtocolError(f"{file}: `dependencies` is no list of texts in its block `# /// script`")
    return dependencies


def _requirement(file: Path, text: str) -> Requirement:
    if text.endswith(".whl"):
        wheel = (file.parent / text).absolute()
        return Requirement(text, wheel.name.partition("-")[0].replace("_", "-"), file=wheel)
    found = _NAME.match(text)
    if found is None:
        raise ProtocolError(f"{file}: {text!r} is no requirement; write it as `sortedcontainers>=2.4`")
    return Requirement(text, found["name"].lower().replace("_", "-"), found["extras"] or "")
