"""The account of an exploration, in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from record.faults import FaultKind
from record.log import Event
from record.wording import count_of
from studies.exploration.exploration import Account

MOST_RAREST = 20
_CLIENTS_AND_BROKERS = (
    Event.DETECTED, Event.JOINED, Event.MOVED, Event.DROPPED, Event.DISTURBED, Event.RECALLED, Event.REJECTED,
    Event.REFUSED, Event.LINK_UP, Event.LINK_DOWN, Event.ANNOUNCED, Event.LOST_RANGE, Event.MISSED, Event.NOTIFIED,
)  # fmt: skip
"""Records that some protocols make, or that need a fault or a bound."""


def account_lines(account: Account) -> Iterator[str]:
    """The account, a sentence a line."""
    each = account.runs / account.processor if account.processor else 0.0
    shrinking = f"; {runs_in_words(account.shrinking_runs)} more to shrink" if account.shrinking_runs else ""
    pace = f"{account.seconds:.0f} s, {each:.1f} for each second of a processor"
    yield f"{runs_in_words(account.runs)} in {pace}{shrinking}"
    if account.refused:
        yield f"{account.refused:,} of them could not be run: the protocol or the simulator refused the scenario"
    yield f"seen: {behaviours_in_words(len(account.seen))}"
    for what, unseen in never_seen(account).items():
        if unseen:
            yield f"{what} never seen: {', '.join(unseen)}"
    yield findings_in_words(len(account.findings))


def rarest(account: Account) -> list[tuple[int, str]]:
    """The features that fewest runs showed, with the number of runs."""
    return sorted((number, feature) for feature, number in account.seen.items())[:MOST_RAREST]


def never_seen(account: Account) -> dict[str, list[str]]:
    """Kinds of records and of faults that no run showed."""
    words = {word for feature in account.seen for word in feature.replace(",", "").split()}
    records = [event.value for event in _CLIENTS_AND_BROKERS if event.value.split()[0] not in words]
    faults = [kind.value for kind in FaultKind if kind is not FaultKind.THROTTLE and kind.value not in words]
    return {"records": records, "faults": faults}


def findings_in_words(number: int) -> str:
    """A number of findings."""
    return count_of(number, "finding") if number else "no findings"


def behaviours_in_words(number: int) -> str:
    """A number of kinds of behaviour."""
    return count_of(number, "kind of behaviour", "kinds of behaviour")


def runs_in_words(number: int) -> str:
    """A number of runs."""
    return count_of(number, "run")
