from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from emulation.host.archives import unpack_archive
from emulation.multi_host.files import pack_files
from emulation.multi_host.product import pack
from tests.architecture.order import packages
from tests.outside.flooding import written


def test_a_scenarios_files_are_found_beside_it_again(tmp_path: Path) -> None:
    quotes = tmp_path / "quotes"
    quotes.mkdir()
    (quotes / "A.csv").write_text("1\n")
    overlay = tmp_path / "overlay.json"
    overlay.write_text("{}")
    scenario = {
        "topology": {"kind": "file", "path": str(overlay)},
        "workload": [{"file": str(quotes)}, {"file": str(overlay)}],
        "name": "/nowhere/at/all",
        "seed": 1,
    }
    portable = pack_files(scenario, {"./flooding.py"}, tmp_path / "files.tar.gz")
    assert portable == {
        "topology": {"kind": "file", "path": "files/0/overlay.json"},
        "workload": [{"file": "files/1/quotes"}, {"file": "files/0/overlay.json"}],
        "name": "/nowhere/at/all",
        "seed": 1,
    }
    unpack_archive(tmp_path / "files.tar.gz", tmp_path / "there")
    assert (tmp_path / "there/files/1/quotes/A.csv").read_text() == "1\n"


def test_protocols_keep_their_names(tmp_path: Path) -> None:
    protocol = str(written(tmp_path))
    scenario = {"routing": {"protocol": protocol}, "vary": {"routing.protocol": [protocol, "tid"]}}
    assert pack_files(scenario, {protocol}, tmp_path / "files.tar.gz") == scenario
    assert not (tmp_path / "files.tar.gz").exists()


def test_without_files_nothing_is_taken_along(tmp_path: Path) -> None:
    assert pack_files({"seed": 1}, (), tmp_path / "files.tar.gz") == {"seed": 1}
    assert not (tmp_path / "files.tar.gz").exists()


def test_the_product_holds_every_package(tmp_path: Path) -> None:
    (tmp_path / "product.tar.gz").write_bytes(pack().content)
    with tarfile.open(tmp_path / "product.tar.gz") as archive:
        names = {name.partition("/")[0] for name in archive.getnames()}
    assert set(packages()) <= names


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    for name in ("emulation/__init__.py", "setup/system.sh", "pyproject.toml", "emulation/__pycache__/x.pyc", "runs/x"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    (root / "setup/system.sh").chmod(0o700)
    return root


def test_the_product_is_the_same_wherever_it_is_packed(tree: Path, tmp_path: Path) -> None:
    product = pack(tree)
    assert product == pack(tree)
    (tmp_path / "product.tar.gz").write_bytes(product.content)
    with tarfile.open(tmp_path / "product.tar.gz") as archive:
        assert archive.getnames() == ["emulation/__init__.py", "pyproject.toml", "setup/system.sh"]
    unpack_archive(tmp_path / "product.tar.gz", tmp_path / "there")
    assert pack(tmp_path / "there").version == product.version
    assert (tmp_path / "there/setup/system.sh").stat().st_mode & 0o111
    (tree / "emulation/__init__.py").write_text("another")
    assert pack(tree).name != product.name
