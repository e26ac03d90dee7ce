"""The emulator image: named after what it is made of, the source of brokerlab not included."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from emulation.host import emulator_image, images
from emulation.host.images import Packages

ROOT = Path(__file__).resolve().parents[3]


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


RECORDING = """#!/bin/bash
printf '%s ' "$@" >>"$(dirname "$0")/calls"
printf '\\n' >>"$(dirname "$0")/calls"
while [ "$#" -gt 1 ]; do
    if [ "$1" = --target ]; then mkdir -p "$2/bin" && touch "$2/bin/program"; fi
    shift
done
"""


def test_what_is_published_as_source_alone_is_built_first_also_with_an_extra(tree: Path) -> None:
    """`pyspark[connect]` is pyspark; the installation takes wheels only, and would find none."""
    shutil.copy(ROOT / "setup" / "common.sh", tree / "setup")
    python = tree / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(RECORDING)
    python.chmod(0o755)
    names = Packages(tree / "packages", "emulator")._names()
    assert "pyspark[connect]" in names
    subprocess.run([tree / "setup" / "image-packages.sh", tree / "packages", "emulator", *names], check=True)
    calls = (python.parent / "calls").read_text().splitlines()
    built = [call.split()[-1].partition("==")[0] for call in calls if " wheel " in call]
    assert built == ["mininet", "pyspark"]
    (installed,) = [call.split() for call in calls if "--only-binary" in call]
    assert installed[-len(names) :] == names
