"""Infidelities of the budget of delays: what the host did is booked as something else, left out, or counted twice.

Nobody waits for a processor in a simulated run, so the rows about contention plant it: messages come late to a broker,
and the run has a file of the sampler in which that broker waited for so long.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path

import msgspec
import numpy as np
from msgspec.structs import replace

from analysis.auditing.hops.asked import SUBSCRIBERS
from analysis.budget import ends, passages, request, stage
from analysis.budget.links import Range
from analysis.budget.parts import Part, PassageColumn
from analysis.budget.tables import BudgetTables
from analysis.budget.waits import Waits
from analysis.pipeline import summarise
from analysis.tables.summary import DelayWithoutContention
from emulation.simulation.links import Direction
from record.files import LOGS, MANIFEST, PROCESSORS, processors_of
from record.host_speed import HostSpeed, LoopTimes
from record.log import Event
from record.processors import ProcessorBlock, QuotaBlock
from record.time_units import MILLISECOND, SECOND
from tests.gauntlet import scenarios
from tests.gauntlet.model import Area
from tests.gauntlet.planting import EveryNth, around

BUDGET = Area("budget")
HONEST = Area("budget, honest")

_RUN = scenarios.TID_LINE.but("a line, links of 20 ms", {"topology.link": {"delay": "20ms"}})
_SENDING = scenarios.TID_LINE.but(
    "a line, 8 ms to send",
    {"topology.link": {"delay": "20ms", "send_time": {"mean": "8ms", "distribution": "exponential"}}},
)
_SERVED = scenarios.TID_LINE.but("a line, 4 ms of service", {"brokers.service_time": "4ms"})
_BUSY = scenarios.TID_LINE.but(
    "a line, 4 ms of service, busy", {"brokers.service_time": "4ms", "workload.publications.rate": "30/s"}
)
_SHORT, _LONG = 2 * MILLISECOND, 40 * MILLISECOND
_MICROSECOND = 1000
Times = tuple[int, int, int, int]
"""Begin and end of an interval, waiting and running in it, in nanoseconds."""
_WAITS: list[Times] = []
"""The waits of B4 that are planted in this run."""


def _held_up(by: int = _SHORT) -> None:
    """Every third message to B4 comes later than its link was through with it."""
    third = EveryNth(3)

    def arrival(original, self, now, size, latency):
        if not (self._seed.endswith("-B4") and third()):
            return original(self, now, size, latency)
        late = original(self, now, size, latency + by)
        self.left_at += by
        _WAITS.append((self.left_at - by, self.left_at, by, 0))
        return late

    around(Direction, "arrival", arrival)


def _held_up_for_long() -> None:
    _held_up(_LONG)


def _held_up_in_turn() -> None:
    """B4 waits for 0.15 s of every half a second, so that messages pile up, which it works off afterwards."""
    every, length = SECOND // 2, 3 * SECOND // 20

    def arrival(original, self, now, size, latency):
        arrived = original(self, now, size, latency)
        since = arrived % every
        if not self._seed.endswith("-B4") or arrived < 4 * SECOND or since > length:
            return arrived
        end = arrived - since + length
        if (wait := (end - length, end, length, 0)) not in _WAITS:
            _WAITS.append(wait)
        return end

    around(Direction, "arrival", arrival)


def _sampled(run: Path, intervals: Mapping[str, Iterable[Times]]) -> None:
    """Writes the sampler's file of a run."""
    nodes = list(intervals)
    numbers = [
        number
        for place, node in enumerate(nodes)
        for times in intervals[node]
        for number in (place, *(time // _MICROSECOND for time in times))
    ]
    block = ProcessorBlock("base", 0, nodes, numbers)
    (run / PROCESSORS).write_bytes(msgspec.json.encode(block) + b"\n")


def _waits_of_b4(run: Path) -> None:
    """The sampler's file of a run in which B4 waited for a processor as planted."""
    _sampled(run, {"B4": _WAITS})


def _counted(run: Path, factor: float) -> None:
    """The sampler's file of a run in which each broker ran that much longer than it counts itself."""
    _sampled(run, {f"B{number}": _work(run, f"B{number}", factor) for number in range(1, 7)})


def _work(run: Path, broker: str, factor: float) -> Iterator[Times]:
    records = map(json.loads, (run / LOGS / f"{broker}.jsonl").read_bytes().splitlines())
    gauges = [(record["time"], record["duration"]) for record in records if record["event"] == Event.LOAD]
    for (begin, before), (end, after) in pairwise(gauges):
        yield begin, end, 0, round(factor * (after - before))


_LOOPS = LoopTimes(interpreter=1_000_000)


def _as_on_a_host(run: Path, timed: int = 0) -> None:
    """Makes the manifest that of real brokers, whose calibration is a model, and whose delays are replayed."""
    manifest = json.loads((run / MANIFEST).read_bytes())
    manifest["at_rest"] = manifest.pop("calibration")
    manifest["host_speed"] = msgspec.to_builtins(HostSpeed(here=_LOOPS, calibrated=_LOOPS, timed=timed))
    manifest["links"] = {"name": "userspace", "reason": "asked for"}
    (run / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")


# Sums and parts


@BUDGET.row(_RUN, r"parts add up to .* the delays are")
def a_part_is_left_out_of_the_tables() -> None:
    around(
        BudgetTables,
        "_parts",
        lambda original, self, sums: replace(original(self, sums), work_ms=0.0),
    )


@BUDGET.row(_RUN, r"parts add up to .* the delays are")
def passages_over_links_count_twice() -> None:
    def passed(original, *given):
        cut = original(*given)
        cut.parts[:] *= 2
        return cut

    around(stage._Budget, "_passed", passed)


@BUDGET.row(_RUN, r"parts add up to .* the delays are")
def the_way_from_the_publisher_is_left_out() -> None:
    def from_publisher(original, *given):
        cut, come = original(*given)
        cut.parts[:] = 0
        return cut, come

    around(ends, "from_publisher", from_publisher)


@BUDGET.row(_RUN, r"nodes have .* of unexplained|nodes have .* of contention|seconds have")
def a_second_is_missing_from_a_table() -> None:
    around(BudgetTables, "over_time", lambda original, self: original(self)[1:])


@BUDGET.row(_SENDING, r"parts of \d+ delays add up to other ones than were measured")
def waits_for_two_links_of_a_broker_are_exchanged() -> None:
    """The sum of all, and that of the broker, stay as they were."""

    def rows(original, self):
        found, hops = original(self)
        for sender in np.unique(self.sent.node).tolist():
            neighbours = np.unique(self.sent.peer[self.sent.node == sender])
            if len(neighbours) < 2:
                continue
            one, other = (np.flatnonzero((self.sent.node == sender) & (self.sent.peer == to)) for to in neighbours[:2])
            many = min(len(one), len(other))
            one, other = one[:many], other[:many]
            column = PassageColumn.PARTS + Part.WAITING_FOR_LINKS
            found[one, column], found[other, column] = found[other, column], found[one, column].copy()
        return found, hops

    around(passages._Cut, "rows", rows)


def _links_take_all() -> None:
    """All that passes between writing and arrival is booked as the link's."""
    _held_up()
    around(Range, "explained", lambda original, self, took, quickest: took)


BUDGET.add("contention is booked as links", _RUN, _links_take_all, r"links take .* as asked .* at most", _waits_of_b4)


@BUDGET.row(_RUN, r"contention is .* nodes waited 0\.000 ms at most")
def what_nothing_explains_is_called_contention() -> None:
    _held_up()
    around(Waits, "of", lambda original, self, look, nodes, begin, end: np.maximum(end - begin, 0))


# Whose processor time it is


@BUDGET.edited(_SERVED, r"B\d.* by the sampler.* by its own count")
def processor_time_of_another_thread_is_counted_as_the_brokers(run: Path) -> None:
    _counted(run, 1.5)


@BUDGET.edited(_SERVED, r"B\d.* by the sampler.* by its own count")
def half_of_the_brokers_threads_are_missed(run: Path) -> None:
    _counted(run, 0.5)


# Simulated runs, as twins are, whose figures somebody changed afterwards


def _forged(run: Path, by: int) -> None:
    """All notifications come so much later than they did."""
    log = run / LOGS / f"{SUBSCRIBERS}.jsonl"
    records = [json.loads(line) for line in log.read_bytes().splitlines()]
    for record in records:
        if record["event"] == Event.NOTIFIED:
            record["time"] += by
    log.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")


@BUDGET.edited(_RUN, r"notifications came \+(1\.9|2\.0)\d+ ms beside what they take to clients")
def a_twin_is_made_slower_afterwards(run: Path) -> None:
    _forged(run, _SHORT)


# What the host did, and what is left out


def _sampled_on_a_host_timed_late(run: Path) -> None:
    """A run whose host's loops were timed after it had begun."""
    _as_on_a_host(run, timed=5 * SECOND)
    _counted(run, 1.0)


def _replay_keeps_backlog() -> None:
    """The replay leaves out waits, but not what piled up behind them."""
    _held_up_in_turn()

    def measured(original, number, findings):
        delay = original(number, findings)
        kept = delay.mean_ms - delay.budget.parts.contention_ms
        return replace(delay, without_contention=replace(delay.without_contention, mean_ms=kept))

    around(summarise, "_measured_delay", measured)


def _replay_forgets_contention() -> None:
    """The replay says that everything came when it came, so that all figures hold."""
    _held_up_for_long()

    def measured(original, number, findings):
        delay = original(number, findings)
        values = {name: getattr(delay, name) for name in DelayWithoutContention.__struct_fields__}
        return replace(delay, without_contention=DelayWithoutContention(**values))

    around(summarise, "_measured_delay", measured)


def _factor_fitted_to_the_run() -> None:
    """Costs are those of a host so slow that they explain what messages took."""
    _held_up()
    around(
        request,
        "at_rest",
        lambda original, charged, factor, dilation: original(charged, 4.0, dilation),
    )


def _costs_fitted_to_the_run() -> None:
    """Costs are those of such a host, and the budget states another factor."""
    _held_up()

    def at_rest(original, charged, factor, dilation):
        return dataclasses.replace(original(charged, 4.0, dilation), factor=factor)

    around(request, "at_rest", at_rest)


def _relay_held_up() -> None:
    """All that is written to a link while the relay is stopped, for 0.4 s, is carried on when that ends."""
    begin, end = 4 * SECOND, 4 * SECOND + 4 * SECOND // 10

    def arrival(original, self, now, size, latency):
        late = max(end - now, 0) if now >= begin else 0
        arrived = original(self, now, size, latency + late)
        self.left_at = max(self.left_at, arrived - latency)
        return arrived

    around(Direction, "arrival", arrival)


def _one_hosts_speed_for_all() -> None:
    """Brokers of the second host have the costs of the first one."""

    def budgeted(original, manifest, number, asked):
        found = original(manifest, number, asked)
        return dataclasses.replace(found, rest_on=dict.fromkeys(found.rest_on, found.rest_on["h1"]))

    around(request, "budgeted", budgeted)


def _one_hosts_speed_for_all_in_silence() -> None:
    """The second host's speed is stated, and not used."""

    def budgeted(original, manifest, number, asked):
        found = original(manifest, number, asked)
        first, second = found.rest_on["h1"], found.rest_on["h2"]
        return dataclasses.replace(found, rest_on={"h1": first, "h2": dataclasses.replace(first, factor=second.factor)})

    around(request, "budgeted", budgeted)


def _sampled_on_two_hosts(run: Path) -> None:
    """The files of a run that two hosts shared, of which the second is three times as quick."""
    _as_on_a_host(run)
    manifest = json.loads((run / MANIFEST).read_bytes())
    speed = manifest.pop("host_speed")
    quick = {loop: time // 3 for loop, time in speed["here"].items()}
    logs = sorted(log.name for log in (run / LOGS).iterdir())
    far = [log for log in logs if log[:2] in ("B4", "B5", "B6")]
    manifest["hosts"] = [
        {"name": "h1", "speed": speed, "logs": [log for log in logs if log not in far]},
        {"name": "h2", "speed": speed | {"here": quick}, "logs": far},
    ]
    (run / MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
    for host, brokers in (("h1", ("B1", "B2", "B3")), ("h2", ("B4", "B5", "B6"))):
        _sampled(run, {broker: _work(run, broker, 1.0) for broker in brokers})
        (run / PROCESSORS).rename(run / processors_of(host))


def _sampled_on_a_host(run: Path) -> None:
    """The sampler's file of a run on a host on which nobody waited for a processor."""
    _as_on_a_host(run)
    _counted(run, 1.0)


def _waits_on_a_host(run: Path) -> None:
    """The sampler's file of a run on a host on which B4 waited for a processor as planted."""
    _as_on_a_host(run)
    _waits_of_b4(run)


def _waits_and_work(run: Path) -> None:
    """The file of such a run which also has how long brokers ran."""
    _as_on_a_host(run)
    work = {f"B{number}": _work(run, f"B{number}", 1.0) for number in range(1, 7)}
    _sampled(run, work | {"B4": [*work["B4"], *_WAITS]})


def _quota_on_a_host(run: Path) -> None:
    """The file of such a run where B4's own quota took these times."""
    _waits_on_a_host(run)
    times = [time // _MICROSECOND for begin, end, waited, _ in _WAITS for time in (0, begin, end, waited)]
    with (run / PROCESSORS).open("ab") as file:
        file.write(msgspec.json.encode(QuotaBlock("base", 0, ["B4"], times)) + b"\n")


def _quota_forgotten() -> None:
    _held_up_for_long()
    around(Waits, "held_back", lambda original, self, look, nodes, begin, end: np.zeros_like(begin))


_AT_B4 = r"ms are this host's, most of it at B4"
BUDGET.add("the relay is held up", _RUN, _relay_held_up, r"nothing explains [1-9]", _sampled_on_a_host)
BUDGET.add("a broker waits long", _RUN, _held_up_for_long, _AT_B4, _waits_on_a_host)
BUDGET.add("a planned quota is left out", _RUN, _quota_forgotten, _AT_B4, _quota_on_a_host)
BUDGET.add("a replay keeps backlog", _BUSY, _replay_keeps_backlog, r"made a backlog of .* besides", _waits_and_work)
BUDGET.add(
    "a replay forgets contention", _RUN, _replay_forgets_contention, r"ms quicker than the run", _waits_on_a_host
)
BUDGET.add("the host's speed is fitted", _RUN, _factor_fitted_to_the_run, r"costs are 4\.000 of", _sampled_on_a_host)
BUDGET.add("costs are fitted in silence", _RUN, _costs_fitted_to_the_run, r"platform is .* at most", _sampled_on_a_host)
BUDGET.add(
    "one host's speed is all hosts'", _RUN, _one_hosts_speed_for_all, r"by the loop of h2 they are 0\.333",
    _sampled_on_two_hosts,
)  # fmt: skip
BUDGET.add(
    "one host's speed is all hosts', in silence", _RUN, _one_hosts_speed_for_all_in_silence,
    r"platform is .* at most", _sampled_on_two_hosts,
)  # fmt: skip
BUDGET.add("loops are timed late", _RUN, lambda: None, r"loop of this host was timed", _sampled_on_a_host_timed_late)
BUDGET.add("waits are left out", _RUN, _held_up_for_long, r"nothing explains [1-9].* B4", _sampled_on_a_host)
HONEST.add("a broker's quota holds it back", _RUN, _held_up_for_long, "", _quota_on_a_host)
HONEST.add("a run on a host that nobody else uses", _RUN, lambda: None, "", _sampled_on_a_host)
HONEST.add("a run on two hosts of different speed", _RUN, lambda: None, "", _sampled_on_two_hosts)
HONEST.add("a broker waits for a processor", _RUN, _held_up, "", _waits_of_b4)
HONEST.add("brokers' threads are sampled", _SERVED, lambda: None, "", lambda run: _counted(run, 1.0))
