"""Deployed systems on a host: what is missing is one sentence with the remedy."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from emulation.runtimes import deployed_systems
from emulation.runtimes.deployed_systems import parts_of, require_system
from record.errors import HostError


def _has(monkeypatch: pytest.MonkeyPatch, *present: str) -> None:
    """Lets this host have these programs and modules, and no other that a system needs."""
    monkeypatch.setattr(deployed_systems, "find_spec", lambda name: name if name in present else None)
    monkeypatch.setattr(shutil, "which", lambda name, path=None: f"/usr/sbin/{name}" if name in present else None)


@pytest.mark.parametrize(
    ("system", "present", "sentence"),
    [
        ("mosquitto", ["paho"], "the program mosquitto is not on this host: `apt install mosquitto`"),
        ("mosquitto", ["mosquitto"], r"Python package paho is missing.*make base"),
        ("zenoh", [], r"Python package zenoh is missing.*make base"),
        ("activemq", ["stomp"], "the program activemq is not on this host: `apt install activemq`"),
        ("activemq", ["activemq"], r"Python package stomp is missing.*make base"),
    ],
)
def test_what_is_missing_is_named_with_its_remedy(
    monkeypatch: pytest.MonkeyPatch, system: str, present: list[str], sentence: str
) -> None:
    _has(monkeypatch, *present)
    with pytest.raises(HostError, match=sentence):
        require_system(system)


def test_an_image_has_what_this_host_has(monkeypatch: pytest.MonkeyPatch) -> None:
    _has(monkeypatch, "paho", "mosquitto", "stomp", "activemq")
    assert parts_of("mosquitto").programs == [Path("/usr/sbin/mosquitto")]
    with pytest.raises(HostError, match="there is no Java on this host"):
        parts_of("activemq")
    _has(monkeypatch, "stomp", "activemq", "java", "zenoh")
    assert [str(tree) for tree in parts_of("activemq").trees] == ["/usr/share/activemq", "/usr"]
    assert parts_of("zenoh").programs == []
    assert parts_of("zenoh").packages == ["eclipse-zenoh"]
