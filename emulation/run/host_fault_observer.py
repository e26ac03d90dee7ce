"""Looks at brokers and links of this host from outside: at processes as the kernel has them, and by probes.

The processes of a broker are those of the run that execute the broker's program in the network namespace of its node,
whatever the runtime takes for the broker. One that works switches contexts, ten times a second at least, because it
measures its event loop; a frozen one does not, whether it was stopped by a signal or by a freezer.
"""

from __future__ import annotations

import contextlib
import ipaddress
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from broker_service.transport.silent_end import NOBODY
from emulation.fidelity.throttling import cores_of
from emulation.host.processes import ProcessIdentity, processes_of_run
from emulation.network.model import NetworkError
from emulation.network.namespaces import in_namespace
from emulation.network.network import EmulatedNetwork
from emulation.runtimes.control import BrokerControls
from emulation.runtimes.interface import BROKER_PROGRAM, ForeignProgram
from emulation.runtimes.listening import knock
from emulation.verification.seen import BrokerSeen, DirectionSeen, SiteSeen
from emulation.verification.verifier import FaultVerifier
from record.contract import STATUS_LEVEL
from topology.link_properties import BrokerId, LinkDirection, LinkProperties
from topology.sites import ClientHost, PresentSites

WATCHED_FOR = 0.35
"""Seconds for which processes are watched: more than three intervals between measurements of a broker's event loop."""
_RETURN_TAKES = 3.0
"""Seconds that clients of drivers may take to open their sessions again. A program has to start, too."""
_REMOTE, _STATE, _OWNER = 2, 3, 7
"""Places of a connection's remote address, its state and its owner, as the kernel lists connections."""
_ESTABLISHED = "01"
"""The state of a connection, as the kernel lists it."""
ERROR = 0.5e-3
"""Seconds by which the delay of a probe may be wrong on a host that is under load."""


class HostObserver:
    """A `FaultObserver` of the brokers and links of this host."""

    patience = 0.5
    start_takes = 6.0
    stop_takes = 3.0
    return_takes = _RETURN_TAKES
    look_takes = 2.5
    looks_again = 0.3

    def __init__(
        self,
        network: EmulatedNetwork,
        addresses: Mapping[BrokerId, str],
        run_id: str,
        foreign: ForeignProgram | None = None,
        *,
        sites: PresentSites,
        cut: Container[LinkDirection] = (),
        programs: Container[str] = (),
    ) -> None:
        """`addresses` are those of the brokers' control services; `foreign` are brokers that are not brokerlab's.
        `cut` are the directions that are cut at any time. `programs` are clients that are programs of their own."""
        self._network = network
        self._addresses = addresses
        self._foreign = foreign
        self._cut = cut
        self._sites = sites
        if any(client in programs for site in sites for client in site.clients):
            self.return_takes = _RETURN_TAKES + self.start_takes
        self._controls = BrokerControls(addresses)
        self._run_id = run_id

    def close(self) -> None:
        self._controls.close()

    def brokers(self, brokers: Sequence[BrokerId]) -> Mapping[BrokerId, BrokerSeen]:
        homes = {_namespace(self._network.pid(broker)): broker for broker in brokers}
        found: dict[BrokerId, list[int]] = defaultdict(list)
        is_of_broker = _is_our_program if self._foreign is None else _is_configuration
        for pid in _broker_processes(processes_of_run(self._run_id), is_of_broker):
            broker = homes.get(_namespace(pid))
            if broker is not None and (self._foreign is None or not found[broker]):
                found[broker].append(pid)  # a foreign broker's further processes are its own affair
        before = {pid: _switches(pid) for pids in found.values() for pid in pids}
        if self._foreign is not None:
            for broker in found:
                knock(self._addresses[broker])  # so that one that works has something to do
        time.sleep(WATCHED_FOR)
        working = {pid for pid, switches in before.items() if _switches(pid) > switches}
        at_work = [broker for broker in brokers if working.intersection(found[broker])]
        incarnations = self._incarnations(at_work)
        return {
            broker: BrokerSeen(
                processes=len(found[broker]),
                works=broker in at_work,
                incarnation=incarnations.get(broker),
                starting=broker not in incarnations and not knock(self._addresses[broker]),
                cores=next(map(cores_of, found[broker]), None),
            )
            for broker in brokers
        }

    def _incarnations(self, brokers: Sequence[BrokerId]) -> Mapping[BrokerId, int]:
        """The incarnations that brokers state, each by what its level has it answer."""
        if self._foreign is not None and self._foreign.level < STATUS_LEVEL:
            return self._controls.incarnations(brokers)
        return {broker: status.incarnation for broker, status in self._controls.status(brokers).items()}

    def sites(self, hosts: Sequence[ClientHost]) -> Mapping[ClientHost, SiteSeen]:
        found = {}
        for host in hosts:
            site = self._sites.site(host.site) if host.name == host.site else self._sites.site_of(host.name)
            with contextlib.suppress(NetworkError):
                link = LinkDirection(site.name, site.broker)
                found[host] = SiteSeen(
                    connections=in_namespace(self._network.pid(site.name), _open_connections).total(),
                    clients=len(site.clients),
                    reachable=link not in self._cut and link.reverse not in self._cut,
                )
        return found

    def connections(self, sites: Collection[str]) -> Mapping[str, Mapping[BrokerId, int]]:
        found = {}
        for site in sites:
            brokers = {end.remote_address: end.neighbour for end in self._network.ends(site)}
            with contextlib.suppress(NetworkError):
                counted = in_namespace(self._network.pid(site), _open_connections)
                found[site] = {brokers[address]: number for address, number in counted.items() if address in brokers}
        return found

    def directions(
        self, asked: Mapping[LinkDirection, LinkProperties], lost: Mapping[LinkDirection, float]
    ) -> Mapping[LinkDirection, DirectionSeen]:
        try:
            probed = self._network.probe_faults(asked, lost)
        except NetworkError:
            return {}
        return {
            direction: DirectionSeen(
                sent=samples.sent,
                arrived=samples.received,
                delays=tuple(samples.delays),
                expected_delay=spec.expected_delay,
                rate=next(iter(samples.rates), None),
                error=ERROR + samples.clock_error,
                shared=True,
            )
            for direction, (spec, samples) in probed.items()
        }


