"""Brokers that ended by themselves, as an overlay on a host reports them; their runtime is a stand-in."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import MagicMock

import pytest

from emulation.live_overlay import UnsettledError
from emulation.runtimes import Hosting, HostOverlay
from emulation.runtimes.interface import Ending
from record.errors import BrokerDefectError
from record.exit_codes import ExitCode
from tests.scenario.faults.overlays import overlay_of

SENTENCE = "broker defect: B (protocol tid) failed on the timer 't': ValueError"
KILLED = Ending("A", -9, ("out of memory",))
DEFECT = Ending("B", ExitCode.BROKER_DEFECT, ("Traceback:", "  a, b = (1, 2, 3)", SENTENCE))


def overlay_whose_brokers_ended(*endings: Ending) -> HostOverlay:
    runtime = MagicMock()
    runtime.processes.return_value = {ending.broker: MagicMock(alive=False) for ending in endings}
    runtime.ending.side_effect = {ending.broker: ending for ending in endings}.__getitem__
    hosting = Hosting(
        runtime=runtime,
        network=MagicMock(),
        namespace=MagicMock(),
        sockets=lambda broker: Path(f"/run/{broker}"),
        directory=Path("/run"),
    )
    return HostOverlay(overlay_of(("A", "B")), MagicMock(), hosting)


def test_a_defect_comes_before_other_endings_with_its_stack_trace() -> None:
    with pytest.raises(BrokerDefectError) as caught:
        overlay_whose_brokers_ended(KILLED, DEFECT).require_running()
    assert (caught.value.broker, str(caught.value)) == ("B", SENTENCE)
    assert caught.value.stack_trace == "Traceback:\n  a, b = (1, 2, 3)\n"


def test_no_line_that_a_broker_wrote_is_told_twice() -> None:
    ended = Ending("A", 127, ("starting", "sh: 1: nobody: not found"))
    with pytest.raises(UnsettledError) as caught:
        overlay_whose_brokers_ended(ended).require_running()
    assert str(caught.value) == "broker A ended with exit code 127: sh: 1: nobody: not found\n    starting"


def test_another_ending_leaves_the_overlay_unsettled() -> None:
    with pytest.raises(UnsettledError, match="broker A got signal 9: out of memory"):
        overlay_whose_brokers_ended(KILLED).require_running()
