"""Images of brokers that are not brokerlab's are looked at before a run begins."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import docker.errors
import pytest

from emulation.runtimes.foreign_images import ForeignImage, looked_at
from record.errors import HostError


def _client(**image: Any) -> Any:
    """A client of a daemon that has one image."""
    found = SimpleNamespace(id="sha256:1", attrs={"Architecture": "amd64", "Config": {}, **image})
    return SimpleNamespace(images=SimpleNamespace(get=lambda _name: found), version=lambda: {"Arch": "amd64"})


def test_the_entry_point_comes_before_the_command_and_the_configuration_last() -> None:
    image = looked_at(_client(Config={"Entrypoint": ["/broker"], "Cmd": ["--help"]}), "mine")
    assert image == ForeignImage("brokers", "mine", "sha256:1", ("/broker",), ("--help",))
    assert image.command((), "/c.json") == ["/broker", "/c.json"]
    assert image.command(("/other", "--config"), "/c.json") == ["/other", "--config", "/c.json"]
    assert image.command(()) == ["/broker", "--help"]
    assert image.command(("/other",)) == ["/other"]
    assert looked_at(_client(Config={"Cmd": ["/broker"]}), "mine").entry == ("/broker",)


def test_an_image_that_starts_nothing_is_named() -> None:
    sentence = r"^clients\.programs\.S1\.image: mine has neither an entry point nor a command; give clients.programs"
    with pytest.raises(HostError, match=sentence):
        looked_at(_client(), "mine", "clients.programs.S1").command(())


def test_an_image_for_other_processors_is_named() -> None:
    with pytest.raises(HostError, match="mine is made for arm64 processors, and this host has amd64"):
        looked_at(_client(Architecture="arm64"), "mine")


def test_an_image_that_is_not_there_is_named() -> None:
    def missing(name: str) -> None:
        raise docker.errors.ImageNotFound(name)

    client: Any = SimpleNamespace(images=SimpleNamespace(get=missing), version=lambda: {"Arch": "amd64"})
    with pytest.raises(HostError, match="there is no image mine on this host"):
        looked_at(client, "mine")
