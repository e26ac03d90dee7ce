"""Clients that must and must not be notified of a publication, derived from the steps of a case alone.

A change (a declaration or its withdrawal) is in flight until the overlay settles next. The stable state decides:

- A client *must* be notified of a publication that suits an advertisement its publisher made and a subscription the
  client made, both before the overlay settled last and neither withdrawn before it settled again.
- It *must not* if the publisher had no such advertisement, or if of all the client's subscriptions that suit each was
  withdrawn before the publication, or made only after the overlay had settled again.
- All else *may* happen. No client may be notified twice.

While anything is broken, no declaration is known to have arrived everywhere. From the first fault of a *storm* to its
end, when all is whole again and has recovered, no client *must* be notified if a broker fails in it, or if an
advertisement ends while a link is down (docs/guarantees.md, "Withdrawals behind a dead link"). Links that are down only
delay, unless a protocol promises less. A storm permits no notification that must not happen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from record.faults import FaultKind
from record.promises import Loss
from studies.conformance.model import BrokerFault, Case, Declaration, LinkFault, Withdrawal
from studies.conformance.protocols import PROTOCOLS
from tests.properties.content import suits

NEVER = 1_000_000_000
SUBSCRIBING = ("subscribe", "composite")
"""Kinds of declarations that share their names."""
KILLS = frozenset({"kill"})
"""Faults that may cost publications whatever the protocol."""


@dataclass
class Span:
    """Something a client said, from one step to another (numbers of steps)."""

    client: str
    kind: str
    id: str
    text: str
    begin: int
    end: int = NEVER


@dataclass(frozen=True)
class Published:
    client: str
    id: str
    text: str
    step: int


@dataclass
class Storm:
    """From the step in which the first thing broke to the one in which all was whole again."""

    begin: int
    end: int = NEVER
    loses: bool = False
    """True when publications in flight during it may be lost."""


@dataclass
class History:
    """Declarations by the steps in which they were in force."""

    spans: list[Span] = field(default_factory=list)
    publications: list[Published] = field(default_factory=list)
    settled: list[int] = field(default_factory=list)
    """After which steps the overlay settled."""
    storms: list[Storm] = field(default_factory=list)

    def settled_between(self, earlier: int, later: int) -> bool:
        """True when one step had taken effect before the other began."""
        return any(earlier <= step < later for step in self.settled)

    def undisturbed(self, published: Published) -> bool:
        """True when the publication had arrived before, or was made after, any storm that may lose some."""
        return all(
            self.settled_between(published.step, storm.begin) or storm.end < published.step
            for storm in self.storms
            if storm.loses
        )

    def entitles(self, advertised: Span, published: Published) -> bool:
        """True when a publication may count as one of an advertisement. While anything is broken, a publication may
        wait for the publisher's session, and the advertisements that come meanwhile go before it."""
        if advertised.begin < published.step:
            return published.step < advertised.end
        broken = any(storm.begin <= published.step <= storm.end for storm in self.storms)
        return broken and not self.settled_between(published.step, advertised.begin)

    def of(self, client: str, kind: str, publication: str) -> Iterator[Span]:
        """Declarations that fit a publication."""
        for span in self.spans:
            if span.client == client and span.kind == kind and suits(span.text, publication):
                yield span


def losing(protocol: str) -> frozenset[str]:
    """Faults that may cost publications under a row of the conformance table."""
    cuts_cost_nothing = PROTOCOLS[protocol].promises.loss(FaultKind.LINK_DOWN) is Loss.NOTHING
    return KILLS if cuts_cost_nothing else KILLS | {"link_down"}


def history(case: Case, losing: frozenset[str] = KILLS) -> History:
    """The history of a case, in which these faults may cost publications."""
    past = History()
    places: dict[str, str] = {}
    broken: set[str | frozenset[str]] = set()
    for number, step in enumerate(case.steps):
        match step:
            case BrokerFault() | LinkFault():
                _break_or_mend(past, broken, step, number, losing)
            case Declaration() | Withdrawal():
                if places.setdefault(step.client, step.broker) != step.broker:
                    places[step.client] = step.broker
                    _end(past, [span for span in past.spans if span.client == step.client], number)
                _say(past, step, number)
        if step.wait is None and not broken:
            past.settled.append(number)
    past.settled.append(len(case.steps))
    return past


def _break_or_mend(
    past: History,
    broken: set[str | frozenset[str]],
    step: BrokerFault | LinkFault,
    number: int,
    losing: frozenset[str],
) -> None:
    what = step.broker if isinstance(step, BrokerFault) else frozenset(step.link)
    if step.op in ("kill", "link_down"):
        if not broken:
            past.storms.append(Storm(number))
        broken.add(what)
        past.storms[-1].loses |= step.op in losing
        return
    broken.remove(what)
    if not broken:
        past.storms[-1].end = number
        past.settled.append(number)  # strategies wait long enough


def _say(past: History, step: Declaration | Withdrawal, number: int) -> None:
    if isinstance(step, Declaration) and step.op == "publish":
        past.publications.append(Published(step.client, step.id, step.text, number))
        return
    kind = step.op.removeprefix("un")
    names = SUBSCRIBING if kind in SUBSCRIBING else (kind,)
    standing = [span for span in past.spans if (span.client, span.id) == (step.client, step.id) and span.kind in names]
    if isinstance(step, Withdrawal):
        _end(past, standing, number)
    elif not any(span.end == NEVER and (span.kind, span.text) == (kind, step.text) for span in standing):
        _end(past, standing, number)
        past.spans.append(Span(step.client, kind, step.id, step.text, number))


def _end(past: History, spans: Sequence[Span], number: int) -> None:
    for span in spans:
        if span.kind == "advertise" and span.end == NEVER and past.storms and past.storms[-1].end == NEVER:
            past.storms[-1].loses = True
        span.end = min(span.end, number)


def must(past: History, client: str, published: Published) -> bool:
    def stable(span: Span) -> bool:
        return past.settled_between(span.begin, published.step) and past.settled_between(published.step, span.end)

    return (
        past.undisturbed(published)
        and any(stable(span) for span in past.of(published.client, "advertise", published.text))
        and any(stable(span) for span in past.of(client, "subscribe", published.text))
    )


def must_not(past: History, client: str, published: Published) -> bool:
    def alive(span: Span) -> bool:
        return span.end > published.step and not past.settled_between(published.step, span.begin)

    advertised = past.of(published.client, "advertise", published.text)
    return not any(past.entitles(span, published) for span in advertised) or not any(
        map(alive, past.of(client, "subscribe", published.text))
    )


@dataclass(frozen=True)
class Violation:
    """One client and one publication: it got it a number of times, of which only some are right."""

    client: str
    publication: str
    times: int
    right: int
    """The nearest number of times that would have been right."""

    def __str__(self) -> str:
        word = "lost" if self.times < self.right else "got twice" if self.right else "got what was not for it"
        return f"{self.client}: {word}: {self.publication}"


def violations(case: Case, got: Mapping[str, Sequence[str]], losing: frozenset[str] = KILLS) -> list[Violation]:
    """All that went wrong, in the order of clients and of publications; these faults may cost publications."""
    past = history(case, losing)
    found = []
    for client in sorted({span.client for span in past.spans} | got.keys()):
        times = Counter(got.get(client, ()))
        for published in past.publications:
            least = int(must(past, client, published))
            most = int(not must_not(past, client, published))
            right = min(max(times[published.id], least), most)
            if times[published.id] != right:
                found.append(Violation(client, published.id, times[published.id], right))
    return found
