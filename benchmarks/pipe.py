"""Cost of a router behind the pipe: a call of a program, and a whole simulated run.

    python -m benchmarks.pipe            about 60 seconds
    python -m benchmarks.pipe --quick    a shorter run, about 20 seconds

*Calls*: a program in Python that does nothing answers the call of a subscription; a call's time is from the call to the
actions, both on one processor, as in a simulated run. The best of several rounds counts, because others use the
machine. *Run*: `scenarios/quickstart.yaml` under flooding, once in the broker's own process, once by the example router
in Node; a run's time is the processor time of the simulator and of the programs, and the two take turns.
"""

from __future__ import annotations

import argparse
import contextlib
import resource
import shutil
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter_ns

from benchmarks.targets import Bound, Judgement, Target, conclude
from broker_service.routing.program.channel import Channel
from broker_service.routing.program.lines import Reply, Said, Subscribe
from emulation.host.reference_loops import Reference
from emulation.planning.plan import make_plan
from emulation.simulation.one_processor import one_processor
from emulation.simulation.run import simulate
from scenario.loading import load
from studies.protocol_kit import flooding

CALLS = 20_000
ROUNDS = 5
TURNS, QUICK_TURNS = 3, 1
SECONDS, QUICK_SECONDS = 30, 5
"""Simulated seconds of the run phase."""
ROOT = Path(__file__).resolve().parents[1]
QUICKSTART = ROOT / "scenarios" / "quickstart.yaml"
IN_NODE = ROOT / "examples" / "routers" / "flooding.js"

IDLE_PROGRAM = """
import sys
for line in sys.stdin.buffer:
    sys.stdout.buffer.write(b'{"actions":[]}\\n')
    sys.stdout.buffer.flush()
"""

MEDIAN = Target("median call of a router's program", Bound.AT_MOST, 30, "us", Reference.SYSCALLS)
RATE = Target("calls of a router's program", Bound.AT_LEAST, 20_000, "/s", Reference.SYSCALLS)
RUN = Target("processor time of the quickstart behind the pipe, of that in process", Bound.AT_MOST, 2.5, "times")


def calls() -> tuple[float, float]:
    """The median of a call in microseconds, and calls a second."""
    medians, rates = [], []
    with one_processor(), contextlib.closing(Channel([sys.executable, "-S", "-c", IDLE_PROGRAM])) as channel:
        for _ in range(ROUNDS):
            times = []
            begin = perf_counter_ns()
            for _ in range(CALLS):
                called = perf_counter_ns()
                channel.call(Subscribe("S", "s", (("price", ">", 80.0),)), _nothing_is_asked)
                times.append(perf_counter_ns() - called)
            rates.append(CALLS / (perf_counter_ns() - begin) * 1e9)
            medians.append(statistics.median(times) / 1e3)
    return min(medians), max(rates)


def _nothing_is_asked(_said: Said) -> Reply | None:
    raise AssertionError


def run_time(protocol: str, seconds: int) -> float:
    """Processor time of a run of the quickstart and of its programs, in seconds."""
    changes = {"vary": "{}", "routing": f"{{protocol: {protocol}}}", "timeline.run": f"{seconds}s"}
    with tempfile.TemporaryDirectory(prefix="brokerlab-benchmark-") as temporary:
        plan = make_plan(load(QUICKSTART, changes))
        begin = _processor_time()
        simulate(plan, Path(temporary))
        return _processor_time() - begin


def _processor_time() -> float:
    """Seconds of this process, and of its programs that have ended."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def share(turns: int, seconds: int) -> float | None:
    """The time of the run behind the pipe, of that in process; None where Node is not installed."""
    if shutil.which("node") is None:
        print("Node is not installed, so that no run behind the pipe is timed")
        return None
    pairs = [
        (run_time(f"{{program: [{IN_NODE}]}}", seconds), run_time(flooding.__file__, seconds)) for _ in range(turns)
    ]
    for piped, own in pairs:
        print(f"{seconds} s of the quickstart: {piped:.1f} s behind the pipe, {own:.1f} s in process", flush=True)
    return statistics.median(piped / own for piped, own in pairs)


def run(arguments: Sequence[str]) -> list[Judgement]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pipe", description="Cost of a router behind the pipe.")
    parser.add_argument("--quick", action="store_true", help="a shorter run")
    quick = parser.parse_args(arguments).quick
    median, rate = calls()
    judgements = [MEDIAN.judge(median), RATE.judge(rate)]
    times = share(QUICK_TURNS, QUICK_SECONDS) if quick else share(TURNS, SECONDS)
    return judgements if times is None else [*judgements, RUN.judge(times)]


if __name__ == "__main__":
    sys.exit(conclude(run(sys.argv[1:])))
