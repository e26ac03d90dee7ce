"""Operations: written out in a scenario, and in files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_service.language import ContentError, Operator, Predicate
from broker_service.language.records import predicate_record, recorded_predicate
from record.log import PredicateRecord
from scenario.model import Scenario
from scenario.workload.generate import generate
from scenario.workload.operations import OperationKind, PlannedOperation, read_operations, write_operations

ITEMS = [
    {"at": "2s", "client": "P", "broker": "B1", "publish": "[class,'STOCK'],[price,90]"},
    {"at": "0s", "client": "P", "broker": "B1", "id": "a1", "advertise": "[class,eq,'STOCK'],[price,>,0]"},
    {"at": "1s", "client": "S", "broker": "B5", "id": "s1", "subscribe": "[class,eq,'STOCK'],[price,>,80]"},
    {"at": "1s", "client": "S", "broker": "B5", "id": "s2", "subscribe": "[class,eq,'STOCK']"},
    {"at": "1s", "client": "P", "broker": "B1", "id": "s", "subscribe": "[class,eq,'STOCK'],[price,<,50]"},
    {"at": "2.5s", "client": "S", "broker": "B5", "unsubscribe": "s2"},
    {"at": "3s", "client": "P", "broker": "B1", "publish": "[class,'STOCK'],[price,10]"},
    {"at": "3.5s", "client": "P", "broker": "B1", "id": "mine", "publish": "[class,'STOCK'],[price,95.5]"},
    {"at": "4s", "client": "P", "broker": "B1", "unadvertise": "a1"},
]


def test_written_operations(make_scenario: Callable[..., Scenario]) -> None:
    scenario = make_scenario(workload={"operations": ITEMS})
    workload = generate(scenario, scenario.overlay())
    operations = list(workload.operations())
    assert [(o.at / 1e9, o.client, o.operation.value, o.id) for o in operations] == [
        (0, "P", "advertise", "a1"),
        (1, "S", "subscribe", "s1"),
        (1, "S", "subscribe", "s2"),
        (1, "P", "subscribe", "s"),
        (2, "P", "publish", "P:1"),
        (2.5, "S", "unsubscribe", "s2"),
        (3, "P", "publish", "P:2"),
        (3.5, "P", "publish", "mine"),
        (4, "P", "unadvertise", "a1"),
    ]
    assert operations[0].predicates == [
        PredicateRecord(attribute="class", operator="eq", string="STOCK"),
        PredicateRecord(attribute="price", operator=">", number=0),
    ]
    assert operations[4].attributes == {"class": "STOCK", "price": 90}
    assert workload.clients == {"P": "B1", "S": "B5"}
    estimate = workload.estimate()
    # The first goes to S (once, for two subscriptions), the second to P itself, the third to S.
    assert (estimate.publications, estimate.notifications) == (3, 3)


def test_written_operations_beside_generated_ones(make_scenario: Callable[..., Scenario]) -> None:
    workload = {"publications": {"publishers": 1, "rate": "1/s"}, "operations": ITEMS}
    scenario = make_scenario(workload=workload)
    operations = list(generate(scenario, scenario.overlay()).operations())
    assert {operation.client for operation in operations} == {"P1", "P", "S"}
    assert operations == sorted(operations, key=lambda operation: operation.at)


predicates = st.builds(
    Predicate, st.just("x"), st.sampled_from([Operator.LESS, Operator.PRESENT]), st.integers(-5, 5) | st.floats(-5, 5)
) | st.builds(Predicate, st.just("y"), st.sampled_from([Operator.STRING_EQUAL, Operator.STRING_PREFIX]), st.text("ab"))


@given(predicates)
def test_predicates_survive_their_record(predicate: Predicate) -> None:
    record = msgspec.json.decode(msgspec.json.encode(predicate_record(predicate)), type=PredicateRecord)
    assert recorded_predicate(record) == predicate


def test_a_record_without_a_value_is_refused() -> None:
    with pytest.raises(ContentError, match="has no value"):
        recorded_predicate(PredicateRecord(attribute="x", operator="<"))


def test_files_round_trip(tmp_path: Path, make_scenario: Callable[..., Scenario]) -> None:
    scenario = make_scenario()
    operations = list(generate(scenario, scenario.overlay()).operations())
    path = tmp_path / "operations.jsonl"
    assert write_operations(path, iter(operations)) == len(operations) == path.read_bytes().count(b"\n")
    assert list(read_operations(path)) == operations


def test_a_bad_line_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "operations.jsonl"
    operation = PlannedOperation(at=1, client="P", broker="B", operation=OperationKind.PUBLISH, id="P:1", attributes={})
    write_operations(path, [operation])
    path.write_bytes(path.read_bytes().replace(b"publish", b"shout"))
    with pytest.raises(msgspec.ValidationError, match="shout"):
        list(read_operations(path))
