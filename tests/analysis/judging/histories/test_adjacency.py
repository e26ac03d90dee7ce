"""Hand-written histories of best effort that promises to pass publications on to adjacent subscribers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.tables.summary import Summary
from broker_service.messages import MOST_HOPS
from record.log import Event
from record.promises import Completeness, Promises
from record.sample import PublicationSample
from tests.analysis.diamond import DIAMOND
from tests.analysis.history import DRIVER, History, joined, write_run
from tests.analysis.judging.judged import delivery, verdicts_of

ANY = Promises(delivery=Completeness.BEST_EFFORT, passes_on_within=MOST_HOPS)
TWO = Promises(delivery=Completeness.BEST_EFFORT, passes_on_within=2)
NONE = Promises(delivery=Completeness.BEST_EFFORT)
OUTSIDE = PublicationSample(1e-12, 1)
"""A sample that holds none of these publications."""


@dataclass(frozen=True)
class Case:
    """A publication that S at B1 is not notified of; B1 has links to B2 and B4, and B3 has links to these two."""

    name: str
    promises: Promises
    copies: str
    """Broker, hops and time of each copy that arrived, such as `B2 after 1 at 110.1`."""
    changes: str = ""
    """Times and links that appear or vanish, such as `-103 B1-B2`."""
    verdict: str = "correct"
    sample: PublicationSample | None = None

    def history(self) -> History:
        made = joined(self.name, promises=self.promises, sample=self.sample)
        for change in filter(None, self.changes.split(", ")):
            at, link = change[1:].split()
            event = Event.APPEARED if change.startswith("+") else Event.VANISHED
            made.add("emulator", event, float(at), peer=link, duration=0)
        made.publish()
        for copy in filter(None, self.copies.split(", ")):
            broker, _, hops, _, at = copy.split()
            if self.sample is None:
                made.add(broker, Event.RECEIVED, float(at), id="P:1", kind="publish", hops=int(hops))
            else:
                made.subscribe("T").add(
                    DRIVER, Event.NOTIFIED, float(at), client="T", id="P:1", peer=broker, hops=int(hops)
                )
        return made


NEXT = "B2 after 1 at 110.1"
CASES = (
    Case("next to it", ANY, NEXT, verdict="lost"),
    Case("at the publisher's broker, next to it", ANY, "B2 after 0 at 110", verdict="lost"),
    Case("two links away", ANY, "B3 after 1 at 110.1"),
    Case("nothing promised", NONE, NEXT),
    Case("with one hop left", TWO, NEXT, verdict="lost"),
    Case("with no hop left", TWO, "B2 after 2 at 110.1"),
    Case("the first copy counts", TWO, "B2 after 1 at 110.1, B2 after 2 at 110.2", verdict="lost"),
    Case("however near the second came", TWO, "B2 after 2 at 110.1, B2 after 1 at 110.2"),
    Case("which was first is not known", TWO, "B2 after 1 at 110.1, B2 after 2 at 110.1"),
    Case("a link that has been there", ANY, NEXT, "-103 B1-B2, +107.9 B1-B2", "lost"),
    Case("a new link", ANY, NEXT, "-103 B1-B2, +108.1 B1-B2"),
    Case("a link that has vanished", ANY, NEXT, "-109 B1-B2"),
    Case("a link that vanishes meanwhile", ANY, NEXT, "-112 B1-B2"),
    Case("a link that vanishes afterwards", ANY, NEXT, "-112.2 B1-B2", "lost"),
    Case("over another link", ANY, f"{NEXT}, B4 after 1 at 110.1", "-103 B1-B2", "lost"),
    Case("over a link that came later", ANY, "B3 after 1 at 110.1", "+105 B1-B3", "lost"),
    Case("a neighbour's client was notified", ANY, NEXT, verdict="lost", sample=OUTSIDE),
    Case("a neighbour's client after the last hop", TWO, "B2 after 2 at 110.1", sample=OUTSIDE),
)


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Summary:
    histories = [case.history() for case in CASES]
    return analyze(write_run(tmp_path_factory.mktemp("histories") / "run", histories, overlay=DIAMOND), PlainEngine())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
def test_adjacent_subscribers_are_owed_what_is_passed_on(case: Case, judged: Summary) -> None:
    found = delivery(judged, case.name)
    assert found.best_effort
    assert (found.verdicts, found.lost, found.best_effort.missed) == ([case.verdict], case.verdict == "lost", 1)


@pytest.mark.parametrize("prevented", ["fault", "withdrawal"])
def test_nothing_is_owed_to_a_client_without_a_settled_subscription_or_during_a_fault(
    prevented: str, tmp_path: Path
) -> None:
    history = joined("base", promises=ANY)
    if prevented == "fault":
        history.fault(105, peer="B1")
    else:
        history.unsubscribe(109.9)
    history.publish().receive(broker="B2")
    found = delivery(analyze(write_run(tmp_path / "run", [history]), PlainEngine()), "base")
    assert verdicts_of(found) == ["correct"]
