"""A deployment on one of several hosts, whose brokers, network and other hosts are stand-ins."""

from __future__ import annotations

import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import msgspec
import pytest

from emulation.drivers.driver import DriverConfig
from emulation.drivers.status import DriverStatus
from emulation.fidelity import Measurements
from emulation.live_overlay import UnsettledError
from emulation.network.model import LinkDriver
from emulation.planning.plan import DriverInput, VariantPlan, make_plan
from emulation.run import host_start
from emulation.run.common_quiet import Vote
from emulation.run.context import HostRunContext
from emulation.run.host_deployment import HostDeployment
from emulation.run.host_share import HostShare, Sleep, leaving_stages
from emulation.run.interrupt import Interrupt
from emulation.run.progress import NoDisplay, Snapshot
from emulation.runtimes.interface import Ending
from emulation.runtimes.listening import ListeningWatch
from emulation.runtimes.patience import Patience
from record.errors import BrokerDefectError, HostError
from record.exit_codes import ExitCode
from record.manifest import Manifest
from record.time_units import SECOND
from scenario.loading import load_text

SCENARIO = """
name: shared
topology: {kind: line, brokers: 2}
routing: {protocol: tid}
workload:
  operations:
    - {at: 0s, client: P, broker: B1, id: a, advertise: "[class,eq,'STOCK']"}
timeline: {join: 1s, run: 1s, withdraw: 1s}
brokers: {limits: {message_bytes: 4MiB, reconnect_first: 20ms, reconnect_last: 300ms}}
"""
DEFECT = Ending("B1", ExitCode.BROKER_DEFECT, ("Traceback", "broker defect: B1 (protocol tid) failed"))
KILLED = Ending("B1", -9, ())


class Others:
    """The barrier of a host whose neighbours take two looks longer at each stage."""

    def __init__(self) -> None:
        self.stages: list[str] = []
        self.cast: list[Vote] = []
        """The first votes of the other host; further ones are that nothing has moved there."""

    def wait_for_all(self, stage: str, sleep: Sleep) -> None:
        self.stages.append(stage)
        for _ in range(2):
            sleep(0.0)

    def votes(self, stage: str, vote: int, sleep: Sleep) -> list[int]:
        self.wait_for_all(stage, sleep)
        return [vote, self.cast.pop(0) if self.cast else Vote.UNMOVED]

    def begin(self, sleep: Sleep) -> float:
        self.wait_for_all("ready", sleep)
        return 1.0

    @property
    def clock_offset(self) -> int:
        return 7


class Overlay:
    """Brokers that end, or do not settle, when a test wants it."""

    def __init__(self) -> None:
        self.endings: list[Ending] = []
        self.unsettled = False
        self.looks = 0
        self.expected = MagicMock(running=["B1"])
        self.addresses: dict[str, str] = {}
        self.starts = ListeningWatch(self.addresses)

    @property
    def brokers(self) -> Overlay:
        return self

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def await_links(self, within: float) -> None: ...

    def ended(self) -> list[Ending]:
        endings, self.endings = self.endings, []
        return endings

    def settle(self, within: float) -> None:
        if self.unsettled:
            raise UnsettledError("messages are in flight")
        self.looks += 1

    def quiet_watch(self) -> Overlay:
        return self

    def unmoved(self) -> bool:
        self.looks += 1
        return True

    def tables(self) -> dict[str, dict[str, object]]:
        return {"B1": {"rows": self.looks}}


