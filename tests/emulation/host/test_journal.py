"""The journal balances what was made against what was removed, whole or torn."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulation.host.journal import Journal, Resource, remains


def test_a_thing_is_written_down_before_it_exists(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    journal.creating(Resource.CONTAINER, "c1")
    assert list(remains(journal.path).names[Resource.CONTAINER]) == ["c1"], "not waiting for a flush or a close"


def test_a_process_is_known_by_pid_and_start_time(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    journal.creating(Resource.PROCESS, "self")
    journal.started("self", os.getpid())
    (identity,) = remains(journal.path).processes
    assert identity.pid == os.getpid()
    assert identity.alive


def test_what_was_removed_does_not_remain(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    journal.creating(Resource.PROCESS, "self")
    journal.started("self", os.getpid())
    journal.removed(Resource.PROCESS, "self")
    left = remains(journal.path)
    assert left.processes == []
    assert left.names[Resource.PROCESS] == {}


def test_a_torn_last_line_is_skipped(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    journal.creating(Resource.CONTAINER, "c1")
    journal.creating(Resource.CONTAINER, "c2")
    content = journal.path.read_bytes()
    journal.path.write_bytes(content[:-10])
    assert list(remains(journal.path).names[Resource.CONTAINER]) == ["c1"]


@settings(deadline=None)  # it writes files
@given(st.lists(st.tuples(st.booleans(), st.sampled_from(list(Resource)), st.sampled_from(["x", "y", "z"]))))
def test_remains_are_the_creations_without_a_later_removal(
    tmp_path_factory: object, steps: list[tuple[bool, Resource, str]]
) -> None:
    journal = Journal(tmp_path_factory.mktemp("journal") / "journal.jsonl")  # type: ignore[attr-defined]
    expected: dict[Resource, set[str]] = {resource: set() for resource in Resource}
    for create, resource, name in steps:
        if create:
            journal.creating(resource, name)
            expected[resource].add(name)
        else:
            journal.removed(resource, name)
            expected[resource].discard(name)
    journal.close()
    assert {resource: set(names) for resource, names in remains(journal.path).names.items()} == expected


def test_on_a_full_disk_nothing_is_made_unrecorded_and_removal_goes_on() -> None:
    journal = Journal(Path("/dev/full"))
    with pytest.raises(OSError, match="No space left"):
        journal.creating(Resource.CONTAINER, "one")
    journal.removed(Resource.CONTAINER, "one")
    journal.close()
