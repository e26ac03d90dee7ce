"""Virtual start times and announced changes of a leaf: the paper's Examples 1, 2 and 5, and properties."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from broker_service.language.relations import covers
from broker_service.routing.gryphon.subscriptions.conjunctions import Conjunction
from broker_service.routing.gryphon.subscriptions.covering import ExactCovering
from broker_service.routing.gryphon.subscriptions.leaf_subscriptions import LeafChange, LeafSubscriptions
from broker_service.routing.gryphon.virtual_time import VirtualClock
from tests.broker_service.routing.gryphon.subscriptions.gryphon_strategies import conjunction, conjunctions

IBM = conjunction("[class,eq,'nyse'],[stock,eq,'ibm']")
EXPENSIVE_IBM = conjunction("[class,eq,'nyse'],[stock,eq,'ibm'],[p,>,90]")
T = conjunction("[class,eq,'nyse'],[stock,eq,'t'],[p,>,19]")
MSFT = conjunction("[class,eq,'nasdaq'],[stock,eq,'msft']")


def leaf() -> LeafSubscriptions[str]:
    return LeafSubscriptions(VirtualClock(), ExactCovering())


def test_examples_1_and_2() -> None:
    subscriptions = leaf()
    assert subscriptions.subscribe("s1", [IBM]) == 1
    assert subscriptions.flush() == LeafChange(1, (IBM,), ())
    assert subscriptions.subscribe("s2", [EXPENSIVE_IBM, T, MSFT]) == 2
    starts = {node.conjunction.body: node.payload.start for node in subscriptions.graph.nodes.values()}
    assert starts == {IBM.body: 1, EXPENSIVE_IBM.body: 1, T.body: 2, MSFT.body: 2}
    assert subscriptions.flush() == LeafChange(2, (T, MSFT), ())
    assert subscriptions.first_start == 1


def test_example_5_a_subscription_starts_with_the_first_vector_that_holds_its_start_time() -> None:
    subscriptions = leaf()
    subscriptions.subscribe("s1", [IBM])
    subscriptions.flush()
    subscriptions.subscribe("s2", [EXPENSIVE_IBM, T, MSFT])
    subscriptions.flush()
    started = [time >= subscriptions.start("s2") for time in (1, 1, 2)]  # of m1, m2 and m3 in the paper
    assert started == [False, False, True]


def test_a_subscription_that_others_cover_starts_as_early_and_is_not_announced() -> None:
    subscriptions = leaf()
    subscriptions.subscribe("s1", [IBM])
    subscriptions.flush()
    assert subscriptions.subscribe("s2", [EXPENSIVE_IBM]) == 1
    assert subscriptions.flush() is None


def test_operations_of_a_batch_share_a_tick() -> None:
    subscriptions = leaf()
    for number in range(10):
        assert subscriptions.subscribe(f"s{number}", [conjunction(f"[topic,=,{number}]")]) == 1
    change = subscriptions.flush()
    assert change is not None
    assert (change.time, len(change.added)) == (1, 10)
    assert subscriptions.flush() is None


def test_withdrawing_a_root_announces_what_it_covered() -> None:
    subscriptions = leaf()
    subscriptions.subscribe("s1", [IBM])
    subscriptions.subscribe("s2", [EXPENSIVE_IBM])
    subscriptions.flush()
    subscriptions.unsubscribe("s1")
    assert subscriptions.flush() == LeafChange(2, (EXPENSIVE_IBM,), (IBM,))
    assert subscriptions.start("s2") == 1


def test_a_conjunction_withdrawn_and_made_again_in_one_batch_is_announced() -> None:
    subscriptions = leaf()
    subscriptions.subscribe("s1", [IBM])
    subscriptions.flush()
    subscriptions.unsubscribe("s1")
    assert subscriptions.subscribe("s1", [IBM]) == 2
    assert subscriptions.flush() == LeafChange(2, (), ())


@given(st.lists(st.tuples(st.integers(0, 5), st.lists(conjunctions, max_size=3)), max_size=20))
def test_whoever_has_the_changes_up_to_a_time_covers_what_began_by_then(
    batches: list[tuple[int, list[Conjunction]]],
) -> None:
    """V_b is sound at the leaf, after every batch; start times never grow down the graph."""
    subscriptions = leaf()
    standing: dict[str, list[Conjunction]] = {}
    roots: dict[bytes, Conjunction] = {}
    time = 0
    for number, wanted in batches:
        name = f"s{number}"
        if name in standing:
            subscriptions.unsubscribe(name)
            del standing[name]
        if wanted:
            subscriptions.subscribe(name, wanted)
            standing[name] = wanted
        if number % 2:
            change = subscriptions.flush()
            if change is not None:
                roots = {body: root for body, root in roots.items() if root not in change.removed}
                roots |= {root.body: root for root in change.added}
                time = change.time
        for subscriber, members in standing.items():
            if subscriptions.start(subscriber) <= time:
                for member in members:
                    assert any(covers(root.subscription, member.subscription) for root in roots.values())
        for node in subscriptions.graph.nodes.values():
            assert all(parent.payload.start >= node.payload.start for parent in node.parents.values())
        if number % 2:
            assert all(subscriptions.start(subscriber) <= time for subscriber in standing)
