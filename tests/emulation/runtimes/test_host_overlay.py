"""Faults on real brokers, in processes and in containers, over relayed links."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import grpc
import pytest

from broker_service.client_library.client_session import ClientSession
from broker_service.config import Disturbance, Limits
from broker_service.generated import broker_pb2 as pb
from broker_service.generated import broker_pb2_grpc
from broker_service.language.content import encode_predicates
from broker_service.language.model import Operator, Predicate
from broker_service.messages import ClientEvent, Operation, Outcome
from emulation.host.docker_host import docker_client, ensure_image
from emulation.host.journal import Journal
from emulation.host.registry import register, unregister
from emulation.host.run_paths import RunPaths
from emulation.live_overlay import BrokerSettings
from emulation.network.model import LinkDriver
from emulation.network.network import EmulatedNetwork
from emulation.network.probing.probes import LinkProbe
from emulation.runtimes import Hosting, HostOverlay, ProcessRuntime, Runtime, host_configs
from emulation.runtimes.container import ContainerRuntime
from emulation.runtimes.process import unprivileged
from record.errors import HostError
from record.files import log_file
from record.service_time import ServiceTime
from tests.scenario.faults.overlays import overlay_of
from tests.tries import one_of_three
from tests.waiting import await_true
from topology.link_properties import BrokerId, LinkDirection, LinkProperties

pytestmark = pytest.mark.container

WITHIN = 60.0
OVERLAY = overlay_of(("A", "B"), delay=0.001)
AB = LinkDirection("A", "B")
_STORAGE = "import sys; from pathlib import Path; from broker_service.core.storage import FileStorage;"
STORING = f"{_STORAGE} storage = FileStorage(Path(sys.argv[1])); storage['a'] = b'stored'; storage.commit()"
READING = f"{_STORAGE} print(FileStorage(Path(sys.argv[1]))['a'].decode())"
LISTING = "import os, sys; print(os.listdir(os.path.dirname(sys.argv[1])))"
TRESPASSING = """
import os, signal, socket, sys
log, other_log, other_socket, other_pid = sys.argv[1].split()
folder = os.path.dirname(log)
attempts = {
    "remove": lambda: os.unlink(log),
    "replace": lambda: os.rename(log, log + ".old"),
    "link": lambda: os.symlink("/etc/hostname", folder + "/subscribers.jsonl"),
    "pipe": lambda: os.mkfifo(folder + "/zz.jsonl"),
    "append": lambda: open(other_log, "ab"),
    "connect": lambda: socket.socket(socket.AF_UNIX).connect(other_socket),
    "signal": lambda: os.kill(int(other_pid), 0),
    "memory": lambda: open(f"/proc/{other_pid}/mem", "r+b"),
    "environment": lambda: open(f"/proc/{other_pid}/environ").read(),
}
done = []
for name, attempt in attempts.items():
    try:
        attempt()
        done.append(name)
    except OSError:
        pass
