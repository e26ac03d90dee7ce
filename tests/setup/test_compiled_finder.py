"""The finder of the compiled build: it serves the sources that the build was made from, and no others."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from setup.compiled_finder import INDEX, PURE, VARIABLE, CompiledFinder, activate, active
from setup.compiled_index import index_lines

MODULE = "pack.module"
COMPILED = ["pack/module.py"]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A package of which one module is compiled, which imports another one."""
    package = tmp_path / "tree" / "pack"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "module.py").write_text("from pack.other import VALUE\n")
    (package / "other.py").write_text("VALUE = 1\n")
    build = tmp_path / "build"
    build.mkdir()
    (build / INDEX).write_text("".join(index_lines(package.parent, COMPILED)))
    return package.parent


def found(tree: Path, module: str = MODULE, package: Path | None = None) -> str | None:
    """The origin of a module as a new process finds it, relative to the build; None when the build has none for it."""
    build = tree.parent / "build"
    spec = CompiledFinder(str(tree), str(build)).find_spec(module, [str(package or tree / "pack")])
    return None if spec is None or spec.origin is None else Path(spec.origin).relative_to(build).as_posix()


def test_a_compiled_module_is_found_in_the_build(tree: Path) -> None:
    origin = found(tree)
    assert origin is not None
    assert origin.startswith("pack/module.")
    assert origin.endswith(".so")


def test_a_module_that_is_only_imported_is_not(tree: Path) -> None:
    assert found(tree, "pack.other") is None


@pytest.mark.parametrize("source", ["module.py", "other.py", "__init__.py"])
def test_a_changed_source_makes_the_whole_build_stale(tree: Path, source: str) -> None:
    with (tree / "pack" / source).open("a") as opened:
        opened.write("# changed\n")
    assert found(tree) is None


def test_a_change_that_keeps_the_size_is_a_change(tree: Path) -> None:
    other = tree / "pack" / "other.py"
    other.write_text(other.read_text().replace("1", "2"))
    os.utime(other, ns=(0, 0))
    assert found(tree) is None


def test_a_source_that_was_only_touched_is_the_same(tree: Path) -> None:
    for source in (tree / "pack").iterdir():
        os.utime(source, ns=(0, 0))
    assert found(tree) is not None


def test_a_source_that_is_gone_makes_the_build_stale(tree: Path) -> None:
    (tree / "pack" / "other.py").unlink()
    assert found(tree) is None


def test_a_tree_elsewhere_runs_its_own_sources(tree: Path) -> None:
    assert found(tree, package=tree.parent / "elsewhere" / "pack") is None


def test_a_build_that_was_removed_serves_nothing(tree: Path) -> None:
    (tree.parent / "build" / INDEX).unlink()
    assert found(tree) is None


def test_the_library_of_all_modules_is_found_by_its_own_name(tree: Path) -> None:
    spec = CompiledFinder(str(tree), str(tree.parent / "build")).find_spec("brokerlab__mypyc")
    assert spec is not None


def test_the_environment_leaves_the_build_out(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    others = [finder for finder in sys.meta_path if type(finder).__name__ != CompiledFinder.__name__]
    monkeypatch.setattr(sys, "meta_path", [*others])
    monkeypatch.setenv(VARIABLE, PURE)
    activate(str(tree), str(tree.parent / "build"))
    assert not active()
    monkeypatch.delenv(VARIABLE)
    activate(str(tree), str(tree.parent / "build"))
    activate(str(tree), str(tree.parent / "build"))
    assert active()
    assert len(sys.meta_path) == len(others) + 1
