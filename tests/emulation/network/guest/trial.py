"""Uses netem links and prints what they did as a line of JSON. Runs in a guest (`--guest`) or on a host with netem."""

from __future__ import annotations

import ctypes
import socket
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import msgspec

ROOT = Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT))

from emulation.network.drivers import usable_drivers  # noqa: E402
from emulation.network.model import LinkDriver, NetworkError  # noqa: E402
from emulation.network.namespaces import in_namespace, run_in_namespace  # noqa: E402
from emulation.network.network import EmulatedNetwork  # noqa: E402
from emulation.network.probing.probes import LinkProbe  # noqa: E402
from topology.link_properties import Link, LinkDirection, LinkProperties  # noqa: E402
from topology.model import Broker, Overlay  # noqa: E402

FINIT_MODULE = 313
"""The number of the system call finit_module(2) on x86-64, the only processor that User-Mode-Linux runs on."""
SO_RCVBUFFORCE = 33
"""The option of socket(7) that exceeds the system's limit of receive buffers; Python does not name it."""
RECEIVE_BUFFER = 4 << 20
"""Bytes."""
MODULES = Path("/usr/lib/uml/modules")
POWER_OFF = 0x4321FEDC

LINKS = (
    Link("A", "B", LinkProperties(delay=0.030, jitter=0.002, loss=0.05, rate=2e6), LinkProperties(delay=0.050)),
    Link("B", "C", LinkProperties(delay=0.020), LinkProperties(delay=0.040, rate=1e6)),
)
MADE_LATER = Link("A", "C", LinkProperties(delay=0.025), LinkProperties(delay=0.045))
OVERLAY = Overlay(name="guest", brokers=(Broker("A"), Broker("B"), Broker("C")), links=LINKS)


class Findings(msgspec.Struct):
    """The measurements of the links."""

    drivers: dict[str, bool]
    missing_module: str
    """The error without netem in the kernel; empty when it was there already."""
    idle: list[LinkProbe]
    changed: list[LinkProbe]
    cut: list[LinkProbe]
    restored: list[LinkProbe]
    made_later: list[LinkProbe]
    """Both directions of a link that was made while the others were in use."""
    across_cut: list[int]
    undamaged: list[int]
    """Packets that arrived: those from 0 to 99 were damaged, those from 100 to 199 were not."""
    order: list[int]
    """Packets in the order they arrived over a link whose jitter is far above the time between them."""
    tampered: str
    """The error when a qdisc is not what was asked."""
    removed: str
    """The error when it is gone."""


def insert_modules(names: Sequence[str]) -> None:
    """Loads kernel modules by the system call itself, because minimal hosts lack the program insmod."""
    libc = ctypes.CDLL(None, use_errno=True)
    for name in names:
        (module,) = MODULES.rglob(f"{name}.ko")
        with module.open("rb") as file:
            if libc.syscall(FINIT_MODULE, file.fileno(), b"", 0):
                raise OSError(ctypes.get_errno(), f"cannot load {module}")


def complaint_of_start() -> str:
    try:
        with EmulatedNetwork(OVERLAY, "guest", LinkDriver.NETEM):
            return ""
    except NetworkError as error:
        return str(error)


def complaint_after(network: EmulatedNetwork, tc: str) -> str:
    """The error of verification after a foreign use of `tc` on end B of the first link."""
    interface = network.ends("B")[0].interface
    done = run_in_namespace(network.pid("B"), ["tc", *tc.format(interface).split()])
    assert done.returncode == 0, done.stderr
    try:
        network._parts.links["A", "B"].verify()
    except NetworkError as error:
        return str(error)
    return ""


@contextmanager
def from_b_to_a(network: EmulatedNetwork) -> Iterator[tuple[socket.socket, socket.socket]]:
    """A socket at B that is connected to one at A."""
    a, b = network.ends("A")[0], network.ends("B")[0]
    receiver, sender = (
        in_namespace(network.pid(broker), lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) for broker in "AB"
    )
    with receiver, sender:
        receiver.bind((a.local_address, 0))
        receiver.settimeout(60)
        # A guest that was held up releases all delayed packets at once, too many for the default buffer.
        receiver.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BUFFER)
        sender.bind((b.local_address, 0))
        sender.connect(receiver.getsockname())
        yield sender, receiver


