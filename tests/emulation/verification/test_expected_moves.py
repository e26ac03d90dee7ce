"""The stages that a plan with moves asks for: the table of a whole run, worked out by hand."""

from __future__ import annotations

from emulation.planning.plan import make_plan
from emulation.verification.asked import ClientsState, DirectionState, LinksOverTime, expect
from emulation.verification.comparison import whereabouts_differ
from emulation.verification.expected_moves import Place, Whereabouts
from emulation.verification.wording import change_of
from record.time_units import SECOND
from scenario.loading import load_text

SCENARIO = """
name: moves
topology: {kind: line, brokers: 3, link: {delay: 4ms}}
routing: {protocol: tid, publications: fixed}
workload:
  publications: {source: stocks, publishers: 1, rate: 1/s, placement: [B1]}
  subscriptions: {subscribers: 3, selectivity: 50%, placement: [B2]}
clients:
  sites:
    berlin: {broker: B2, clients: [S1, S2], delay: 5ms, to_clients: {delay: 25ms}}
    oslo: {broker: B3, clients: [S3], delay: 8ms}
faults:
  - {at: 2s, move: berlin, to: B3, away: 1s}
  - {at: 2s, move: berlin, to: B1}
  - {at: 5s, crash: S3, for: 500ms}
  - {at: 6s, move: S2, to: oslo, handover: announced}
  - {at: 8s, move: berlin, to: B2, handover: make before break, overlap: 2s}
timeline: {join: 1s, run: 11s, drain: 1s}
seed: 4
"""


def stages(*elsewhere: str) -> list[tuple[float, float | None, str, Whereabouts | bool | None]]:
    (plan,) = make_plan(load_text(SCENARIO, "moves")).variants
    links = LinksOverTime(plan.overlay, (), plan.sites, frozenset(elsewhere))
    expected = expect(plan.schedule(), links, {}, 12 * SECOND)
    found = []
    for stage in expected.stages:
        if isinstance(stage.state, ClientsState) and stage.state.away is None:
            asked: Whereabouts | bool | None = stage.state.whereabouts
        elif isinstance(stage.state, DirectionState):
            asked = stage.state.absent
        else:
            continue
        span = stage.begin / SECOND, None if stage.end is None else stage.end / SECOND
        found.append((*span, change_of(stage).text, asked))
    return found


def test_a_move_that_finds_its_host_under_way_is_not_asked_for() -> None:
    assert not [text for _, _, text, _ in stages() if "B1" in text]


def test_a_site_is_to_leave_at_the_begin_and_to_arrive_at_the_end_of_a_hard_handover() -> None:
    left = Place("berlin", "B2", 0)
    assert [stage for stage in stages() if stage[0] in {2.0, 3.0}] == [
        (2.0, 3.0, "move of berlin", Whereabouts(None, left)),
        (2.0, 8.0, "departure over berlin->B2", True),
        (2.0, 8.0, "departure over B2->berlin", True),
        (3.0, 6.0, "arrive of berlin", Whereabouts(Place("berlin", "B3", 2), left)),
        (3.0, 10.0, "arrival over berlin->B3", False),
        (3.0, 10.0, "arrival over B3->berlin", False),
    ]


def test_only_what_brokers_of_this_host_send_to_sites_is_looked_at() -> None:
    assert [stage for stage in stages() if "B3->" not in stage[2]] == stages("B3")


def test_a_client_that_goes_to_another_site_is_counted_there_and_not_where_it_was() -> None:
    """S3, which a fault ends at some time, is not counted; what was asked of berlin is uncertain from then on."""
    found = [stage for stage in stages() if stage[0] == 6.0]
    assert (6.0, 8.0, "arrive of S2", Whereabouts(Place("oslo", "B3", 1), Place("berlin", "B3", 1))) in found
    assert [asked for *_, asked in found].count(None) == 1


def test_a_site_has_both_access_links_during_a_soft_handover() -> None:
    assert [(text, asked) for begin, _, text, asked in stages() if begin in {8.0, 10.0} and asked is not None] == [
        ("move of berlin", Whereabouts(Place("berlin", "B2", 1), None)),
        ("arrival over berlin->B2", False),
        ("arrival over B2->berlin", False),
        ("arrive of berlin", Whereabouts(Place("berlin", "B2", 1), Place("berlin", "B3", 0))),
        ("departure over berlin->B3", True),
        ("departure over B3->berlin", True),
    ]


def test_connections_are_compared_with_where_clients_are_to_be() -> None:
    asked = Whereabouts(Place("oslo", "B3", 2), Place("berlin", "B2", 1))
    assert whereabouts_differ(asked, {"oslo": {"B3": 2}, "berlin": {"B2": 1}}) == ""
    too_many = whereabouts_differ(asked, {"oslo": {"B3": 2}, "berlin": {"B2": 2}})
    assert too_many == "2 connections of berlin to B2 are open instead of 1"
    too_few = whereabouts_differ(asked, {"oslo": {"B1": 2}, "berlin": {}})
    assert too_few == "0 connections of oslo to B3 are open instead of 2"
