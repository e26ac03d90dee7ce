"""The emulator image: named after what it is made of, the source of brokerlab not included."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from emulation.host import emulator_image, images
from emulation.host.images import Packages


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of what the image is made from, which tests may change."""
    for name in ("pyproject.toml", "constraints.txt", "setup/image-packages.sh", "setup/emulator/Dockerfile"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(images.ROOT / name, tmp_path / name)
    monkeypatch.setattr(images, "ROOT", tmp_path)
    monkeypatch.setattr(emulator_image, "_DOCKERFILE", tmp_path / "setup/emulator/Dockerfile")
    monkeypatch.delenv("BASE_IMAGE", raising=False)
    return tmp_path


@pytest.mark.parametrize("name", ["constraints.txt", "setup/image-packages.sh", "setup/emulator/Dockerfile"])
def test_another_input_is_another_image(tree: Path, name: str) -> None:
    before = emulator_image._fingerprint()
    with (tree / name).open("a") as file:
        file.write("\n# changed\n")
    assert emulator_image._fingerprint() != before


def test_packages_of_the_extra_count_and_those_for_developers_do_not(tree: Path) -> None:
    before, brokers = emulator_image._fingerprint(), Packages(tree, "broker").fingerprint()
    project = (tree / "pyproject.toml").read_text()
    (tree / "pyproject.toml").write_text(project.replace('"hypothesis", ', ""))
    assert emulator_image._fingerprint() == before
    (tree / "pyproject.toml").write_text(project.replace('"networkx", ', ""))
    assert emulator_image._fingerprint() != before
    assert Packages(tree, "broker").fingerprint() == brokers


def test_the_hosts_proxies_are_for_the_build(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    apt = tmp_path / "apt-config"
    apt.write_text("#!/bin/sh\necho http://proxy.example:3142\n")
    apt.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("https_proxy", "http://other.example:8080")
    assert dict(emulator_image._proxies()) == {
        "http_proxy": "http://proxy.example:3142",
        "https_proxy": "http://other.example:8080",
    }