def order_of_arrival(network: EmulatedNetwork, packets: int) -> list[int]:
    """Packets sent one right after the other from B to A."""
    with from_b_to_a(network) as (sender, receiver):
        for number in range(packets):
            sender.send(number.to_bytes(2, "big"))
        return [int.from_bytes(receiver.recv(2), "big") for _ in range(packets)]


def arrivals_under_damage(network: EmulatedNetwork, packets: int) -> list[int]:
    """The arrivals of `packets` damaged packets from B to A, and of as many undamaged ones after them."""
    with from_b_to_a(network) as (sender, receiver):
        network.corrupt(LinkDirection("B", "A"), 1.0)
        for number in range(packets):
            sender.send(number.to_bytes(2, "big") + bytes(1000))
        network.corrupt(LinkDirection("B", "A"), 0.0)
        for number in range(packets, 2 * packets):
            sender.send(number.to_bytes(2, "big") + bytes(1000))
        arrived = [int.from_bytes(receiver.recv(2), "big")]
        while arrived[-1] < 2 * packets - 1:
            arrived.append(int.from_bytes(receiver.recv(2), "big"))
        return arrived


def arrivals_across_a_cut(network: EmulatedNetwork, packets: int) -> list[int]:
    """The arrivals of `packets` packets from B to A while that direction is cut, and of as many after it is
    restored."""
    with from_b_to_a(network) as (sender, receiver):
        network.cut(LinkDirection("B", "A"))
        for number in range(packets):
            sender.send(number.to_bytes(2, "big"))
        network.restore(LinkDirection("B", "A"))
        for number in range(packets, 2 * packets):
            sender.send(number.to_bytes(2, "big"))
        arrived = [int.from_bytes(receiver.recv(2), "big")]
        while arrived[-1] < 2 * packets - 1:
            arrived.append(int.from_bytes(receiver.recv(2), "big"))
        return arrived


def findings(missing_module: str) -> Findings:
    drivers = {str(trial.driver): trial.usable for trial in usable_drivers()}
    with EmulatedNetwork(OVERLAY, "guest", LinkDriver.NETEM) as network:
        idle = network.probe()
        network.cut(LinkDirection("B", "A"))
        cut = network.probe_under_load([LINKS[0]])
        network.restore(LinkDirection("B", "A"))
        network.change(LinkDirection("B", "C"), LinkProperties(delay=0.035, rate=0.5e6))
        network.add(MADE_LATER)
        later = network.probe()
        restored, changed, made_later = later[:2], later[2:4], later[4:]
        across_cut = arrivals_across_a_cut(network, 20)
        undamaged = arrivals_under_damage(network, 100)
        network.change(LinkDirection("B", "A"), replace(LINKS[0].backward, jitter=0.010))
        order = order_of_arrival(network, 100)
        network.change(LinkDirection("B", "A"), LINKS[0].backward)
        delay = "qdisc change dev {} parent 5:1 handle 10: netem delay 10ms limit 1000000 rate 100gbit"
        tampered = complaint_after(network, delay)
        removed = complaint_after(network, "qdisc del dev {} root")
    return Findings(
        drivers, missing_module, idle, changed, cut, restored, made_later,
        across_cut, undamaged, order, tampered, removed,
    )  # fmt: skip


def main() -> None:
    guest = sys.argv[1:] == ["--guest"]
    missing_module = ""
    if guest:
        insert_modules(["veth", "sch_htb"])
        missing_module = complaint_of_start()
        insert_modules(["sch_netem"])
    print(f"FINDINGS {msgspec.json.encode(findings(missing_module)).decode()}", flush=True)
    if guest:
        ctypes.CDLL(None).reboot(POWER_OFF)


if __name__ == "__main__":
    main()
