"""Files played as workloads: times, loops, shares, brokers and what is made in the join phase."""

from __future__ import annotations

import pytest

from emulation.planning.plan import publishers_subscribe
from emulation.planning.preparation import _declared
from record.time_units import SECOND
from scenario.checks import OverlayBuilder, problems
from scenario.model import Scenario
from scenario.workload.generate import generate
from scenario.workload.operations import PlannedOperation
from tests.scenario.workload.file.conftest import ROWS, FromFile

_PUBLISHED = [
    {"time": number, "client": "Ann", "operation": "publish", "content": {"class": "X", "price": number}}
    for number in range(100)
]


def _told(operations: list[PlannedOperation]) -> list[tuple[float, str, str, str]]:
    return [(made.at / SECOND, made.client, made.operation.value, made.id) for made in operations]


def _in_run(operations: list[PlannedOperation]) -> list[PlannedOperation]:
    return [made for made in operations if made.at >= 10 * SECOND]


def test_what_stands_before_the_first_publication_is_made_in_the_join_phase(from_file: FromFile) -> None:
    operations = list(from_file().operations())
    joined = [made for made in operations if made.at < 10 * SECOND]
    assert [(made.client, made.operation.value, made.id) for made in joined] == [
        ("Ann", "advertise", "a1"),
        ("Bob", "subscribe", "s1"),
    ]
    assert 0 < joined[0].at < joined[1].at
    assert _told(_in_run(operations)) == [
        (10.0, "Ann", "publish", "Ann:1"),
        (11.0, "Bob", "unsubscribe", "s1"),
        (12.0, "Cleo", "subscribe", "s1"),
        (14.0, "Ann", "publish", "Ann:2"),
    ]
    assert operations[-1].attributes == {"class": "X", "price": 8.5}


def test_what_is_withdrawn_before_the_first_publication_is_not_made(from_file: FromFile) -> None:
    rows = [*ROWS[:2], {"time": 5, "client": "Bob", "operation": "unsubscribe", "id": "s1"}, ROWS[2]]
    assert [made.client for made in from_file(rows).operations()] == ["Ann", "Ann"]


def test_speed_and_unit_scale_times_and_the_run_phase_ends_the_file(from_file: FromFile) -> None:
    assert [at for at, *_ in _told(_in_run(list(from_file(speed=2).operations())))] == [10.0, 10.5, 11.0, 12.0]
    assert [at for at, *_ in _told(_in_run(list(from_file(unit="ms").operations())))] == [10.0, 10.001, 10.002, 10.004]
    assert len(_in_run(list(from_file(_PUBLISHED).operations()))) == 20


def test_each_time_of_a_loop_begins_with_what_stood_at_the_first(from_file: FromFile) -> None:
    operations = _told(_in_run(list(from_file(loop=True).operations())))
    assert operations[4:10] == [
        (18.0, "Cleo", "unsubscribe", "s1"),
        (18.0, "Bob", "subscribe", "s1~2"),
        (18.0, "Ann", "publish", "Ann:3"),
        (19.0, "Bob", "unsubscribe", "s1~2"),
        (20.0, "Cleo", "subscribe", "s1~2"),
        (22.0, "Ann", "publish", "Ann:4"),
    ]
    assert len({(made.client, made.operation, made.id) for made in from_file(loop=True).operations()}) == 2 + 3 * 4 + 3


def test_a_share_is_drawn_by_the_seed(from_file: FromFile) -> None:
    one, other = (list(from_file(_PUBLISHED, share="30%", speed=10).operations()) for _ in range(2))
    assert one == other
    assert 15 <= len(_in_run(one)) <= 45


def test_a_client_without_an_advertisement_gets_one_of_what_it_publishes(from_file: FromFile) -> None:
    rows = [
        {"time": 0, "client": "Ann", "content": {"class": "X", "price": 3, "place": "here"}},
        {"time": 1, "client": "Ann", "content": {"class": "X", "price": 8, "place": "there"}},
    ]
    (made,) = from_file(rows).population.advertisements()
    assert [(one.attribute, one.operator, one.string, one.number) for one in made.predicates or ()] == [
        ("class", "eq", "X", None),
        ("place", "isPresent", "", None),
        ("price", ">=", None, 3),
        ("price", "<=", None, 8),
    ]


@pytest.mark.parametrize(
    ("fields", "homes"),
    [
        ({"placement": ["B2", "B3"]}, {"Ann": "B2", "Bob": "B3", "Cleo": "B2"}),
        ({"columns": {"broker": "at"}}, {"Ann": "B1", "Bob": "B3", "Cleo": "B3"}),
    ],
)
def test_clients_are_placed_by_rule_or_by_column(
    from_file: FromFile, fields: dict[str, object], homes: dict[str, str]
) -> None:
    rows = [{**row, "at": "B1" if row["client"] == "Ann" else "B3"} for row in ROWS]
    assert from_file(rows, **fields).clients == homes


def test_protocols_prepare_from_what_stands_at_the_start(from_file: FromFile) -> None:
    declared = _declared(from_file(placement=["B2", "B3"]))
    assert {broker: len(made) for broker, made in declared.advertisements.items()} == {"B2": 1}
    assert {broker: len(made) for broker, made in declared.subscriptions.items()} == {"B3": 1}


def test_a_client_that_publishes_and_subscribes_is_known_as_such(from_file: FromFile) -> None:
    assert not publishers_subscribe(from_file())
    both = {"time": 15, "client": "Ann", "operation": "subscribe", "id": "s1", "content": "[class,eq,'X']"}
    assert publishers_subscribe(from_file([*ROWS, both]))


def test_amounts_are_expected_from_the_part_that_is_played(from_file: FromFile) -> None:
    estimate = from_file(loop=True).estimate()
    assert (estimate.advertisements, estimate.publications) == (1, 5)
    assert from_file(_PUBLISHED).estimate().publications == 20


def test_a_resolved_section_plays_the_same(from_file: FromFile) -> None:
    workload = from_file(loop=True, unit="ms", share="80%", placement=["B2"])
    again = Scenario.model_validate(workload.scenario.resolved())
    assert list(generate(again, again.overlay()).operations()) == list(workload.operations())


def test_clients_of_a_file_may_be_at_sites(from_file: FromFile) -> None:
    scenario = from_file().scenario
    sites = {"sites": {"Paris": {"broker": "B2", "clients": ["Bob"]}}}
    placed = Scenario.model_validate({**scenario.resolved(), "clients": sites})
    assert list(problems(placed, OverlayBuilder())) == []
    assert generate(placed, placed.overlay()).clients["Bob"] == "B2"
