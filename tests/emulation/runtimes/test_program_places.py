"""Folders of a router's program that containers are given."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker_service.routing.program.references import reference_to
from emulation.runtimes.program_places import program_places, require_readable
from record.errors import HostError


def test_folders_of_files_and_folders_that_are_named(tmp_path: Path) -> None:
    folder, classes = tmp_path / "mine", tmp_path / "classes"
    folder.mkdir()
    classes.mkdir()
    (folder / "router.js").touch()
    argv = ["/usr/bin/node", str(folder / "router.js"), "-cp", str(classes), str(tmp_path / "no/file"), "./relative"]
    assert program_places(reference_to(argv)) == (classes, folder)


@pytest.mark.parametrize("protocol", ["tid", "./rendezvous.py", reference_to(["/bin/sh"]), reference_to(["/usr"])])
def test_what_every_system_has_is_not_mounted(protocol: str) -> None:
    assert program_places(protocol) == ()


def test_a_folder_that_brokers_may_not_read_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    require_readable([tmp_path])
    tmp_path.chmod(0o700)
    with pytest.raises(HostError, match=f"may not read {tmp_path}"):
        require_readable([tmp_path])
