"""Publications that could not leave the brokers that they had reached, in a diamond where notifications passed B2."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from record.faults import FaultKind
from record.log import Event
from record.promises import QUEUES_LOST, Loss, Promises
from record.sample import PublicationSample
from tests.analysis.diamond import DIAMOND, settled
from tests.analysis.history import History, write_run

FLOODING = Promises(survives=dict.fromkeys(QUEUES_LOST, Loss.IN_FLIGHT))


def passed_b2(name: str, sample: PublicationSample | None = None) -> History:
    history = settled(name, FLOODING, sample=sample).publish("P:1", 103).carry("P:1", 103.01, "B1", "B2", "B3")
    return history.notify("P:1", at=103.1)


def cut(name: str, sample: PublicationSample | None = None) -> History:
    """Only the way back of the link from B1 to B2 is cut, and B4 is killed for good. B1 loses both neighbours."""
    history = passed_b2(name, sample).fault(105, FaultKind.LINK_DOWN, "B2->B1").fault(105, peer="B4")
    return history.add("B1", Event.LINK_DOWN, 107, peer="B2").add("B1", Event.LINK_DOWN, 105.1, peer="B4")


def verdict(tmp_path: Path, history: History) -> list[str]:
    return list(analyze(write_run(tmp_path / "run", [history], overlay=DIAMOND), PlainEngine()).delivery)


@pytest.mark.parametrize(("at", "expected"), [(106.9, "lost"), (107.1, "correct"), (112.1, "lost")])
def test_a_publication_that_came_when_each_link_was_down_is_excused(tmp_path: Path, at: float, expected: str) -> None:
    """B1 has its link to B2 back at 112."""
    history = cut("no exit").heal(111, "link_up", "B2->B1").add("B1", Event.LINK_UP, 112, peer="B2")
    assert verdict(tmp_path, history.publish("P:2", at - 0.01).receive("P:2", at, hops=0)) == [expected]


def test_the_outage_of_the_link_is_named_and_not_an_earlier_one_of_its_broker(tmp_path: Path) -> None:
    """P:1 passed B2 after its pause, which proves that the overlay had recovered from that."""
    history = cut("named").fault(101, FaultKind.PAUSE).heal(101.5, "resume")
    history.publish("P:2", 107.05).receive("P:2", 107.06, hops=0)
    power = analyze(write_run(tmp_path / "run", [history], overlay=DIAMOND), PlainEngine()).variants[0].delivery.power
    assert power.excused == {"without a way past B2->B1, B4": 1}


@pytest.mark.parametrize("neighbour", ["B2", "B4"])
def test_one_link_that_is_up_is_an_exit(tmp_path: Path, neighbour: str) -> None:
    history = cut("one exit").add("B1", Event.LINK_UP, 107.5, peer=neighbour)
    assert verdict(tmp_path, history.publish("P:2", 108).receive("P:2", 108.01, hops=0)) == ["lost"]


def test_a_copy_that_was_sent_towards_what_failed_shuts_an_exit(tmp_path: Path) -> None:
    history = cut("sent").publish("P:2", 106).receive("P:2", 106.01, hops=0)
    history.add("B1", Event.SENT, 106.02, id="P:2", kind="publish", peer="B2")
    assert verdict(tmp_path, history) == ["correct"]


def test_a_link_that_is_down_without_a_fault_shuts_no_exit(tmp_path: Path) -> None:
    """All recovered 6 seconds after the heals, and B1 has no link even so."""
    history = cut("never again").heal(106, "link_up", "B2->B1").heal(106, peer="B4")
    assert verdict(tmp_path, history.publish("P:2", 115).receive("P:2", 115.01, hops=0)) == ["lost"]


@pytest.mark.parametrize(("back", "expected"), [("B2", "lost"), (None, "correct")])
def test_brokers_that_were_reached_are_enclosed_together(tmp_path: Path, back: str | None, expected: str) -> None:
    """B1 and B4 have each other, and neither has B2 and B3."""
    history = (
        passed_b2("two brokers").fault(105, FaultKind.LINK_DOWN, "B2->B1").fault(105, FaultKind.LINK_DOWN, "B3->B4")
    )
    history.add("B1", Event.LINK_DOWN, 107, peer="B2").add("B4", Event.LINK_DOWN, 107, peer="B3")
    if back is not None:
        history.add("B1", Event.LINK_UP, 107.5, peer=back)
    history.publish("P:2", 108).receive("P:2", 108.01, hops=0)
    history.add("B1", Event.SENT, 108.02, id="P:2", kind="publish", peer="B4").receive("P:2", 108.03, "B4", "B1")
    assert verdict(tmp_path, history) == [expected]


def test_a_publication_outside_of_the_sample_is_not_judged(tmp_path: Path) -> None:
    """The cut of one direction may have struck it, because streams need both."""
    sample = PublicationSample(share=1e-12, seed=1)
    history = cut("sampled", sample).publish("P:2", 108)
    run = write_run(tmp_path / "run", [history], overlay=DIAMOND)
    power = analyze(run, PlainEngine()).variants[0].delivery.power
    assert sum(power.not_judged.values()) == 1
