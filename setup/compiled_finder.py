"""Import of compiled modules instead of their sources, as long as they were made from these very sources.

`setup/compile.py` copies this module into the virtual environment as `brokerlab_compiled`, beside a path file that
calls `activate` whenever an interpreter starts. Rules:

1. The build is used as a whole or not at all, because compiled modules rely on one another's layout in memory.
2. A build is stale when any source that it was made from, or that it imports, has other content or is missing. A source
   whose size and time of modification are those of the build is not read; any other one is hashed.
3. The check runs once in a process, before its first import of a compiled module. A stale build is not used.
4. A tree elsewhere, such as another revision in front of the module search path, runs its own sources.
5. `BROKERLAB_BUILD=pure` in the environment leaves the build out.

It runs in every process of the environment, and imports nothing that the interpreter has not loaded already.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.machinery import ExtensionFileLoader, ModuleSpec
from importlib.util import spec_from_file_location
from types import ModuleType

VARIABLE = "BROKERLAB_BUILD"
PURE = "pure"

INDEX = "index"
"""File in a build's folder: lines of *source, nanoseconds of its modification, size, hash of its content, extension*,
separated by tabs. Sources are relative to the tree. The extension is empty for a source that is only imported."""

SHARED = ":shared"
"""Source in the index of the library that holds the code of all compiled modules, which has no source of its own."""


def content_hash(content: bytes) -> str:
    """Hash of a source as the index states it."""
    from hashlib import blake2b  # noqa: PLC0415 (most processes need none)

    return blake2b(content, digest_size=16).hexdigest()


class CompiledFinder:
    """Finder on `sys.meta_path` for the modules of one build."""

    def __init__(self, tree: str, build: str) -> None:
        """`tree` holds the packages, `build` is the build's folder; both are absolute paths."""
        self._tree = tree
        self._build = build
        self._extensions: dict[str, str] | None = None
        """By module, once the build was checked; empty when it is stale."""

    @property
    def extensions(self) -> dict[str, str]:
        """Paths of the extensions by module."""
        if self._extensions is None:
            self._extensions = self._checked()
        return self._extensions

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Specification of a compiled module, None for any other one."""
        if path is None:
            if not name.endswith("__mypyc"):
                return None
        elif not self._in_tree(name, path):
            return None
        extension = self.extensions.get(name)
        if extension is None:
            return None
        return spec_from_file_location(name, extension, loader=ExtensionFileLoader(name, extension))

    def _in_tree(self, name: str, path: Sequence[str]) -> bool:
        """True when the parent package of a module is that of the tree."""
        parent = f"{self._tree}/{name.rpartition('.')[0].replace('.', '/')}"
        return any(entry == parent for entry in path)

    def _checked(self) -> dict[str, str]:
        extensions: dict[str, str] = {}
        try:
            with open(f"{self._build}/{INDEX}", encoding="utf-8") as index:  # noqa: PTH123
                for line in index:
                    source, modified, size, content, extension = line.rstrip("\n").split("\t")
                    if source != SHARED and not self._unchanged(source, int(modified), int(size), content):
                        return {}
                    if extension:
                        module = extension.partition(".")[0].replace("/", ".")
                        extensions[module] = f"{self._build}/{extension}"
        except FileNotFoundError:
            return {}
        return extensions

    def _unchanged(self, source: str, modified: int, size: int, content: str) -> bool:
        path = f"{self._tree}/{source}"
        status = os.stat(path)  # noqa: PTH116 (pathlib takes ten times as long)
        if status.st_size != size:
            return False
        if status.st_mtime_ns == modified:
            return True
        with open(path, "rb") as file:  # noqa: PTH123
            return content_hash(file.read()) == content


def active() -> bool:
    """True when this process has a finder, be its build stale or not."""
    return any(isinstance(finder, CompiledFinder) for finder in sys.meta_path)


def activate(tree: str, build: str) -> None:
    """Puts the finder of a build in front of the others, unless the environment leaves it out.

    An interpreter may read a path file more than once; only the first call has an effect.
    """
    if not active() and os.environ.get(VARIABLE) != PURE:
        sys.meta_path.insert(0, CompiledFinder(tree, build))
