"""Memory that the declarations of a hostile neighbour take: bounded in every protocol that keeps any."""

from __future__ import annotations

import pytest

from broker_service.core.neighbours_account import OVERHEAD, NeighboursAccount
from broker_service.routing.interface import NoRoomError
from tests.wire.hostile_headers import Attacked, attacked
from tests.wire.test_work_a_byte import PROTOCOLS

ROUNDS = 15


def held(there: Attacked) -> int:
    return sum(size + OVERHEAD for size in there.broker._router.declared())


def flooded(protocol: str, limit: int) -> tuple[int, set[str]]:
    """The most that a broker held whose neighbour declares without end, and reasons why messages were dropped."""
    there = attacked(protocol, 0)
    account, reasons = there.broker._account, set()
    account._most, account._part = limit, limit // 16
    report = there.broker._surroundings.report_dropped

    def noted(message: object, reason: str) -> None:
        reasons.add(reason)
        report(message, reason)  # type: ignore[arg-type]

    there.broker._surroundings.report_dropped = noted  # type: ignore[method-assign]
    most = 0
    for number in range(ROUNDS):
        for message in there.messages(20 + number):
            there.broker.neighbours.receive(there.neighbour, [message])
            most = max(most, held(there))
    return most, reasons


@pytest.mark.parametrize("protocol", [name for name in PROTOCOLS if name != "channelization"])
def test_declarations_of_a_neighbour_are_bounded(protocol: str) -> None:
    limit = flooded(protocol, 1 << 30)[0] // 3
    most, reasons = flooded(protocol, limit)
    assert limit // 3 < most < 2.5 * limit  # one message may be longer than the rest
    assert any("limits.declared_bytes" in reason for reason in reasons)


def test_what_is_held_is_counted_now_and_then_and_room_that_comes_back_is_found() -> None:
    counts, sizes = 0, [0]

    def declared() -> list[int]:
        nonlocal counts
        counts += 1
        return sizes

    account = NeighboursAccount(160_000, declared)
    for _ in range(10_000):
        account.require_room(100)
    assert counts < 10_000 * (OVERHEAD + 800) / 140_000
    sizes = [150_000]
    with pytest.raises(NoRoomError, match=r"limits\.declared_bytes"):
        for _ in range(1_000):
            account.require_room(100)
    counts = 0
    for _ in range(1_000):
        with pytest.raises(NoRoomError):
            account.require_room(100)
    assert counts < 1_000 * (OVERHEAD + 800) / 9_000
    sizes = [0]
    for _ in range(10):
        try:
            account.require_room(100)
        except NoRoomError:
            continue
        break
    else:
        pytest.fail("room is never found again")
