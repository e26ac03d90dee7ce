"""Detections that clients must and may get, derived from the steps of a case and the naive definition of a detection.

As in `oracle`, what is in flight *may* count. For each composite subscription, from its step to the one that ends it:

- A set *must* be notified if it fulfils the pattern with publications that a plain subscription in the place of the
  composite one must get, unless the broker that keeps its matches dies between the first and the last of them. That is
  the subscriber's broker, and may be any broker where the protocol routes units.
- A set *must not* be notified unless it fulfils the pattern with publications that such a subscription may get.
- No set is notified twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from broker_service.language.notation import parse_composite, parse_publication
from studies.conformance.model import BrokerFault, Case, ClientStep
from studies.conformance.protocols import PROTOCOLS
from tests.broker_service.detection import naive
from tests.properties.oracle import History, Published, Span, history, losing

_FOR_EVER = 1 << 62
"""A window that no case exceeds."""

Judgement = Callable[[History, Span, Published], bool]


def violations(case: Case, detected: Mapping[str, Sequence[frozenset[str]]], protocol: str) -> list[str]:
    """All detections that are wrong, by client. `protocol` is a conformance row."""
    forgotten = _any_forgotten if PROTOCOLS[protocol].options.get("composites", "simple") != "simple" else _forgotten
    past = history(case, losing(protocol))
    least: Counter[tuple[str, frozenset[str]]] = Counter()
    most: Counter[tuple[str, frozenset[str]]] = Counter()
    for span in past.spans:
        if span.kind == "composite":
            owed = {members for members in _sets(past, span, _must) if not forgotten(case, past, span, members)}
            least.update((span.client, members) for members in owed)
            most.update((span.client, members) for members in _sets(past, span, _may))
    times = Counter((client, members) for client, sets in detected.items() for members in sets)
    found = []
    for client, members in sorted(least.keys() | most.keys() | times.keys(), key=repr):
        key, words = (client, members), f"{client}: {{{', '.join(sorted(members))}}}"
        if times[key] < least[key]:
            found.append(f"{words} is lost")
        elif times[key] > most[key]:
            found.append(f"{words} is notified {times[key]} times, and {most[key]} are right")
    return found


def _sets(past: History, span: Span, right: Judgement) -> set[frozenset[str]]:
    """Sets that fulfil the pattern of a span with the publications for which the judgement is true."""
    publications = [
        naive.Published(published.id, 0, parse_publication(published.text).attributes)
        for published in past.publications
        if right(past, span, published)
    ]
    return naive.detections(parse_composite(span.text), publications, _FOR_EVER)


def _must(past: History, span: Span, published: Published) -> bool:
    def stable(declared: Span) -> bool:
        return past.settled_between(declared.begin, published.step) and past.settled_between(
            published.step, declared.end
        )

    advertised = past.of(published.client, "advertise", published.text)
    return past.undisturbed(published) and stable(span) and any(map(stable, advertised))


def _may(past: History, span: Span, published: Published) -> bool:
    advertised = past.of(published.client, "advertise", published.text)
    return (
        any(past.entitles(declared, published) for declared in advertised)
        and span.end > published.step
        and not past.settled_between(published.step, span.begin)
    )


def _forgotten(case: Case, past: History, span: Span, members: frozenset[str]) -> bool:
    """True when the subscriber's broker dies between the first and the last publication of a set."""
    (home,) = {
        step.broker
        for number, step in enumerate(case.steps)
        if isinstance(step, ClientStep) and (number, step.client) == (span.begin, span.client)
    }
    steps = [published.step for published in past.publications if published.id in members]
    return any(
        isinstance(step, BrokerFault) and step.op == "kill" and step.broker == home
        for step in case.steps[min(steps) : max(steps)]
    )


def _any_forgotten(case: Case, past: History, _span: Span, members: frozenset[str]) -> bool:
    """True when a broker dies before the last publication of a set, and the overlay has not settled since its restart
    when the first is published."""
    steps = [published.step for published in past.publications if published.id in members]
    for number, step in enumerate(case.steps[: max(steps)]):
        if isinstance(step, BrokerFault) and step.op == "kill":
            restarts = _restarts(case, step.broker, number)
            if not restarts or not past.settled_between(restarts[0], min(steps)):
                return True
    return False


def _restarts(case: Case, broker: str, after: int) -> list[int]:
    """Numbers of the steps after a step that start a broker again."""
    return [
        number
        for number, step in enumerate(case.steps)
        if number > after and isinstance(step, BrokerFault) and (step.op, step.broker) == ("restart", broker)
    ]