open(log, "ab").close()
print(" ".join(done))
"""
SECRET = ("CLOUD_TOKEN", "secret")
_SOURCE_ROOT = Path(__file__).parents[3]
QUOTES = encode_predicates((Predicate("class", Operator.STRING_EQUAL, "STOCK"),))
VERY_SLOW = ServiceTime(mean=3600.0)


class Hosted:
    """Two linked brokers on a runtime."""

    def __init__(self, kind: str, directory: Path, stack: ExitStack) -> None:
        self.paths = RunPaths.of(f"test-{uuid.uuid4().hex[:8]}", directory)
        self.paths.make()
        register(self.paths.run_id, self.paths.journal)
        stack.callback(unregister, self.paths.run_id)
        journal = Journal(self.paths.journal)
        stack.callback(journal.close)
        self.runtime: Runtime = stack.enter_context(self._runtime(kind, journal, stack))
        brokers = ["A", "B"]
        self.paths.make_socket_directories(brokers)
        sandboxes = self.runtime.sandboxes(brokers)
        self.network = stack.enter_context(
            EmulatedNetwork(OVERLAY, self.paths.run_id, LinkDriver.USERSPACE, sandboxes, journal)
        )
        settings = BrokerSettings(protocol="tid", limits=Limits(heartbeat=0.2, reconnect_last=0.2))
        configs = host_configs(
            OVERLAY, settings, self.paths.run_id, lambda broker: replace(self.runtime.files(broker), log="")
        )
        hosting = Hosting(
            runtime=self.runtime,
            network=self.network,
            namespace=self.network.pid,
            check_network=self.network.check,
            sockets=self.paths.socket,
            directory=self.paths.variant("base"),
        )
        self.overlay = stack.enter_context(HostOverlay(OVERLAY, configs, hosting))
        self.addresses = self.overlay.brokers.addresses
        self.overlay.await_links(WITHIN)

    def _runtime(self, kind: str, journal: Journal, stack: ExitStack) -> Runtime:
        if kind == "process":
            return ProcessRuntime(self.paths, journal)
        client = docker_client()
        stack.callback(client.close)
        return ContainerRuntime(client, ensure_image(client).name, self.paths, journal)

    def run_as_broker(self, broker: BrokerId, program: str, argument: str) -> str:
        """Output of a Python program that runs where the broker does, as its user."""
        command = [sys.executable if self.runtime.name == "process" else "python", "-c", program, argument]
        if self.runtime.name == "process":
            where = [*unprivileged(self.paths, broker), "--"]
        else:
            where = ["docker", "exec", f"brokerlab-{self.paths.run_id}-{broker}"]
        done = subprocess.run([*where, *command], capture_output=True, check=True, text=True, cwd=_SOURCE_ROOT)
        return done.stdout.strip()

    def status(self, broker: BrokerId, within: float = 1.0) -> pb.StatusReply | None:
        """Status that the broker reports; None where no answer comes."""
        with grpc.insecure_channel(self.addresses[broker]) as channel:
            try:
                reply: pb.StatusReply = broker_pb2_grpc.BrokerControlStub(channel).Status(
                    pb.StatusRequest(), timeout=within
                )
            except grpc.RpcError:
                return None
            return reply

    def linked(self, broker: BrokerId) -> bool:
        reply = self.status(broker)
        return reply is not None and reply.links[0].up

    def answers(self, broker: BrokerId, within: float) -> bool:
        """True when a client's first operation is confirmed by then."""

        async def attach() -> bool:
            session = ClientSession(self.addresses[broker], answered.put_nowait)
            await session.open(WITHIN)
            session.submit("C", Operation.ATTACH)
            try:
                await asyncio.wait_for(answered.get(), within)
            except TimeoutError:
                return False
            finally:
                await session.close()
            return True

        answered: asyncio.Queue[ClientEvent] = asyncio.Queue()
        return asyncio.run(attach())

    def incarnation(self, broker: BrokerId) -> int:
        reply = self.status(broker, WITHIN)
        return 0 if reply is None else reply.incarnation

    def until(self, condition: Callable[[], bool], what: str) -> None:
        await_true(condition, what, WITHIN)


@pytest.fixture(scope="module", params=["process", "container"])
def hosted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosted]:
    with ExitStack() as stack, pytest.MonkeyPatch.context() as users:
        users.setenv(*SECRET)
        yield Hosted(request.param, tmp_path_factory.mktemp(request.param), stack)


@pytest.mark.parametrize("end", ["kill", "stop"])
def test_a_broker_that_ended_comes_back_as_another_incarnation(hosted: Hosted, end: str) -> None:
    before = hosted.incarnation("B")
    getattr(hosted.overlay.brokers, end)("B")
    assert "B" not in hosted.runtime.processes()
    assert hosted.status("B", 0.2) is None
    hosted.until(lambda: not hosted.linked("A"), "A notices")
    hosted.overlay.brokers.restart("B")
    hosted.until(lambda: hosted.linked("A") and hosted.linked("B"), "both are linked again")
    assert hosted.incarnation("B") == before + 1
    assert set(hosted.runtime.processes()) == {"A", "B"}


def test_stable_storage_outlives_a_killed_broker(hosted: Hosted) -> None:
    path = f"{hosted.runtime.files('B').stored}.test"  # the broker keeps its own one locked
    hosted.run_as_broker("B", STORING, path)
    hosted.overlay.brokers.kill("B")
    hosted.overlay.brokers.restart("B")
    hosted.until(lambda: hosted.linked("B"), "B runs again")
    assert hosted.run_as_broker("B", READING, path) == "stored"
    assert "a" not in hosted.run_as_broker("A", LISTING, hosted.runtime.files("A").stored)


