"""The kinds of faults are those that a scenario can ask for, and each is healed in its own way."""

from __future__ import annotations

from record.faults import FaultKind, HealKind
from scenario.faults import conditions


def test_a_name_is_found_among_the_kinds() -> None:
    assert [FaultKind.named(kind.value) for kind in FaultKind] == list(FaultKind)
    assert FaultKind.named("restart") is FaultKind.named("meteorite") is None


def test_a_kind_is_written_as_its_name() -> None:
    assert f"{FaultKind.LINK_DOWN} {FaultKind.LINK_DOWN.healed_by}" == "link_down link_up"


def test_every_heal_ends_a_fault_and_only_brokers_and_clients_that_ended_have_two_ways_to_begin() -> None:
    heals = [kind.healed_by for kind in FaultKind]
    assert set(heals) == set(HealKind)
    assert [heal for heal in HealKind if heals.count(heal) > 1] == [HealKind.RESTART, HealKind.RETURN]


def test_every_kind_is_a_condition_that_can_be_injected() -> None:
    injected = {
        FaultKind.KILL: HealKind.RESTART,
        FaultKind.STOP: HealKind.RESTART,
        FaultKind.CRASH: HealKind.RETURN,
        FaultKind.VANISH: HealKind.RETURN,
    }
    for condition in (*conditions.OF_BROKERS, *conditions.OF_LINKS, conditions.Moving):
        if condition is not conditions.Down:
            injected[getattr(condition, "begins_by")] = condition.heals_by  # noqa: B009 - the others have it
    assert injected == {kind: kind.healed_by for kind in FaultKind}
