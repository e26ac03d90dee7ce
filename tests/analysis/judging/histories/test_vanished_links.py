"""Hand-written histories over a diamond of brokers whose links come and go, judged by what is promised of that."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from analysis.engines import PlainEngine
from analysis.pipeline import analyze
from analysis.tables.summary import Summary
from record.faults import VANISHED_LINKS
from record.log import Event
from record.promises import Completeness, Loss, Promises
from tests.analysis.diamond import DELAYS, DIAMOND, crossing
from tests.analysis.history import History, write_run
from tests.analysis.judging.judged import delivery, verdicts_of

_DELAYS = {str(kind): loss for kind, loss in DELAYS.items()}
LOSES = Promises(survives={**_DELAYS, VANISHED_LINKS: Loss.IN_FLIGHT})
KEEPS = Promises(survives={**_DELAYS, VANISHED_LINKS: Loss.NOTHING})
NAMES_NOTHING = Promises(survives=_DELAYS)
BEST_EFFORT = Promises(delivery=Completeness.BEST_EFFORT)


@dataclass(frozen=True)
class Case:
    """A publication of B1 that S at B3 does not get."""

    name: str
    promises: Promises
    changes: str
    """Times and links, such as `-103 B1-B2` and `+125 B1-B3`."""
    published: float = 110
    subscribed: float = 95
    verdict: str = "correct"
    missed: int = 0
    in_flight: bool = False
    """True where nothing is owed, because the subscription had not settled."""

    def history(self) -> History:
        made = crossing(self.name, self.promises).subscribe(at=self.subscribed)
        for change in filter(None, self.changes.split(", ")):
            at, link = change[1:].split()
            event = Event.APPEARED if change.startswith("+") else Event.VANISHED
            made.add("emulator", event, float(at), peer=link, duration=0)
        return made.publish(at=self.published)


PARTED = "-103 B1-B2, -103 B1-B4"
CASES = (
    Case("nothing changes", LOSES, "", verdict="lost"),
    Case("lost with a link", LOSES, "-105 B1-B2"),
    Case("a link gone long ago", LOSES, "-103 B1-B2", verdict="lost"),
    Case("parted to the end", LOSES, PARTED, 120),
    Case("parted for a while", LOSES, f"{PARTED}, +125 B1-B4", 120),
    Case("no longer parted", LOSES, f"{PARTED}, +125 B1-B4", 135, verdict="lost"),
    Case("joined by another link", LOSES, f"{PARTED}, +104 B1-B3", 120, verdict="lost"),
    Case("parted before that link", LOSES, f"{PARTED}, +125 B1-B3", 120),
    Case("kept with a link", KEEPS, "-109.9 B1-B2", verdict="lost"),
    Case("kept until there is a path", KEEPS, f"{PARTED}, +125 B1-B4", 120, verdict="lost"),
    Case("kept, and no path again", KEEPS, PARTED, 120),
    Case("subscribed while parted", KEEPS, f"{PARTED}, +125 B1-B4", 126, subscribed=110, in_flight=True),
    Case("subscribed while parted, long ago", KEEPS, f"{PARTED}, +125 B1-B4", 132, subscribed=110, verdict="lost"),
    Case("cost not promised", NAMES_NOTHING, "-105 B1-B2"),
    Case("cost not promised, long ago", NAMES_NOTHING, "-103 B1-B2", verdict="lost"),
    Case("best effort, parted", BEST_EFFORT, PARTED, 120, missed=1),
    Case("best effort, lost with a link", BEST_EFFORT, "-105 B1-B2", missed=1),
)


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Summary:
    histories = [case.history() for case in CASES]
    return analyze(write_run(tmp_path_factory.mktemp("histories") / "run", histories, overlay=DIAMOND), PlainEngine())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
def test_a_loss_is_judged_by_the_promises(case: Case, judged: Summary) -> None:
    found = delivery(judged, case.name)
    excused = int(case.verdict == "correct" and not case.missed and not case.in_flight)
    missed = found.best_effort.missed if found.best_effort else 0
    assert (verdicts_of(found), found.excused, missed) == ([case.verdict], excused, case.missed)


def test_a_notification_between_parted_brokers_is_no_defect(tmp_path: Path) -> None:
    history = Case("parted, and yet", LOSES, PARTED, 120).history().notify(at=120.1)
    summary = analyze(write_run(tmp_path / "run", [history], overlay=DIAMOND), PlainEngine())
    assert verdicts_of(delivery(summary, "parted, and yet")) == ["correct"]
