from __future__ import annotations

import os
from pathlib import Path

import pytest

from analysis.engines import java
from analysis.engines.java import check_java, class_archive, options_to_use_classes
from record.errors import HostError


def test_without_java_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HostError, match=r"no Java on the PATH.*17 or newer.*apt-get install"):
        check_java()
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with pytest.raises(HostError, match="JAVA_HOME=/nowhere"):
        check_java()


@pytest.mark.parametrize(("version", "old"), [("1.8.0_392", True), ("11.0.2", True), ("17.0.9", False), ("25", False)])
def test_any_java_from_17_on_will_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str, old: bool) -> None:
    java = tmp_path / "java"
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2026-01-01' >&2\n")
    java.chmod(0o755)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    if old:
        with pytest.raises(HostError, match="17 or newer"):
            check_java()
    else:
        check_java()


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(java, "_ARCHIVES", tmp_path)
    program = tmp_path / "java"
    program.write_text("one build")
    return program


def test_java_starts_from_the_archive_of_its_own_build_alone(program: Path) -> None:
    assert options_to_use_classes(str(program)) == []
    archive = class_archive(str(program))
    archive.write_bytes(b"")
    assert options_to_use_classes(str(program)) == [f"-XX:SharedArchiveFile={archive}"]
    program.unlink()
    program.write_text("another build")
    assert options_to_use_classes(str(program)) == []


def test_java_starts_from_the_archive_of_the_present_pyspark_alone(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class_archive(str(program)).write_bytes(b"")
    monkeypatch.setattr(java, "version", lambda _package: "99.0")
    assert options_to_use_classes(str(program)) == []
