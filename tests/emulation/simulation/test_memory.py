"""Collections of garbage while a simulation runs."""

from __future__ import annotations

import gc

from emulation.simulation.memory import rare_collections


def test_garbage_is_collected_rarely_within_and_as_before_afterwards() -> None:
    former = gc.get_threshold()
    with rare_collections():
        assert gc.get_threshold() > former
    assert gc.get_threshold() == former
