"""Targets of faults, resolved from the words of a scenario."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scenario.faults.target_words import TargetError
from scenario.faults.targets import Targets
from tests.scenario.faults.overlays import DUMBBELL, overlay_of, random_overlay
from topology import shapes
from topology.link_properties import LinkDirection, LinkProperties
from topology.links import LinkTemplates, build
from topology.model import Broker, Overlay
from topology.sites import ClientHost, Site


def targets(overlay: Overlay = DUMBBELL, seed: int = 1, fault: int = 0) -> Targets:
    made = Targets(overlay, seed)
    made.begin(fault)
    return made


def both(*links: tuple[str, str]) -> tuple[LinkDirection, ...]:
    return tuple(direction for a, b in links for direction in (LinkDirection(a, b), LinkDirection(b, a)))


NO_PROPERTIES = LinkProperties()
SITES = (
    Site("berlin", "M", ("S1", "S2"), NO_PROPERTIES, NO_PROPERTIES),
    Site("oslo", "A1", ("S3",), NO_PROPERTIES, NO_PROPERTIES),
)


def at_sites(fault: int = 0) -> Targets:
    made = Targets(DUMBBELL, 1, sites=SITES)
    made.begin(fault)
    return made


def test_sites_and_their_clients() -> None:
    berlin, client = ClientHost("berlin", "berlin", ("S1", "S2")), ClientHost("S1", "berlin", ("S1",))
    assert at_sites().of_sites.hosts(["berlin", "S1", "S1"]) == (berlin, client)
    assert at_sites().of_sites.whole(["S3"]) == at_sites().of_sites.hosts(["oslo"])
    first = at_sites()
    assert {host.name for host in (*first.of_sites.hosts(["random-site"]), *first.of_sites.hosts(["random-site"]))} == {
        "berlin",
        "oslo",
    }
    assert {host.name for host in at_sites().of_sites.hosts(["random-client(3)"])} == {"S1", "S2", "S3"}


def test_access_links() -> None:
    assert at_sites().directions(["berlin-M"]) == both(("berlin", "M"))
    assert at_sites().directions(["M->berlin"]) == (LinkDirection("M", "berlin"),)
    assert at_sites().directions(["random-access(2)"])[::2] in (both(("berlin", "M"), ("oslo", "A1"))[::2],
        both(("oslo", "A1"), ("berlin", "M"))[::2])  # fmt: skip
    assert not {"berlin", "oslo"} & {end for ends in at_sites().directions(["busiest(6)"]) for end in (ends.source,)}


def test_what_is_no_host_of_clients() -> None:
    with pytest.raises(TargetError, match="S1 shares berlin with other clients, and does this with them only"):
        at_sites().of_sites.whole(["S1"])
    with pytest.raises(TargetError, match="'P1': a client beside its broker has no host of its own"):
        at_sites().of_sites.hosts(["P1"])
    with pytest.raises(TargetError, match="S1: this scenario has no sites"):
        targets().of_sites.hosts(["S1"])
    with pytest.raises(TargetError, match="the access link of berlin is berlin-M"):
        at_sites().directions(["berlin-A1"])


def test_names() -> None:
    assert targets().brokers(["Z1", "A1", "Z1"]) == ("Z1", "A1")
    assert targets().directions(["M-A1"]) == both(("M", "A1"))
    assert targets().directions(["M->A1"]) == (LinkDirection("M", "A1"),)
    assert targets().directions(["M->A1", "A1-M"]) == (LinkDirection("M", "A1"), LinkDirection("A1", "M"))


def test_names_with_dashes() -> None:
    overlay = overlay_of(("a", "b-c"), ("b-c", "a-b"), ("a-b", "c"))
    assert targets(overlay).directions(["a-b-c"]) == both(("a", "b-c")), "the first reading that names two brokers"
    assert targets(overlay).directions(["b-c->a-b"]) == (LinkDirection("b-c", "a-b"),)


def test_roles() -> None:
    assert targets().brokers(["cut-vertex"]) == ("M",)
    assert targets().brokers(["cut-vertex(2)", "M"]) == ("M", "A1")
    assert targets().directions(["bridge(2)"]) == both(("A1", "M"), ("M", "Z1"))
    assert targets().directions(["links-of(M)"]) == both(("A1", "M"), ("M", "Z1"))
    assert targets().directions(["links-of(cut-vertex)"]) == both(("A1", "M"), ("M", "Z1"))


def test_a_name_comes_before_a_role() -> None:
    assert targets(overlay_of(("hub", "B"), ("B", "C"))).brokers(["hub"]) == ("hub",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("B99", "no broker 'B99'; write a broker, random.n., or one of cut-vertex, hub"),
        ("hub(0)", r"hub\(0\): how many is a number from 1"),
        ("hub(x)", r"hub\(x\): how many is a number from 1"),
        ("cut-vertex(4)", "has 3 cut-vertex, not 4"),
        ("random(99)", r"random\(99\): the overlay has 7 brokers"),
        ("bridge", "no broker 'bridge'"),
    ],
)
def test_what_is_no_broker(text: str, message: str) -> None:
    with pytest.raises(TargetError, match=message):
        targets().brokers([text])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A2-Z2", "A2 and Z2 are not linked"),
        ("A1", "no link 'A1'; write a link such as B1-B2"),
        ("links-between(cluster)", "no links whose ends differ in the attribute 'cluster'"),
        ("random-link(9)", "has 8 links"),
        ("links-of(B9)", "no broker 'B9'"),
    ],
)
def test_what_is_no_link(text: str, message: str) -> None:
    with pytest.raises(TargetError, match=message):
        targets().directions([text])


def test_no_cut_vertex_where_everybody_is_linked() -> None:
    with pytest.raises(TargetError, match="has no cut-vertex"):
        targets(overlay_of(("A", "B"), ("B", "C"), ("C", "A"))).brokers(["cut-vertex"])


@given(st.integers(0, 1000), st.integers(1, 12), st.integers(0, 2**40))
def test_draws_follow_from_the_seed_and_the_faults_number(overlay_seed: int, count: int, seed: int) -> None:
    overlay = random_overlay(overlay_seed, 12)
    drawn = targets(overlay, seed, 3).brokers([f"random({count})"])
    assert len(set(drawn)) == count
    assert drawn == targets(overlay, seed, 3).brokers([f"random({count})"])


def test_different_faults_and_seeds_draw_differently() -> None:
    overlay = random_overlay(1, 25)
    draws = {targets(overlay, seed, fault).brokers(["random(5)"]) for seed in range(5) for fault in range(5)}
    assert len(draws) == 25


def test_draws_avoid_what_earlier_faults_hit_while_they_can() -> None:
    made = targets()
    hit = [*made.brokers(["M", "A1"])]
    for fault in range(1, 6):
        made.begin(fault)
        hit += made.brokers(["random"])
    assert sorted(hit) == sorted(broker.id for broker in DUMBBELL.brokers)
    made.begin(6)
    assert set(made.brokers(["random"])) <= set(hit), "all were hit, so that any will do"


def test_drawn_links_avoid_what_earlier_faults_hit() -> None:
    made = targets()
    hit = set(made.directions(["M->A1", "links-of(Z1)"]))
    made.begin(1)
    drawn = made.directions(["random-link(4)"])
    assert len(drawn) == 8
    assert not {frozenset((direction.source, direction.target)) for direction in drawn} & {
        frozenset((w.source, w.target)) for w in hit
    }


def test_a_partition_cuts_between_groups_and_nothing_else() -> None:
    directions = targets().partition([["A1", "A2"], ["rest"]])
    assert set(directions) == set(both(("A2", "A3"), ("A3", "A1"), ("A1", "M")))
    assert directions[0].reverse == directions[1], "both directions of a link follow each other"


def test_a_broker_in_no_group_keeps_its_links() -> None:
    assert set(targets().partition([["A1"], ["A2"]])) == set(both(("A1", "A2")))


def test_a_one_way_partition() -> None:
    assert set(targets().one_way(["M"], ["rest"])) == {LinkDirection("M", "A1"), LinkDirection("M", "Z1")}
    assert set(targets().one_way(["rest"], ["M"])) == {LinkDirection("A1", "M"), LinkDirection("Z1", "M")}


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([["A1", "A2"], ["A2", "rest"]], "no broker 'rest'"),
        ([["A1"], ["A1", "A2"]], "A1 is in two groups"),
        ([["rest"], ["rest"]], "only one group can be `rest`"),
        ([["A2"], ["Z2"]], "no link leads from one group to another"),
    ],
)
def test_what_is_no_partition(groups: list[list[str]], message: str) -> None:
    with pytest.raises(TargetError, match=message):
        targets().partition(groups)


def test_links_of_a_later_time_are_named_and_parted_and_not_drawn() -> None:
    overlay = overlay_of(("A", "B"), ("B", "C"), ("C", "D"))
    made = Targets(overlay, 1, later=[("A", "D"), ("B", "D")])
    made.begin(0)
    assert made.directions(["D->A"]) == (LinkDirection("D", "A"),)
    assert made.directions(["links-of(D)"]) == both(("C", "D"), ("A", "D"), ("B", "D"))
    assert made.partition([["A"], ["rest"]]) == both(("A", "B"), ("A", "D"))
    assert set(made.directions(["random-link(3)"])) == set(both(("A", "B"), ("B", "C"), ("C", "D")))
    with pytest.raises(TargetError, match="A and C are not linked"):
        made.directions(["A-C"])
    with pytest.raises(TargetError, match=r"random-link\(4\): the overlay has 3 links"):
        made.directions(["random-link(4)"])


_TREE = shapes.explicit([("pb", "ib"), ("ib", "sb1"), ("ib", "sb2")])
FIGURE_7 = build("figure-7", shapes.redundant_tree(_TREE, 3), LinkTemplates(), seed=1)
"""Node `ib` holds the brokers ib1, ib2 and ib3; the three others hold one each."""


@given(st.integers(0, 2**40))
def test_members_of_a_node_are_drawn(seed: int) -> None:
    members = {"ib1", "ib2", "ib3"}
    made = targets(FIGURE_7, seed)
    (first,) = made.brokers(["member-of(ib)"])
    (second,) = made.brokers(["member-of"])
    assert {first, second} < members, "the second draw avoids what the first one drew"
    for text in ("all-but-one", "all-but-one(ib)"):
        left = made.brokers([text])
        assert len(set(left)) == 2
        assert set(left) < members


def test_every_member_is_left_out_by_some_seed() -> None:
    left = {frozenset(targets(FIGURE_7, seed).brokers(["all-but-one(ib)"])) for seed in range(30)}
    assert len(left) == 3


def test_nodes_are_recognised_by_their_links() -> None:
    plain = Overlay(FIGURE_7.name, tuple(Broker(broker.id) for broker in FIGURE_7.brokers), FIGURE_7.links)
    assert len(targets(plain).brokers(["all-but-one"])) == 2


@pytest.mark.parametrize(
    ("overlay", "text", "message"),
    [
        (FIGURE_7, "member-of(pb)", "no node 'pb' of several brokers; such nodes are ib"),
        (FIGURE_7, "all-but-one(x)", "no node 'x' of several brokers; such nodes are ib"),
        (overlay_of(("A", "B"), ("B", "C")), "all-but-one", "no node of several brokers$"),
        (overlay_of(("A", "B"), ("B", "C"), ("C", "D"), ("D", "A")), "member-of", "no node of several brokers$"),
    ],
)
def test_no_such_node(overlay: Overlay, text: str, message: str) -> None:
    with pytest.raises(TargetError, match=message):
        targets(overlay).brokers([text])
