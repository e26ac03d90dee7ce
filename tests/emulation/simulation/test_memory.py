"""Collections of garbage while a simulation runs."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from emulation.simulation.memory import rare_collections


@pytest.fixture
def nothing_frozen() -> Iterator[None]:
    """State of a process that has frozen no objects; the one that runs the tests has."""
    gc.unfreeze()
    yield
    gc.freeze()


@pytest.mark.usefixtures("nothing_frozen")
def test_what_there_was_before_is_not_searched() -> None:
    former = gc.get_threshold()
    with rare_collections():
        assert gc.get_freeze_count() > 0
        assert gc.get_threshold() > former
    assert (gc.get_freeze_count(), gc.get_threshold()) == (0, former)


def test_what_the_caller_has_frozen_stays_frozen() -> None:
    frozen = gc.get_freeze_count()
    assert frozen > 0
    with rare_collections():
        assert gc.get_freeze_count() <= frozen
    assert gc.get_freeze_count() > frozen // 2