class RegularLooks:
    """Has a verifier look whenever it wants to, in a thread of its own, until `end`."""

    def __init__(self, verifier: FaultVerifier, interval: float) -> None:
        """`interval` is the number of seconds between two questions whether a look is due."""
        self._verifier = verifier
        self._interval = interval
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, name="fault verifier", daemon=True)
        self._thread.start()

    def renew(self) -> None:
        """Does nothing, because the verifier's wishes are asked for again and again."""

    def end(self) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(self._interval):
            self._verifier.look()


def _namespace(pid: int) -> int:
    """Number of the network namespace of a process; 0 for one that has ended."""
    try:
        return Path(f"/proc/{pid}/ns/net").stat().st_ino
    except OSError:
        return 0


def _open_connections() -> Counter[str]:
    """The established TCP connections of this thread's network namespace, by the address of the other end; without
    those that belong to nobody."""
    lines = Path("/proc/thread-self/net/tcp").read_text(encoding="ascii").splitlines()[1:]
    rows = (line.split() for line in lines)
    return Counter(_address(row[_REMOTE]) for row in rows if row[_STATE] == _ESTABLISHED and int(row[_OWNER]) != NOBODY)


def _address(written: str) -> str:
    """An address that the kernel lists as `0100007F:1B58`, in the order of bytes of this processor."""
    number = int(written.partition(":")[0], 16)
    return str(ipaddress.IPv4Address(number.to_bytes(4, sys.byteorder)))


def _is_our_program(argument: bytes) -> bool:
    return argument == BROKER_PROGRAM.encode()


def _is_configuration(argument: bytes) -> bool:
    """True for the last argument of a broker that is not brokerlab's."""
    return argument.endswith(b"/broker.json")


def _broker_processes(processes: Iterable[ProcessIdentity], is_of_broker: Callable[[bytes], bool]) -> Iterator[int]:
    """The processes with an argument by which brokers are known."""
    for process in processes:
        with contextlib.suppress(OSError):
            arguments = Path(f"/proc/{process.pid}/cmdline").read_bytes().split(b"\0")
            if any(map(is_of_broker, arguments)):
                yield process.pid


def _switches(pid: int) -> int:
    """Context switches of all threads of a process so far."""
    count = 0
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            lines = (thread / "status").read_text(encoding="ascii", errors="replace").splitlines()
            count += sum(int(line.split()[1]) for line in lines if "ctxt_switches" in line)
    return count
