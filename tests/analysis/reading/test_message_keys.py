"""Keys of many publications are those of each."""

from __future__ import annotations

from analysis.reading.message_keys import message_key, publication_key, publication_keys


def test_keys_of_many_publications_are_those_of_each() -> None:
    ids = ["", "P1:1", "P1:2", "Zoë:3", "P1:1"]
    assert publication_keys(ids) == [publication_key(id) for id in ids] == [message_key("publish", id) for id in ids]
