"""Replication of subscriptions with advertisements, by hand and against paths between subscribers and publishers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.claims import ClaimsError
from analysis.claims.measured_run import MeasuredRun
from analysis.claims.papers.medym.replication import MEDYM, replications
from analysis.claims.papers.medym.variants import CBF
from record.log import Event, PredicateRecord, TraceRecord
from tests.analysis.claims.papers.medym.small_runs import measured, variant
from topology.link_properties import Link
from topology.model import Broker, Overlay

Wanted = Mapping[int, Sequence[int]]
"""Values that each server wants, by the server's number."""
Advertised = Mapping[int, tuple[int, int]]
"""The interval that each publication server advertises."""


def run_on(directory: Path, tree: nx.Graph[int], points: Mapping[str, tuple[Wanted, Advertised]]) -> MeasuredRun:
    """A run with two variants for each point. Under content-based forwarding subscriptions went along all paths to
    servers that advertise, under MEDYM directly to these, all of them twice, because servers repeat some."""
    logs: dict[str, list[TraceRecord]] = {"subscribers": [], "publishers": [], **{f"B{node}": [] for node in tree}}
    routes: Mapping[str, Route] = {CBF: partial(nx.shortest_path, tree), MEDYM: _direct}
    for point, (wanted, advertised) in points.items():
        for scheme, route in routes.items():
            for record in _records(f"{point}+{scheme}", route, wanted, advertised):
                logs[record.node].append(record)
    (directory / "logs").mkdir(parents=True)
    for node, records in logs.items():
        lines = b"".join(msgspec.json.encode(record) + b"\n" for record in records)
        (directory / "logs" / f"{node}.jsonl").write_bytes(lines)
    brokers = tuple(Broker(f"B{node}") for node in tree)
    overlays = {
        CBF: Overlay("tree", brokers, tuple(Link(f"B{a}", f"B{b}") for a, b in tree.edges)),
        MEDYM: Overlay("mesh", brokers, tuple(Link(f"B{a}", f"B{b}") for a, b in combinations(tree, 2))),
    }
    names = [(f"{point}+{scheme}", overlay) for point in points for scheme, overlay in overlays.items()]
    return MeasuredRun(directory, tuple(replace(variant(name), overlay=overlay) for name, overlay in names))


Route = Callable[[int, int], Sequence[int]]
"""The servers that a subscription crosses from one to another."""


def _direct(source: int, destination: int) -> Sequence[int]:
    return source, destination


def _records(name: str, route: Route, wanted: Wanted, advertised: Advertised) -> Iterator[TraceRecord]:
    def record(node: str, event: Event, **fields: object) -> TraceRecord:
        return msgspec.convert({"time": 0, "node": node, "variant": name, "event": event, **fields}, TraceRecord)

    for server in advertised:
        yield record(f"B{server}", Event.RECEIVED, kind=Event.ADVERTISE, client=f"P{server}", id="a1")
    for server, values in wanted.items():
        for number, value in enumerate(values, start=1):
            client, id = f"S{server}", f"s{number}"
            yield record("subscribers", Event.SUBSCRIBE, client=client, id=id, predicates=[_predicate("=", value)])
            yield record(f"B{server}", Event.RECEIVED, kind=Event.SUBSCRIBE, client=client, id=id)
            message = f"B{server}.1.{number + (server in advertised)}"
            for publisher, (low, high) in (*advertised.items(), *advertised.items()):
                if low <= value <= high and publisher != server:
                    for sender, receiver in pairwise(f"B{node}" for node in route(server, publisher)):
                        yield record(receiver, Event.RECEIVED, kind=Event.SUBSCRIBE, id=message, peer=sender)


def _predicate(operator: str, value: int) -> dict[str, object]:
    return msgspec.to_builtins(PredicateRecord(attribute="value", operator=operator, number=value))


def chain(servers: int) -> nx.Graph[int]:
    return nx.path_graph(servers)


def test_servers_on_the_way_store_what_they_do_not_need(tmp_path: Path) -> None:
    """B0 and B2 want 1, and B2 advertises it: B2 stores it for B0, and B1 does, too, under content-based forwarding.
    Nobody stores anything for B2."""
    run = run_on(tmp_path, chain(3), {"10+50": ({0: [1], 2: [1]}, {2: (1, 1)})})
    ((point, found),) = replications(run).items()
    assert point == (10, 50)
    assert found == pytest.approx((0.05, 1 / 6, 2 / 6))


def test_margins_are_of_all_points(tmp_path: Path) -> None:
    """At each point all four servers of a chain want 1; servers from B3 downwards advertise it, fewer or more."""
    everyone = {server: [1] for server in range(4)}
    advertisers = {"25+100": 1, "50+100": 2, "25+50": 1, "50+50": 2}
    points = {name: (everyone, {3 - server: (1, 1) for server in range(count)}) for name, count in advertisers.items()}
    run = run_on(tmp_path, chain(4), points)
    # One advertiser: 3 need it, and 3 + 2 + 1 store it, of 16. Two: 6 need it, and 3 + 2 + 1 and one behind store it.
    near, above, fewer, narrower = measured(run, "replication").values
    assert (above, fewer, narrower) == pytest.approx((7 / 6 - 1, (6 / 3) / (7 / 6) - 1, 0))
    ratios = [3 / 16 / 0.25, 6 / 16 / 0.5, 3 / 16 / 0.125, 6 / 16 / 0.25]
    assert near == pytest.approx(0.1 - abs(sum(ratios) / 4 - 1))


def test_points_must_be_complete(tmp_path: Path) -> None:
    run = run_on(tmp_path, chain(2), {"10+50": ({0: [1]}, {1: (1, 1)})})
    with pytest.raises(ClaimsError, match="needs each share"):
        measured(run, "replication")


@st.composite
def declared(draw: st.DrawFn) -> tuple[nx.Graph[int], Wanted, Advertised]:
    servers = draw(st.integers(2, 7))
    tree: nx.Graph[int] = nx.Graph()
    tree.add_nodes_from(range(servers))
    tree.add_edges_from((draw(st.integers(0, node - 1)), node) for node in range(1, servers))
    values = st.integers(0, 4)
    some = st.sampled_from(range(servers))
    wanted = draw(st.dictionaries(some, st.lists(values, unique=True, min_size=1), min_size=1))
    intervals = st.tuples(values, values).map(lambda ends: (min(ends), max(ends)))
    return tree, wanted, draw(st.dictionaries(some, intervals))


@settings(max_examples=30)
@given(declared())
def test_a_subscription_is_stored_on_all_paths_to_its_advertisers(
    given_: tuple[nx.Graph[int], Wanted, Advertised],
) -> None:
    tree, wanted, advertised = given_
    pairs = [(server, value) for server, values in wanted.items() for value in values]
    needed = stored = 0
    for server, value in pairs:
        towards = [other for other, (low, high) in advertised.items() if low <= value <= high]
        needed += len(set(towards) - {server})
        stored += len({node for other in towards for node in nx.shortest_path(tree, server, other)} - {server})
    with TemporaryDirectory() as directory:
        (found,) = replications(run_on(Path(directory), tree, {"1+1": (wanted, advertised)})).values()
    assert found[1:] == pytest.approx((needed / len(pairs) / len(tree), stored / len(pairs) / len(tree)))
