"""Streams over redundant trees, in order and without gaps, under any schedule of messages, timers and faults.

Broken routers show that this can fail; `tests/properties/gryphon/test_gryphon.py` has others, and the table of both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from broker_service.messages import Kind
from broker_service.routing.gryphon import GryphonRouter
from broker_service.routing.gryphon.overlay import RoutingTree
from broker_service.routing.gryphon.router import decode_any
from broker_service.routing.interface import RouterContext
from tests.broker_service.routing.gryphon.router_overlay import COMPLETE, FIGURE_7, LINES, RouterOverlay
from tests.broker_service.routing.gryphon.stream_checks import NUMBERS, Trial, findings
from tests.properties.gryphon import gryphon_mutants as mutants

FIVE = RoutingTree((("a", "b", "c", "d", "e"),), ())
TREES = {"lines": LINES, "figure 7": FIGURE_7, "complete": COMPLETE}
PATHS = ("hash", "message", "least-loaded")
Router = Callable[[RouterContext[Any]], GryphonRouter]


def wanting(first: int, last: int) -> str:
    return f"[class,eq,'E'],[n,>=,{first}],[n,<=,{last}]"


@pytest.mark.parametrize("tree", TREES.values(), ids=TREES)
@pytest.mark.parametrize(("faults", "loss"), [(0.0, 0.0), (0.05, 0.0), (0.0, 0.1), (0.05, 0.05)])
def test_clients_get_everything_from_a_start_on_in_order_and_once(
    tree: RoutingTree, faults: float, loss: float
) -> None:
    for seed, paths in enumerate(PATHS):
        assert findings(seed, tree=tree, faults=faults, loss=loss, paths=paths) == []


@pytest.mark.parametrize(
    ("tree", "seed", "circumstances"),
    [
        # A leaf ignored a publication whose vector had been lost on the way, because an end with an older one came.
        (LINES, 5, {"faults": 0.05, "loss": 0.05, "paths": "hash"}),
        # A detour became longer while a message was on it, and the message counted as malformed.
        (FIVE, 9, {"faults": 0.1, "paths": "hash"}),
    ],
)
def test_histories_that_went_wrong_once(tree: RoutingTree, seed: int, circumstances: Mapping[str, Any]) -> None:
    assert findings(seed, tree=tree, **circumstances) == []


# Broken routers


def example_5(router: Router) -> RouterOverlay:
    """Example 5 of the paper: what matches before the start is not delivered, even if it arrives."""
    overlay = RouterOverlay(router=router)
    overlay.subscribe("X", "d", wanting(1, 2))
    overlay.settle()
    overlay.subscribe("S", "d", wanting(2, 3))
    for number in (2, 3):
        overlay.publish("a", number)
    overlay.settle()
    overlay.publish("a", 3)
    overlay.settle()
    return overlay


def one_broker_of_a_node_lags_behind(router: Router) -> RouterOverlay:
    """b2 has not heard of a subscription that a publication must be matched against, and sends it on regardless."""
    overlay = RouterOverlay(router=router, paths="message")
    overlay.subscribe("X", "d", wanting(1, 1))
    overlay.settle()
    for _ in range(4):
        overlay.publish("a", 1)
        overlay.settle()
    overlay.held = {("b1", "b2"), ("c1", "b2"), ("c2", "b2")}
    overlay.subscribe("S", "d", wanting(3, 3))
    overlay.pass_time(0.05)
    for _ in range(2):
        overlay.publish("a", 3)
    overlay.pass_time(0.05)
    overlay.held.clear()
    overlay.settle()
    return overlay


def a_publication_and_its_vector_are_lost(router: Router) -> RouterOverlay:
    """A retransmission has the vector of before: S wants the publication, and starts only behind it."""
    overlay = RouterOverlay(router=router)
    overlay.subscribe("X", "d", wanting(0, 1))
    overlay.settle()
    overlay.publish("a", 0)
    overlay.settle()
    overlay.subscribe("Y", "b1", wanting(5, 5))
    overlay.settle()
    overlay.losing = {("a", "b1"), ("a", "b2")}
    for number in (1, 2):
        overlay.publish("a", number)
    overlay.quiet()
    overlay.losing.clear()
    overlay.subscribe("S", "d", wanting(1, 2))
    overlay.pass_time(0.015)
    overlay.publish("a", 1)
    overlay.settle()
    return overlay


def a_publishers_broker_is_restarted_before_it_hears_of_anything(router: Router) -> RouterOverlay:
    """The start of S was announced after the latest publication of the broker that crashes."""
    overlay = RouterOverlay(router=router)
    overlay.subscribe("X", "d", wanting(1, 1))
    overlay.settle()
    overlay.publish("a", 1)
    overlay.settle()
    overlay.subscribe("S", "d", wanting(2, 2))
    overlay.settle()
    overlay.kill("a")
    overlay.restart("a")
    overlay.publish("a", 2)
    overlay.settle()
    return overlay


def an_end_is_announced_behind_a_publication_whose_vector_was_lost(router: Router) -> RouterOverlay:
    """A broker knows an older vector than that of the publication. It has to announce no end behind it, because with
    the older vector S has not started, although its start has been announced."""
    overlay = RouterOverlay(router=router)
    overlay.subscribe("X", "d", wanting(1, 1))
    overlay.subscribe("S", "c2", wanting(4, 4))
    overlay.settle()
    overlay.unsubscribe("S", "c2")
    overlay.publish("a", 1)
    overlay.settle()
    overlay.subscribe("S", "c2", wanting(2, 2))
    overlay.settle()
    overlay.losing = {("a", "b1"), ("a", "b2")}
    overlay.publish("a", 1)
    overlay.quiet()
    overlay.losing.clear()
    overlay.subscribe("Y", "a", wanting(3, 3))
    overlay.publish("a", 2)
    overlay.quiet()
    for broker in ("b1", "b2"):
        overlay.cut(broker, "c2")
        overlay.join(broker, "c2")
    overlay.settle()
    return overlay


Example = Callable[[Router], RouterOverlay]
EXPECTED: Mapping[Example, Mapping[str, Sequence[str]]] = {
    example_5: {"X": ["e1"], "S": ["e3"]},
    one_broker_of_a_node_lags_behind: {"X": ["e1", "e2", "e3", "e4"], "S": ["e5", "e6"]},
    a_publication_and_its_vector_are_lost: {"X": ["e1", "e2", "e4"], "S": ["e4"]},
    a_publishers_broker_is_restarted_before_it_hears_of_anything: {"X": ["e1"], "S": ["e2"]},
    an_end_is_announced_behind_a_publication_whose_vector_was_lost: {"X": ["e1", "e2"], "S": ["e3"]},
}


@pytest.mark.parametrize("example", EXPECTED)
def test_examples(example: Example) -> None:
    assert example(GryphonRouter).notified == EXPECTED[example]


@pytest.mark.parametrize(
    ("router", "example"),
    [
        (mutants.StartsAtOnce, example_5),
        (mutants.TrustsItsRoots, one_broker_of_a_node_lags_behind),
        (mutants.KeepsSufficiency, one_broker_of_a_node_lags_behind),
        (mutants.RetransmitsWithTheLatestVector, a_publication_and_its_vector_are_lost),
        (mutants.ForgetsWhatItAcknowledged, a_publishers_broker_is_restarted_before_it_hears_of_anything),
        (mutants.AnnouncesEndsBehindLostVectors, an_end_is_announced_behind_a_publication_whose_vector_was_lost),
    ],
)
def test_broken_routers_go_wrong_in_an_example(router: type[GryphonRouter], example: Example) -> None:
    assert example(router).notified != EXPECTED[example]


@pytest.mark.parametrize(
    ("router", "circumstances"),
    [
        (mutants.StartsBehindTheStart, {}),
        (mutants.AnswersFromItsCacheOnly, {"loss": 0.2}),
        (mutants.TakesOverflowForSilence, {"loss": 0.2, "reorder_bytes": 80}),
        (mutants.BeginsWithItsOwnVector, {"faults": 0.05}),
        (mutants.BeginsDigestsAnew, {"faults": 0.05}),
        (mutants.AnnouncesStartsAtOnce, {}),
        (mutants.AnnouncesNoStarts, {}),
        (mutants.AcknowledgesNewsAtOnce, {}),
        (mutants.FollowsFromWhatArrives, {"loss": 0.1}),
    ],
)
def test_broken_routers_are_caught(router: type[GryphonRouter], circumstances: Mapping[str, Any]) -> None:
    assert any(findings(seed, router, paths="message", **circumstances) for seed in range(12))


# Metamorphic properties: what must not matter


def sequences(
    seed: int,
    router: Router = GryphonRouter,
    *,
    crashing: Sequence[str] = (),
    **options: object,
) -> tuple[dict[tuple[str, str], list[str]], RouterOverlay]:
    """The notifications by client and publishers' broker when subscriptions have settled before anything is published,
    and the overlay."""
    trial = Trial(RouterOverlay(LINES, seed, router, **options))
    overlay, rng = trial.overlay, trial.overlay.random
    for number, broker in enumerate(LINES.brokers):
        trial.subscribe(broker, range(number % 3, 1 + number % 3 + number % 2))
    overlay.settle()
    for number in range(40):
        trial.publish("a" if number % 3 else "d", NUMBERS[number % 4])
        if crashing and number in (10, 25):
            overlay.kill(crashing[number % len(crashing)])
        if crashing and number in (18, 33):
            overlay.restart(crashing[(number - 8) % len(crashing)])
        for _ in range(rng.randrange(6)):
            overlay.deliver()
    trial.end()
    home = {each.id: each.broker for each in trial.published}
    found: dict[tuple[str, str], list[str]] = {}
    for client in ("S0", "S5"):
        for id in overlay.notified[client]:
            found.setdefault((client, home[id]), []).append(id)
    return {key: [id for id in ids if int(id[1:]) <= 40] for key, ids in found.items()}, overlay


def test_paths_filtering_and_covering_do_not_matter_to_clients() -> None:
    expected, _ = sequences(1)
    assert sum(map(len, expected.values())) > 20
    others = (("paths", "message"), ("paths", "least-loaded"), ("filtering", "flooding"), ("covering", "identity"))
    for option, value in others:
        options: dict[str, Any] = {option: value}
        assert sequences(2, **options)[0] == expected, options


def test_publications_go_over_the_broker_that_their_attribute_chooses() -> None:
    overlay = RouterOverlay(FIGURE_7, hash_by="n")
    overlay.subscribe("S", "s1")
    overlay.settle()
    overlay.sent.clear()
    for number in range(6):
        overlay.publish("pb", number)
    overlay.settle()
    taken = [to for sender, to, message, _ in overlay.sent if sender == "pb" and message.kind is Kind.PUBLISH]
    assert taken == ["i1", "i2", "i3"] * 2
    overlay.cut("pb", "i2")
    overlay.sent.clear()
    overlay.publish("pb", 1)
    overlay.settle()
    taken = [to for sender, to, message, _ in overlay.sent if sender == "pb" and message.kind is Kind.PUBLISH]
    assert taken == ["i3"]
    assert overlay.notified["S"] == [f"e{number}" for number in range(1, 8)]


def test_without_an_order_clients_get_the_same_once() -> None:
    ordered, _ = sequences(1)
    unordered, _ = sequences(4, order="none", paths="message", crashing=("b1", "c2"))
    assert {key: sorted(ids) for key, ids in unordered.items()} == {key: sorted(ids) for key, ids in ordered.items()}


def test_crashes_of_brokers_between_do_not_matter_to_clients_of_others() -> None:
    expected, _ = sequences(1)
    for seed in range(6):
        assert sequences(seed, crashing=("b1", "c2") if seed % 2 else ("b2", "c2"), paths="message")[0] == expected


def test_the_same_seed_gives_the_same_messages() -> None:
    first, second = (sequences(5, crashing=("b1", "c1"), paths="message")[1] for _ in range(2))
    assert first.sent == second.sent


class ComparesEveryTime(GryphonRouter):
    """Keeps no result of the comparison of vectors."""

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        self._forwarding._sufficient = KeepsNothing()


class KeepsNothing(dict[Any, Any]):
    def __setitem__(self, key: object, value: object) -> None:
        pass


def test_kept_results_of_comparisons_do_not_matter() -> None:
    crashing = ("b1", "c1")
    kept, anew = (sequences(5, router, crashing=crashing)[1] for router in (GryphonRouter, ComparesEveryTime))
    assert kept.sent == anew.sent


# Precision and bounds


@pytest.mark.parametrize("paths", PATHS)
def test_when_all_is_quiet_a_publication_reaches_only_nodes_with_matches_behind_them_and_each_once(paths: str) -> None:
    trial = Trial(RouterOverlay(LINES, paths=paths))
    overlay = trial.overlay
    wanted = {"a": range(0, 1), "b2": range(1, 2), "c1": range(1, 3), "d": range(0, 2)}
    for broker, numbers in wanted.items():
        trial.subscribe(broker, numbers)
    overlay.settle()
    for publisher in LINES.brokers:
        for number in NUMBERS:
            overlay.sent.clear()
            trial.publish(publisher, number)
            overlay.settle()
            copies = Counter(
                (LINES.node_of[sender], LINES.node_of[receiver])
                for sender, receiver, message, _ in overlay.sent
                if message.kind is Kind.PUBLISH
            )
            interested = [broker for broker, numbers in wanted.items() if number in numbers and broker != publisher]
            between = {edge for edge in copies if edge[0] != edge[1]}
            assert between == {edge for broker in interested for edge in _way(publisher, broker)}
            assert all(copies[edge] == 1 for edge in between)
            within = sum(copies[node, node] for node in range(len(LINES.nodes)))
            assert within <= sum(broker in ("b2", "c1") for broker in interested)


def _way(publisher: str, subscriber: str) -> list[tuple[int, int]]:
    """The edges between the nodes of two brokers; the nodes of this tree are in a row."""
    first, last = LINES.node_of[publisher], LINES.node_of[subscriber]
    step = 1 if first < last else -1
    return [(node, node + step) for node in range(first, last, step)]


def test_bounds_hold_while_a_subscribers_broker_is_cut_off_and_everything_arrives_afterwards() -> None:
    overlay = RouterOverlay(LINES, log_bytes=6_000, cache_bytes=1_000, reorder_bytes=500, forget_after=600)
    overlay.subscribe("S", "d")
    overlay.settle()
    overlay.cut("c1", "d")
    overlay.cut("c2", "d")
    ids = []
    while "a" not in overlay.publishers_held:
        ids.append(overlay.publish("a"))
        overlay.quiet()
        for running in overlay.brokers.values():
            router = running.router
            assert router._log.bytes < 6_000 + 200
            assert router._relay.cached_bytes <= 1_000
            assert all(state.horizon.bytes <= 500 for state in router._forwarding.streams.values())
    assert len(ids) > 30
    overlay.join("c1", "d")
    overlay.join("c2", "d")
    overlay.pass_time(20.0)
    overlay.settle()
    assert overlay.notified["S"] == ids
    assert not overlay.publishers_held
    assert len(overlay.brokers["a"].router._log.publications) == 0


def test_publications_are_kept_on_their_way_and_not_at_its_end() -> None:
    overlay = RouterOverlay(LINES)
    overlay.subscribe("S", "d")
    overlay.settle()
    overlay.publish("a")
    overlay.quiet()
    keeping = {name for name, running in overlay.brokers.items() if running.router._relay.cached_bytes}
    assert overlay.notified["S"] == ["e1"]
    assert len(keeping & {"b1", "b2"}) == len(keeping & {"c1", "c2"}) == 1
    assert not keeping & {"a", "d"}


def test_silent_positions_that_come_with_a_publication_are_announced_where_it_does_not_go() -> None:
    overlay = RouterOverlay(FIGURE_7, paths="message")
    for number, broker in enumerate(("s1", "s2")):
        overlay.subscribe(f"S{number}", broker, wanting(number, number))
    overlay.settle()
    for number in (0, 1, 2, 0, 2, 1, 2, 2, 0, 1):
        overlay.publish("pb", number)
        overlay.quiet()
    overlay.settle()
    labels = {label for *_, message, label in overlay.sent if message.kind is Kind.CONTROL}
    assert "silence" in labels
    assert "nack" not in labels


def test_silent_positions_cost_no_message_on_a_single_path() -> None:
    overlay = RouterOverlay(LINES)
    overlay.subscribe("S", "d", "[class,eq,'E'],[n,=,1]")
    overlay.settle()
    overlay.sent.clear()
    for number in (0, 0, 0, 1):
        overlay.publish("a", number)
    overlay.settle()
    labels = [label for *_, message, label in overlay.sent if message.kind is Kind.CONTROL]
    assert set(labels) <= {"acknowledge", "head"}
    assert not [each for *_, message, label in overlay.sent if label == "nack" for each in [decode_any(message.header)]]
