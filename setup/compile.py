"""`make compiled` and `make pure`: the optional compiled build of the broker's core and the simulator.

mypyc translates the modules that `setup/compiled_modules.py` lists to C, and the system's compiler makes extensions of
them. They are put into `.cache/compiled/`, outside of the sources, and `setup/compiled_finder.py` has interpreters of
this tree's virtual environment import them instead of the sources, which stay the only ones that are edited.

Objects are kept, so that a change of one module compiles only what that changes.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from mypyc.build import mypycify
from setuptools import Extension

from emulation.host.build import FINDER
from setup.compiled_finder import INDEX, content_hash
from setup.compiled_index import EXTENSION, LIBRARY, index_lines
from setup.compiled_modules import compiled_modules

TREE = Path(__file__).resolve().parents[1]
CACHE = TREE / ".cache" / "compiled"
BUILD = CACHE / "build"
"""The extensions and their index."""
GENERATED = CACHE / "generated"
"""C sources and their objects."""

OPTIMISATION = os.environ.get("OPTIMISATION", "2")
"""Level of the C compiler. Level 0 takes a third of the compiler's time, which suits tests of what the build does."""

_COMPILER = (*shlex.split(str(sysconfig.get_config_var("CC"))), "-fPIC", "-DNDEBUG", "-fwrapv")
_SITE = Path(sysconfig.get_path("purelib"))


class CompilationError(Exception):
    """A source that could not be compiled; the text is the compiler's."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A C source and the command that compiles it."""

    source: Path
    command: Sequence[str]
    headers: str
    """Hash of the headers that mypyc has written."""

    @property
    def object(self) -> Path:
        return self.source.with_suffix(".o")

    def compile(self) -> None:
        """Compiles, unless the object is of the same source, headers and command. Raises `CompilationError`."""
        made_from = content_hash(repr((self.command, self.headers)).encode() + self.source.read_bytes())
        stamp = self.source.with_suffix(".made-from")
        if stamp.exists() and self.object.exists() and stamp.read_text(encoding="ascii") == made_from:
            return
        _run([*self.command, "-c", str(self.source), "-o", str(self.object)])
        stamp.write_text(made_from, encoding="ascii")


def build() -> None:
    """Builds the extensions and has the virtual environment use them. Raises `CompilationError`."""
    began = time.monotonic()
    os.chdir(TREE)  # because mypy's settings are here, and tracebacks name files as mypyc is given them
    modules = compiled_modules(TREE)
    # Of the sources before the compiler reads them, in case they are edited meanwhile.
    index = "".join(index_lines(TREE, modules))
    extensions = mypycify(
        modules, target_dir=str(GENERATED), multi_file=True, group_name=LIBRARY, opt_level=OPTIMISATION, debug_level="0"
    )
    made = CACHE / "made"
    shutil.rmtree(made, ignore_errors=True)
    _compile(extensions, made)
    (made / INDEX).write_text(index, encoding="utf-8")
    shutil.rmtree(BUILD, ignore_errors=True)
    made.rename(BUILD)
    activate()
    print(f"set-up: compiled {len(modules)} modules in {time.monotonic() - began:.0f} s")


def _compile(extensions: Sequence[Extension], directory: Path) -> None:
    """Compiles and links extensions, as many at a time as there are processors. Raises `CompilationError`."""
    headers = content_hash(b"".join(path.read_bytes() for path in sorted(GENERATED.rglob("*.h"))))
    units = {source: _unit(extension, source, headers) for extension in extensions for source in extension.sources}
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        list(pool.map(Unit.compile, units.values()))
        list(pool.map(_run, [_link_command(extension, units, directory) for extension in extensions]))


def _link_command(extension: Extension, units: Mapping[str, Unit], directory: Path) -> Sequence[str]:
    """The command that links an extension into the directory, in the folder of its package, which is made."""
    target = directory / (extension.name.replace(".", "/") + EXTENSION)
    target.parent.mkdir(parents=True, exist_ok=True)
    objects = (str(units[source].object) for source in extension.sources)
    return [*_COMPILER, "-shared", "-o", str(target), *objects]


def _unit(extension: Extension, source: str, headers: str) -> Unit:
    include = [f"-I{path}" for path in (*extension.include_dirs, sysconfig.get_path("include"))]
    return Unit(Path(source), (*_COMPILER, *extension.extra_compile_args, *include), headers)


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CompilationError(f"{shlex.join(command)}\n{done.stderr}")


def activate() -> None:
    """Has interpreters of this virtual environment import the build."""
    shutil.copyfile(TREE / "setup" / "compiled_finder.py", _SITE / f"{FINDER}.py")
    line = f"import {FINDER}; {FINDER}.activate({str(TREE)!r}, {str(BUILD)!r})\n"
    (_SITE / f"{FINDER}.pth").write_text(line, encoding="utf-8")


def remove() -> None:
    """Has interpreters of this virtual environment import the sources again."""
    for suffix in (".pth", ".py"):
        (_SITE / f"{FINDER}{suffix}").unlink(missing_ok=True)
    shutil.rmtree(BUILD, ignore_errors=True)


COMMANDS = {"build": build, "remove": remove}


def main() -> int:
    try:
        COMMANDS[sys.argv[1]]()
    except CompilationError as error:
        print(f"set-up: {error}", file=sys.stderr)
        return 4
    return 0


if __name__ == "__main__":
    sys.exit(main())
