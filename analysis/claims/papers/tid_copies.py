"""The TID paper's statements on copies of messages (sections 3.2 and 3.3), checked over all events of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from analysis.claims.measure import Measure
from analysis.claims.measured_run import MeasuredRun
from analysis.claims.model import Recipe
from analysis.claims.verdict import Measurement
from broker_service.messages import Kind
from record.log import Event
from topology.link_properties import BrokerId


def received_twice(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Publications that a broker received more than once from its neighbours, in any broker's log (Property 1)."""
    violations = checked = 0
    example = ""
    for broker in run.brokers:
        arrivals = Counter(
            (record.variant, record.id)
            for record in run.records(broker)
            if record.event is Event.RECEIVED and record.kind == Kind.PUBLISH.word and record.peer is not None
        )
        checked += len(arrivals)
        for (variant, publication), times in arrivals.items():
            if times > 1:
                violations += 1
                example = example or f"{variant}: {broker} received {publication} {times} times"
    return Measurement(values=(float(violations),), checked=checked, example=example)


def once(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Messages that TID routing handles twice (section 3.2), in a run in which advertisements come first.

    They are publications that a broker received more than once from its neighbours, subscriptions of which a broker
    sent a neighbour more copies than it has received (one at the subscriber's broker), because a copy names all trees
    of the same next hop, and publications whose content several brokers compared with subscriptions. Brokers log no
    comparison of a subscription with advertisements.
    """
    publications = received_twice(run, recipe)
    arrivals: Counter[tuple[str, str, BrokerId]] = Counter()
    copies: Counter[tuple[str, str, BrokerId, BrokerId]] = Counter()
    for broker in run.brokers:
        for record in run.records(broker, b'"kind":"subscribe"'):
            if record.id is None or record.peer is None:
                continue
            if record.event is Event.RECEIVED:
                arrivals[record.variant, record.id, broker] += 1
            elif record.event is Event.SENT:
                copies[record.variant, record.id, broker, record.peer] += 1
    doubled = [copy for copy, times in copies.items() if times > max(arrivals[copy[:3]], 1)]
    compared = sum(variant.matching.at_several_brokers for variant in run.variants)
    example = publications.example
    if doubled and not example:
        variant, subscription, broker, neighbour = doubled[0]
        example = f"{variant}: {broker} sent {neighbour} more copies of {subscription} than it has received"
    if compared and not example:
        example = f"{compared} publications were compared at several brokers"
    violations = sum(value or 0.0 for value in publications.values) + len(doubled) + compared
    return Measurement(values=(violations,), checked=publications.checked + len(copies), example=example)


def same_notified(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Pairs of publication and client notified with fixed or with dynamic routing, and not with both (Property 2).

    The notifications that took another path under dynamic than under fixed routing count as checked, because only
    there a publication has certainly changed its tree.
    """
    violations = checked = 0
    example = ""
    for fixed, dynamic in run.pairs():
        paths = {(row.publication, row.client): row.path for row in fixed.notifications}
        others = {(row.publication, row.client): row.path for row in dynamic.notifications}
        differing = paths.keys() ^ others.keys()
        violations += len(differing)
        checked += sum(others.get(pair) != path for pair, path in paths.items())
        if differing and not example:
            publication, client = min(differing)
            only = fixed if (publication, client) in paths else dynamic
            example = f"{client} received {publication} in variant {only.name} only"
    return Measurement(values=(float(violations),), checked=checked, example=example)


MEASURES: Mapping[str, Measure] = {
    "received twice": received_twice,
    "once": once,
    "same notified": same_notified,
}
"""Measures by the names that recipes use."""