class Shared:
    """A deployment on the first of two hosts."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, directory: Path) -> None:
        self.overlay, self.others, self.sampler = Overlay(), Others(), MagicMock()
        self.drivers: Any = MagicMock(ready=True, status=DriverStatus(done=True))
        for name, stand_in in (
            ("EmulatedNetwork", MagicMock()),
            ("HostOverlay", MagicMock(return_value=self.overlay)),
            ("Drivers", MagicMock(return_value=MagicMock(__enter__=lambda _: self.drivers))),
            ("host_configs", MagicMock()),
            ("write_driver_inputs", MagicMock(return_value=[])),
            ("no_sampling", MagicMock(return_value="")),
            ("sampling_request", MagicMock()),
            ("ProcessorSampler", self.sampler),
        ):
            monkeypatch.setattr(host_start, name, stand_in)
        self.plan: VariantPlan = make_plan(load_text(SCENARIO, "shared.yaml")).variants[0]
        self.measured = Measurements(variant=self.plan.name)
        context = HostRunContext(
            paths=MagicMock(directory=directory, logs=directory),
            manifest=Manifest(run_id="run"),
            snapshot=Snapshot(),
            display=NoDisplay(),
            interrupt=Interrupt(),
            log=MagicMock(),
            clock=time.monotonic_ns,
            journal=MagicMock(),
            runtime=MagicMock(),
        )
        share = HostShare(brokers=frozenset({"B1"}), host="h1", rendezvous=self.others)
        over: Any = MagicMock()
        self.deployment = HostDeployment(context, self.plan, share, LinkDriver.USERSPACE, self.measured, when_over=over)


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Shared:
    return Shared(monkeypatch, tmp_path)


@pytest.fixture
def started(shared: Shared) -> Shared:
    shared.deployment.start()
    shared.others.stages.clear()
    return shared


def test_one_of_several_hosts_samples_its_own_processors_until_its_brokers_stop(started: Shared) -> None:
    sampler = started.sampler.return_value
    assert sampler.__enter__.called and not sampler.__exit__.called
    assert started.measured.no_processor_times == ""
    started.deployment.stop()
    assert sampler.__exit__.called


def test_a_defect_ends_the_wait_for_other_hosts(started: Shared) -> None:
    started.overlay.endings.append(DEFECT)
    with pytest.raises(BrokerDefectError, match=r"broker defect: B1 \(protocol tid\) failed") as caught:
        started.deployment.drained()
    assert caught.value.broker == "B1"
    assert started.measured.endings == [DEFECT]


def test_a_defect_ends_the_wait_for_the_beginning_too(started: Shared) -> None:
    started.overlay.endings.append(DEFECT)
    with pytest.raises(BrokerDefectError):
        started.deployment.begin()


def test_a_broker_that_ends_otherwise_is_noted_while_the_host_waits(started: Shared) -> None:
    started.overlay.endings.append(KILLED)
    started.deployment.drained()
    assert started.measured.endings == [KILLED]


def test_a_defect_ends_the_wait_for_clients_to_connect(shared: Shared) -> None:
    shared.drivers.ready = False
    shared.overlay.endings.append(DEFECT)
    with pytest.raises(BrokerDefectError):
        shared.deployment.start()


def test_the_wait_for_clients_lasts_while_they_connect_and_names_what_it_waits_for(
    shared: Shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Connecting:
        """Drivers of which a session comes up at each look, until the third has."""

        looks = 0
        ready = False
        awaited = ("B1", "B7")

        @property
        def connected(self) -> int:
            self.looks += 1
            return min(3, self.looks)

    now = iter(range(0, 1000, 20))
    patience = partial(Patience, clock=lambda: float(next(now)), share=lambda: 1.0)
    monkeypatch.setattr(host_start, "Patience", patience)
    monkeypatch.setattr(host_start, "busy_processors", lambda: "the processors are busy")
    shared.drivers = drivers = Connecting()
    with pytest.raises(HostError, match="clients cannot connect to B1, B7; the processors are busy; see "):
        shared.deployment.start()
    assert drivers.looks == 5, "31 s of patience, 20 s a look: two more than the last one that saw progress"


def test_hosts_wait_for_each_other_where_clients_leave(started: Shared) -> None:
    deployment = started.deployment
    for nodes in started.plan.leaving:
        deployment.leave(*nodes)
        deployment.settle(1.0)
        deployment.read_tables()
    left, settled, read, *_ = leaving_stages(started.plan)
    assert started.others.stages[:4] == [left, f"{settled}-0", f"{settled}-1", read]
    assert len(started.others.stages) == 8


def test_tables_are_read_after_a_round_in_which_nothing_moved_on_any_host(started: Shared) -> None:
    """Messages that another host had sent by the time at which all had settled change tables here."""
    started.others.cast = [Vote.UNMOVED, Vote.MOVED]
    started.deployment.leave("subscribers")
    started.deployment.settle(1.0)
    assert started.deployment.read_tables() == {"B1": {"rows": 4}}


def test_a_host_that_does_not_settle_ends_the_others_wait(started: Shared) -> None:
    started.overlay.unsettled = True
    started.deployment.leave("subscribers")
    with pytest.raises(UnsettledError, match="messages are in flight"):
        started.deployment.settle(1.0)
    assert started.others.stages == ["subscribers-left", "subscribers-settled-0"]


def test_a_host_learns_that_another_does_not_settle(started: Shared) -> None:
    started.others.cast = [Vote.GIVEN_UP]
    started.deployment.leave("subscribers")
    with pytest.raises(UnsettledError, match="the brokers of another host had not settled after 1 seconds"):
        started.deployment.settle(1.0)


def test_drivers_send_what_the_limits_of_the_brokers_allow(shared: Shared, tmp_path: Path) -> None:
    context = shared.deployment._context
    context.paths.variant.return_value = tmp_path  # type: ignore[attr-defined]
    start = host_start.HostStart(
        context, shared.plan, HostShare.whole(shared.plan.overlay), shared.measured, ExitStack()
    )
    written = start._write_driver(DriverInput("publishers", tmp_path / "operations.jsonl"), MagicMock())
    config = msgspec.json.decode(written.read_bytes(), type=DriverConfig)
    assert (config.message_bytes, config.reconnect_first, config.reconnect_last) == (4 << 20, 0.02, 0.3)


def test_drivers_get_the_beginning_and_the_offset_of_their_clock(started: Shared) -> None:
    """They stamp publications by the clock of the run."""
    assert started.deployment.begin() == SECOND
    started.drivers.begin.assert_called_once_with(SECOND, started.others.clock_offset)
