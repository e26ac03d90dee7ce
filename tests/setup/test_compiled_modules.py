"""The list of the modules that are compiled."""

from __future__ import annotations

from pathlib import Path

from setup.compiled_index import imported
from setup.compiled_modules import COMPILED_MODULES, COMPILED_PACKAGES, INTERPRETED, compiled_modules

ROOT = Path(__file__).resolve().parents[2]


def test_every_exclusion_is_a_module_that_would_be_compiled() -> None:
    for module in INTERPRETED:
        assert (ROOT / module).is_file(), module
        assert module.rpartition("/")[0] in COMPILED_PACKAGES, module


def test_packages_less_exclusions_are_compiled() -> None:
    modules = compiled_modules(ROOT)
    assert "broker_service/broker.py" in modules
    assert set(COMPILED_MODULES) <= set(modules)
    assert not set(INTERPRETED) & set(modules)
    assert not [module for module in modules if module.rpartition("/")[2].startswith("__")]


def test_imports_are_followed_through_the_tree(tmp_path: Path) -> None:
    package = tmp_path / "pack"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "a.py").write_text("from pack import b\nimport json\n")
    (package / "b.py").write_text("def late():\n    from pack.c import C\n")
    (package / "c.py").write_text("import pack.a\n")
    (package / "d.py").touch()
    assert imported(tmp_path, ["pack/a.py"]) == {"pack/__init__.py", "pack/b.py", "pack/c.py", "pack/a.py"}
