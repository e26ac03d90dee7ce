"""The work of a broker process, by a clock that the tests turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from broker_service.config import BrokerConfig
from broker_service.grpc_shell.service import Service, make_service
from broker_service.service import SLICE_MESSAGES, ServiceQueue, single_messages
from broker_service.transport.precise_timer import PreciseTimer
from record.service_time import ServiceTime
from tests.broker_service.loopback import WITHIN

MILLISECOND = 1_000_000


class Clock:
    """Turned by hand."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now


def paced(service_times: Callable[[], int], clock: Clock) -> Service:
    return Service(ServiceQueue(single_messages(lambda _: service_times())), clock)


async def served(queue: asyncio.Queue[object]) -> object:
    return await asyncio.wait_for(queue.get(), WITHIN)


async def test_messages_are_served_one_after_another() -> None:
    clock = Clock()
    done: asyncio.Queue[object] = asyncio.Queue()
    service = paced(iter((MILLISECOND, MILLISECOND, 2 * MILLISECOND, MILLISECOND)).__next__, clock)

    def handle(messages: Sequence[object]) -> None:
        for message in messages:
            done.put_nowait((message, clock.now))

    try:
        service.submit(handle, ["a", "b"])
        service.submit(handle, ["c"])
        assert (service.waiting, service.longest_wait) == (3, 2 * MILLISECOND)
        assert service.longest_wait == 0
        for message, time in (("a", 1), ("b", 2), ("c", 4)):
            assert done.empty()
            clock.now = time * MILLISECOND
            assert await served(done) == (message, clock.now)
        assert service.waiting == 0
        clock.now = 10 * MILLISECOND
        service.submit(handle, ["d"])
        assert service.longest_wait == 0
        clock.now = 11 * MILLISECOND
        assert await served(done) == ("d", clock.now)
    finally:
        service.close()


async def test_a_broker_with_a_service_time_is_paced() -> None:
    config = BrokerConfig(id="B1", incarnation=1, protocol="tid", service_time=ServiceTime(mean=0.001))
    service = make_service(config)
    handled: list[object] = []
    service.submit(handled.append, ["a", "b"])
    assert (handled, service.waiting) == ([], 2)
    service.close()


async def test_without_service_time_messages_are_handled_at_once_and_together() -> None:
    service = make_service(BrokerConfig(id="B1", incarnation=1, protocol="tid"))
    handled: list[object] = []
    service.submit(handled.append, ["a", "b"])
    assert handled == [["a", "b"]]
    service.close()


async def test_a_change_of_pace_holds_for_what_comes_and_nothing_overtakes() -> None:
    clock = Clock()
    done: asyncio.Queue[object] = asyncio.Queue()
    service = Service(ServiceQueue(None), clock)

    def handle(messages: Sequence[object]) -> None:
        for message in messages:
            done.put_nowait((message, clock.now))

    try:
        service.submit(handle, ["at once"])
        assert done.get_nowait() == ("at once", 0)
        service.change(single_messages(lambda _: 2 * MILLISECOND))
        service.submit(handle, ["slow", "slow too"])
        service.change(None)
        service.submit(handle, ["after those"])
        assert done.empty()
        for message, time in (("slow", 2), ("slow too", 4), ("after those", 4)):
            clock.now = time * MILLISECOND
            assert await served(done) == (message, clock.now)
        service.submit(handle, ["at once again"])
        assert done.get_nowait() == ("at once again", 4 * MILLISECOND)
    finally:
        service.close()


async def test_a_handler_that_fails_keeps_nobody_waiting() -> None:
    clock = Clock()
    done: asyncio.Queue[object] = asyncio.Queue()
    reported: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context.get("exception")))
    service = paced(lambda: MILLISECOND, clock)

    def handle(messages: Sequence[object]) -> None:
        if "bad" in messages:
            raise LookupError("bad")
        done.put_nowait(messages)

    try:
        service.submit(handle, ["bad", "good"])
        clock.now = 2 * MILLISECOND
        assert await served(done) == ("good",)
        assert [str(error) for error in reported] == ["bad"]
    finally:
        service.close()


async def test_a_timer_fires_once_for_the_latest_wish() -> None:
    loop = asyncio.get_running_loop()
    fired: asyncio.Queue[object] = asyncio.Queue()
    timer = PreciseTimer(lambda: fired.put_nowait(round(loop.time() * 1e9)))
    try:
        asked = round(loop.time() * 1e9)
        timer.set(asked + 3600 * 1000 * MILLISECOND)
        timer.set(asked + 5 * MILLISECOND)
        at = await served(fired)
        assert isinstance(at, int)
        assert at >= asked + 5 * MILLISECOND
        timer.set(1)  # long over
        await served(fired)
        assert fired.empty()
    finally:
        timer.close()


async def test_a_flood_leaves_the_loop_to_others_between_its_slices() -> None:
    service = Service(ServiceQueue(None))
    order: list[str] = []
    done = asyncio.Event()

    def handle(messages: Sequence[object]) -> None:
        order.extend("flood" for _ in messages)
        if len(order) > 10_000:
            done.set()

    def interrupt() -> None:
        order.append("other")
        if not done.is_set():
            asyncio.get_running_loop().call_soon(interrupt)

    try:
        asyncio.get_running_loop().call_soon(interrupt)
        service.submit(handle, range(10_000))
        assert service.waits(handle)
        await asyncio.wait_for(done.wait(), WITHIN)
        slices = "".join("o" if frame == "other" else "f" for frame in order).split("o")
        assert max(map(len, slices)) <= SLICE_MESSAGES
        assert (service.waiting, service.waits(handle)) == (0, False)
    finally:
        service.close()


async def test_a_pace_that_is_set_during_a_flood_keeps_its_order() -> None:
    clock = Clock()
    service = Service(ServiceQueue(None), clock)
    handled: list[object] = []
    try:
        service.submit(handled.extend, range(200))
        service.change(single_messages(lambda _: 1))
        service.submit(handled.extend, range(200, 210))
        clock.now = 1000
        async with asyncio.timeout(WITHIN):
            while service.waiting:
                await service.progress()
        assert handled == list(range(210))
    finally:
        service.close()


async def test_totals_count_each_message_once_whatever_way_it_took() -> None:
    clock = Clock()
    service = Service(ServiceQueue(None), clock)
    handled: list[object] = []
    try:
        before = service.totals()
        service.submit(handled.extend, range(200))
        service.change(single_messages(lambda _: MILLISECOND))
        service.submit(handled.extend, range(200, 210))
        queued = 210 - len(handled)
        after = service.totals()
        assert after.messages - before.messages == 210
        assert after.waited == MILLISECOND * sum(range(queued))
        assert after.occupied >= before.occupied
    finally:
        service.close()
