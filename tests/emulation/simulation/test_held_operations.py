"""Operations by hand come between those of the plan as the saved scenario has them."""

from __future__ import annotations

from emulation.simulation.held_operations import HeldOperations
from record.time_units import SECOND
from scenario.loading import load_text
from scenario.workload.generate import generate
from scenario.workload.operations import BY_HAND, OperationKind, PlannedOperation

SCENARIO = """
name: held
topology: {kind: line, brokers: 3}
routing: {protocol: tid}
workload:
  publications: {source: stocks, publishers: 2, rate: 1/s}
  subscriptions: {subscribers: 1, selectivity: 20%}
  operations:
    - {at: 5s, client: P9, broker: B2, id: a1, advertise: "[class,eq,'X']"}
    - {at: 5s, client: P9, broker: B2, publish: "[class,'X']"}
timeline: {join: 2s, run: 10s, held: 10s}
"""


def by_hand(at: int, name: str = "a1") -> PlannedOperation:
    return PlannedOperation(at=at, client=f"{BY_HAND}B1", broker="B1", operation=OperationKind.UNADVERTISE, id=name)


def test_those_by_hand_come_behind_the_written_ones_of_their_time_and_before_the_others() -> None:
    scenario = load_text(SCENARIO, "held")
    workload = generate(scenario, scenario.overlay())
    planned = list(workload.operations())
    written = [operation.at for operation in planned].index(5 * SECOND)
    drawn = next(operation for operation in planned if operation.at > 5 * SECOND)
    operations = HeldOperations(workload)
    issued = [next(operations) for _ in range(written)]
    following = next(operations)
    for operation in (
        (late := by_hand(drawn.at)),
        (soon := by_hand(5 * SECOND, "a2")),
        (last := by_hand(drawn.at, "a3")),
    ):
        following = operations.insert(operation, following)
    issued += [following, *operations]
    place = planned.index(drawn)
    assert issued == [*planned[:place], soon, late, last, *planned[place:]]


def test_nothing_comes_after_the_end() -> None:
    scenario = load_text(SCENARIO, "held")
    workload = generate(scenario, scenario.overlay())
    operations = HeldOperations(workload)
    given = operations.insert(by_hand(8 * SECOND), next(operations))
    operations.end_at(8 * SECOND)
    assert [given, *operations] == [operation for operation in workload.operations() if operation.at < 8 * SECOND]