def test_a_broker_reaches_nothing_of_another_and_may_only_append_to_its_log(hosted: Hosted) -> None:
    paths, pid = hosted.paths, hosted.runtime.processes()["A"].pid
    for broker in ("A", "B"):
        assert log_file(paths.logs, broker).stat().st_size == 0, "these brokers write no log"
    own, other = (log_file(Path(hosted.runtime.files("B").log).parent, broker) for broker in ("B", "A"))
    assert hosted.run_as_broker("B", TRESPASSING, f"{own} {other} {paths.socket('A')} {pid}") == ""
    assert sorted(entry.name for entry in paths.logs.iterdir()) == ["A.jsonl", "B.jsonl"]


def test_a_broker_does_not_inherit_the_users_environment(hosted: Hosted) -> None:
    inherited = Path(f"/proc/{hosted.runtime.processes()['A'].pid}/environ").read_bytes()
    assert SECRET[0].encode() not in inherited


def test_a_paused_broker_is_silent_and_goes_on(hosted: Hosted) -> None:
    before = hosted.incarnation("B")
    hosted.overlay.brokers.pause("B")
    assert hosted.status("B", 0.3) is None
    hosted.until(lambda: not hosted.linked("A"), "A misses its heartbeats")
    hosted.overlay.brokers.resume("B")
    hosted.until(lambda: hosted.linked("A") and hosted.linked("B"), "both are linked again")
    assert hosted.incarnation("B") == before


def test_a_paused_broker_can_be_killed(hosted: Hosted) -> None:
    process = hosted.runtime.processes()["B"]
    hosted.overlay.brokers.pause("B")
    hosted.overlay.brokers.kill("B")
    hosted.overlay.brokers.resume("B")
    hosted.until(lambda: not process.alive, "it has ended")
    hosted.overlay.brokers.restart("B")
    hosted.until(lambda: hosted.linked("A") and hosted.linked("B"), "both are linked again")


def test_a_paused_broker_stops_in_order(hosted: Hosted) -> None:
    hosted.overlay.brokers.pause("B")
    hosted.overlay.brokers.stop("B")
    exit_codes = {"process": None, "container": 0}  # the process runtime forgets a broker that it has stopped
    assert hosted.runtime.ending("B").exit_code == exit_codes[hosted.runtime.name]
    hosted.overlay.brokers.resume("B")
    hosted.overlay.brokers.restart("B")
    hosted.until(lambda: hosted.linked("A") and hosted.linked("B"), "both are linked again")


def test_a_cut_is_noticed_and_undone(hosted: Hosted) -> None:
    hosted.overlay.links.cut(AB)
    hosted.until(lambda: not hosted.linked("B"), "B hears nothing of A")
    hosted.overlay.links.restore(AB)
    hosted.until(lambda: hosted.linked("A") and hosted.linked("B"), "both are linked again")


def test_a_stream_is_reset_and_messages_are_disturbed_on_request(hosted: Hosted) -> None:
    for direction in (AB, AB.reverse):
        hosted.overlay.brokers.reset(direction)
        hosted.until(lambda: hosted.linked("A") and hosted.linked("B"), "both are linked again")
        hosted.overlay.brokers.disturb(direction, Disturbance(lose=0.5))
        hosted.overlay.brokers.disturb(direction, Disturbance())
    with pytest.raises(HostError, match="A and C are not linked"):
        hosted.overlay.brokers.reset(LinkDirection("A", "C"))


def test_a_link_is_degraded_and_recovers(hosted: Hosted) -> None:
    hosted.overlay.links.change(AB, LinkProperties(delay=0.05))
    forward, backward = one_of_three(lambda: as_asked(hosted))
    assert (forward.delay_asked, backward.delay_asked) == (0.05, 0.001)
    hosted.overlay.links.change(AB, OVERLAY.links[0].forward)
    forward, backward = one_of_three(lambda: as_asked(hosted))
    assert (forward.delay_asked, backward.delay_asked) == (0.001, 0.001)


