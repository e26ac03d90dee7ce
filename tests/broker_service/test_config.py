"""The file of a broker's configuration, as docs/broker-contract.md has it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from broker_service.config import BrokerConfig, Limits, LinkConfig, load

CONFIG = BrokerConfig(
    id="A",
    incarnation=1,
    protocol="tid",
    listen=("unix:/run/A.sock",),
    links=(LinkConfig(neighbour="B", local="10.0.0.1:7000", remote="10.0.0.2:7000", dial=True),),
    limits=Limits(batch=7),
)


def test_fields_that_are_not_known_are_ignored(tmp_path: Path) -> None:
    fields = msgspec.to_builtins(CONFIG)
    for place in (fields, fields["links"][0], fields["limits"]):
        place["of-a-later-version"] = {"unknown": [1, None]}
    file = tmp_path / "broker.json"
    file.write_bytes(msgspec.json.encode(fields))
    assert load(file) == CONFIG


def test_a_wrong_value_is_named(tmp_path: Path) -> None:
    fields = msgspec.to_builtins(CONFIG)
    fields["limits"]["batch"] = "many"
    file = tmp_path / "broker.json"
    file.write_bytes(msgspec.json.encode(fields))
    with pytest.raises(msgspec.ValidationError, match=r"\$\.limits\.batch"):
        load(file)
