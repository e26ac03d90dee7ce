"""Protocols from outside of the product, by the reference that a scenario gives.

A reference is the path of a Python file or package that declares `PROTOCOL`, `module:Name` of a module on Python's
path, or the name of an entry point `brokerlab.protocols` of an installed package. Loading runs the author's code, whose
errors become one sentence with the line that raised it.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from broker_service.routing.declaration import Protocol
from broker_service.routing.failures import FAILURES
from broker_service.routing.options import ProtocolOptions
from broker_service.routing.program.references import PREFIX, argv_of, file_name, named_program

ENTRY_POINTS = "brokerlab.protocols"
"""Group of the entry points of installed packages."""
_DECLARED = "PROTOCOL"
_REMEDY = f"write `{_DECLARED} = Protocol(MyRouter, MyOptions)` at its top level"


class ProtocolError(ValueError):
    """A reference to a protocol that cannot be loaded. The text names what is wrong, and the remedy."""


def is_path(reference: str) -> bool:
    """True for the path of a file or package."""
    return not reference.startswith(PREFIX) and ("/" in reference or reference.endswith(".py"))


def reference_from(text: str, directory: Path) -> str:
    """The reference that a text in a file or on a command line means: a name, `program:COMMAND`, or the path of a file,
    a package or a program from `directory` on.

    Raises `ValueError` for a command that cannot be split.
    """
    path = os.path.normpath(directory.absolute() / text) if is_path(text) else text
    return named_program(text, directory) or path


def label(reference: str) -> str:
    """A protocol's name for people and for neighbours: that of its file, package or module.

    Neighbours tell it each other at the begin of a stream, whose bytes must not depend on where a file is.
    """
    if reference.startswith(PREFIX):
        return Path(file_name(argv_of(reference))).stem
    if is_path(reference):
        return Path(reference).stem
    return reference.partition(":")[0].rpartition(".")[2] if ":" in reference else reference


def resolved(reference: str) -> str | None:
    """The path or `module:Name` that a reference means; None for a name that no installed package has, or a program."""
    if reference.startswith(PREFIX):
        return None
    if is_path(reference) or ":" in reference:
        return reference
    from importlib.metadata import entry_points  # noqa: PLC0415 - takes a tenth of a broker's start

    return next((point.value for point in entry_points(group=ENTRY_POINTS, name=reference)), None)


def load(reference: str) -> Protocol:
    """The protocol at a path or `module:Name`. Raises `ProtocolError`."""
    if is_path(reference):
        return _declared(_loaded(Path(reference)), _DECLARED, reference)
    module, _, name = reference.partition(":")
    try:
        return _declared(importlib.import_module(module), name or _DECLARED, reference)
    except ProtocolError:
        raise
    except FAILURES as error:
        raise ProtocolError(f"{reference}: {in_words(error, module.partition('.')[0])}") from error


def source_of(reference: str) -> Path:
    """The file or package directory that holds the code of a path or `module:Name`. Raises `ProtocolError`."""
    if is_path(reference):
        return Path(reference)
    spec = importlib.util.find_spec(reference.partition(":")[0].partition(".")[0])
    if spec is None or spec.origin is None:
        raise ProtocolError(f"{reference}: its module is no file, so that brokers cannot be given it")
    origin = Path(spec.origin)
    return origin.parent if spec.submodule_search_locations is not None else origin


def files_of(source: Path) -> Iterator[tuple[Path, str]]:
    """The files of a protocol's code, which is one file or a directory, and their names within it, in order."""
    if not source.is_dir():
        yield source, source.name
        return
    for path in sorted(source.rglob("*")):
        inner = path.relative_to(source)
        if path.is_file() and not any(part == "__pycache__" or part.startswith(".") for part in inner.parts):
            yield path, inner.as_posix()


def digest_of(place: str) -> str:
    """Digest of the code at a path or `module:Name`, equal for equal code wherever it is."""
    digest = hashlib.sha256()
    for path, name in files_of(source_of(place)):
        content = path.read_bytes()
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:16]


def in_words(error: BaseException, module: str) -> str:
    """An error of an author's code: its kind, its text, and the innermost line of the module or package."""
    what = " ".join(f"{type(error).__name__}: {error}".split())
    place = f"{error.filename}:{error.lineno}" if isinstance(error, SyntaxError) else place_in(error, module)
    return f"{what} ({place})" if place else what


def place_in(error: BaseException, module: str) -> str:
    """The innermost frame of an error in a module or package: file, line and function; empty without one."""
    places = [
        f"{frame.f_code.co_filename}:{line}, in {frame.f_code.co_name}"
        for frame, line in traceback.walk_tb(error.__traceback__)
        if f"{frame.f_globals.get('__name__', '')}.".startswith(f"{module}.")
    ]
    return places[-1] if places else ""


def _loaded(path: Path) -> ModuleType:
    """The module of a file or package. Its name is of its own, so that a file may be called as a module of Python's."""
    file = path / "__init__.py" if path.is_dir() else path
    if not file.is_file():
        raise ProtocolError(f"there is no file {file}; name a Python file, or a package with its `__init__.py`")
    digest = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:8]
    name = f"brokerlab_protocol_{path.stem}_{digest}"
    if (present := sys.modules.get(name)) is not None:
        return present
    folders = [str(path)] if path.is_dir() else None
    spec = importlib.util.spec_from_file_location(name, file, submodule_search_locations=folders)
    if spec is None or spec.loader is None:
        raise ProtocolError(f"{file} is no Python file; its name must end in .py")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except FAILURES as error:
        del sys.modules[name]
        raise ProtocolError(f"{path} cannot be loaded: {in_words(error, name)}") from error
    return module


def _declared(module: ModuleType, name: str, reference: str) -> Protocol:
    declared = getattr(module, name, None)
    if declared is None:
        raise ProtocolError(f"{reference} declares no {name}; {_REMEDY}")
    if not isinstance(declared, Protocol):
        raise ProtocolError(f"{reference}: {name} is of the type {type(declared).__name__}, no `Protocol`; {_REMEDY}")
    if not callable(declared.router):
        raise ProtocolError(f"{reference}: the router of {name} is no class; {_REMEDY}")
    if not (isinstance(declared.options, type) and issubclass(declared.options, ProtocolOptions)):
        raise ProtocolError(f"{reference}: the options of {name} are no subclass of `ProtocolOptions`; {_REMEDY}")
    return declared