def test_a_link_takes_another_send_time_and_a_restarted_broker_has_it(hosted: Hosted) -> None:
    """With an hour for each message, the first is being sent and the others wait."""
    own = OVERLAY.links[0].forward
    hosted.overlay.links.change(AB, replace(own, send_time=VERY_SLOW))
    for _ in ("the broker that runs", "its next incarnation"):
        assert asyncio.run(advertised(hosted)) == (1, 2)
        hosted.overlay.brokers.kill("A")
        hosted.overlay.brokers.restart("A")
        hosted.until(lambda: hosted.linked("A") and hosted.linked("B"), "both are linked again")
    hosted.overlay.links.change(AB, own)
    asyncio.run(advertised(hosted))
    hosted.until(lambda: in_flight_and_queued(hosted) == (0, 0), "B has handled what A sent")


async def advertised(hosted: Hosted) -> tuple[int, int]:
    """Messages from A to B that are in flight and that wait, once a client of A has advertised three times."""
    answered: asyncio.Queue[ClientEvent] = asyncio.Queue()
    session = ClientSession(hosted.addresses["A"], answered.put_nowait)
    await session.open(WITHIN)
    session.submit("C", Operation.ATTACH)
    for id in ("a1", "a2", "a3"):
        session.submit("C", Operation.ADVERTISE, id, QUOTES)
    for _ in range(4):
        assert (await asyncio.wait_for(answered.get(), WITHIN)).outcome is Outcome.CONFIRMED
    counted = in_flight_and_queued(hosted)
    await session.close()
    return counted


def in_flight_and_queued(hosted: Hosted) -> tuple[int, int] | None:
    reply = hosted.status("A", WITHIN)
    return None if reply is None else (reply.links[0].in_flight, reply.links[0].queued)


def as_asked(hosted: Hosted) -> list[LinkProbe]:
    probes = hosted.network.probe()
    assert [probe.detail for probe in probes if not probe.ok] == []
    return probes


def test_a_broker_is_slowed_and_gets_its_speed_back(hosted: Hosted) -> None:
    hosted.overlay.brokers.slow("B", VERY_SLOW)
    hosted.overlay.brokers.slow("B", None)
    assert hosted.answers("B", WITHIN)
    hosted.overlay.brokers.slow("B", VERY_SLOW)
    assert not hosted.answers("B", 0.3)
    start_anew(hosted)


def test_a_paused_broker_is_told_to_be_slow_when_it_can_hear(hosted: Hosted) -> None:
    hosted.overlay.brokers.pause("B")
    hosted.overlay.brokers.slow("B", VERY_SLOW)
    hosted.overlay.brokers.resume("B")
    assert not hosted.answers("B", 0.3)
    start_anew(hosted)


def start_anew(hosted: Hosted) -> None:
    """Healing a broker that is down does nothing; the broker comes back at full speed."""
    hosted.overlay.brokers.kill("B")
    hosted.overlay.brokers.slow("B", None)
    hosted.overlay.brokers.throttle("B", None)
    hosted.overlay.brokers.resume("B")
    hosted.overlay.brokers.restart("B")
    hosted.until(lambda: hosted.linked("A") and hosted.linked("B"), "both are linked again")
    assert hosted.answers("B", WITHIN)


def test_a_throttled_broker_has_a_quota(hosted: Hosted) -> None:
    if hosted.runtime.name == "process":
        with pytest.raises(HostError, match="a plain process has no CPU quota; use containers"):
            hosted.overlay.brokers.throttle("B", 0.25)
        return
    assert quota(hosted) is None
    hosted.overlay.brokers.throttle("B", 0.25)
    assert quota(hosted) == 0.25
    hosted.overlay.brokers.throttle("B", None)
    assert quota(hosted) is None


def quota(hosted: Hosted) -> float | None:
    """Cores that the kernel lets broker B use."""
    pid = hosted.runtime.processes()["B"].pid
    lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    of = {name: path for line in lines for name, path in [line.split(":", 2)[1:]]}
    first = next((path for name, path in of.items() if "cpu" in name.split(",")), None)
    if first is not None:
        group = Path(f"/sys/fs/cgroup/cpu{first}")
        used, period = (int((group / f"cpu.cfs_{name}_us").read_text()) for name in ("quota", "period"))
        return None if used < 0 else used / period
    most, per = (Path(f"/sys/fs/cgroup{of['']}") / "cpu.max").read_text().split()
    return None if most == "max" else int(most) / int(per)
