"""The kernel's own shaping: HTB for the rate and netem for the rest, through Mininet's `TCIntf`.

Each interface gets the same queueing disciplines whatever is asked of it, so that a running link can be changed without
taking one away, and with it the frames it holds:

    5:0 htb  ->  class 5:1 (the rate)  ->  10: netem (delay, jitter, loss)

Four things differ from what Mininet does by itself:

- Mininet only logs a qdisc that did not take. Here what `tc` prints is an error, and what the kernel then says it has
  is compared with what was asked.
- netem lets frames overtake each other when there is jitter, unless it has a rate. It gets one far above any link's:
  then it counts each frame's delay from the one before (`netem_enqueue` in the kernel), which keeps the order.
- netem's limit counts frames that are merely under way; it is raised by as many of the smallest frames as that can be.
- HTB's burst grows with the rate, as a timer for every frame would not keep up with fast links.

HTB lets a first burst pass unslowed after a pause, where the relay does not.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, fields, replace
from typing import Any

from mininet.link import TCIntf

from emulation.network.links import PlainLink
from emulation.network.model import LinkNames, NetworkError
from emulation.network.namespaces import run_in_namespace
from emulation.network.nodes import Node, want_interface
from emulation.network.shaping import needs_single_frames
from topology.model import JitterDistribution, LinkProperties

UNLIMITED = 10e9
"""Bits per second that a link without a rate may carry."""
REMEDY = "load the kernel modules sch_htb and sch_netem (`modprobe -a sch_htb sch_netem`), or use userspace links"

_ORDERING_RATE = "100gbit"
_SMALLEST_BURST, _BURST_TIME = 15_000, 1e-4
_SMALLEST_FRAME, _GREATEST_LIMIT = 60, 1_000_000
_ACCURACY, _TIME_ACCURACY = 2e-3, 2e-6
"""How far what the kernel says may be from what was asked, as a share and in seconds: it counts in ticks and rounds."""


class NetemInterface(TCIntf):  # type: ignore[misc]
    """An interface that shapes what it sends."""

    bwParamMax = UNLIMITED / 1e6  # noqa: N815 - Mininet's name

    def config(
        self, ip: str, hardware_address: str, neighbour: tuple[str, str], properties: LinkProperties, **_: Any
    ) -> dict[str, Any]:
        """Configure and shape at once; `NetworkError` when `ip` or `tc` complain."""
        want_interface(self, ip, hardware_address, neighbour)
        self.node.want(f"link set dev {self.name} gso_max_segs {1 if needs_single_frames(properties) else 65535}")
        self.node.configure()  # Mininet's `tc` commands take an interface that is up
        # Mininet hands `delay` on to `delayCmds`, whatever it is; the other properties travel with it.
        done: dict[str, Any] = super().config(bw=_rate(properties) / 1e6, delay=properties, up=None)
        if complaints := " ".join(line for output in done["tcoutputs"] for line in output.split()):
            raise NetworkError(f"interface {self.name} cannot be shaped ({complaints}): {REMEDY}")
        return done

    def bwCmds(self, bw: float, **_: Any) -> tuple[list[str], str]:  # noqa: N802 - Mininet's name
        """The commands that add HTB for `bw` Mbit/s, and what netem is to be attached to."""
        return [
            "%s qdisc add dev %s root handle 5:0 htb default 1",
            f"%s class add dev %s parent 5:0 classid 5:1 htb {_htb_arguments(bw * 1e6)}",
        ], "parent 5:1"

    @staticmethod
    def delayCmds(parent: str, delay: LinkProperties, **_: Any) -> tuple[list[str], str]:  # noqa: N802 - Mininet's name
        """The command that adds netem, and what could be attached to that."""
        return [f"%s qdisc add dev %s {parent} handle 10: netem {netem_arguments(delay)}"], "parent 10:1"


class NetemLink(PlainLink):
    """A veth pair whose ends shape what they send."""

    def __init__(self, nodes: tuple[Node, Node], names: LinkNames) -> None:
        self._nodes = nodes
        self._properties = [names.link.forward, names.link.backward]
        self._cut = [False, False]
        self._corruption = [0.0, 0.0]
        super().__init__(nodes, names, NetemInterface, [{"properties": properties} for properties in self._properties])

    def change(self, side: int, properties: LinkProperties) -> None:
        before = self._properties[side]
        if before.jitter and before.distribution is not properties.distribution is JitterDistribution.UNIFORM:
            raise NetworkError(f"{self.names}: netem cannot change the distribution of jitter to uniform while it runs")
        self._properties[side] = properties
        self._apply(side)

    def cut(self, side: int) -> None:
        self._cut[side] = True
        self._apply(side)

    def restore(self, side: int) -> None:
        self._cut[side] = False
        self._apply(side)

    def corrupt(self, side: int, share: float) -> None:
        self._corruption[side] = share
        self._apply(side)

    def verify(self) -> None:
        for side in (0, 1):
            self._verify(side)

    def _apply(self, side: int) -> None:
        properties, name = self._properties[side], self.names.interfaces[side]
        # What is left out keeps its value, all but the loss.
        faults = [f"corrupt {self._corruption[side] * 100:.5f}", *(["loss 100"] if self._cut[side] else [])]
        commands = [
            f"class change dev {name} parent 5:0 classid 5:1 htb {_htb_arguments(_rate(properties))}",
            " ".join([f"qdisc change dev {name} parent 5:1 handle 10: netem {netem_arguments(properties)}", *faults]),
        ]
        done = run_in_namespace(self._nodes[side].pid, ["tc", "-batch", "-"], "\n".join([*commands, ""]))
        if done.returncode or done.stderr:
            raise NetworkError(f"{self.names} cannot be changed: {' '.join(done.stderr.split())}")
        self._verify(side)

    def _verify(self, side: int) -> None:
        name, pid = self.names.interfaces[side], self._nodes[side].pid
        disciplines = run_in_namespace(pid, ["tc", "-json", "qdisc", "show", "dev", name])
        classes = run_in_namespace(pid, ["tc", "class", "show", "dev", name])
        found = read_shaping(disciplines.stdout, classes.stdout)
        asked = replace(Shaping.of(self._properties[side]), corruption=self._corruption[side])
        if self._cut[side]:
            asked = replace(asked, loss=1.0)
        if found is None:
            raise NetworkError(f"{self.names}: interface {name} has no HTB with netem below it: {REMEDY}")
        if differences := asked.differences(found):
            raise NetworkError(f"{self.names}: interface {name} did not take what was asked: {', '.join(differences)}")


@dataclass(frozen=True, slots=True)
class Shaping:
    """What the kernel can be asked about an interface's shaping. (It does not tell the distribution of jitter.)"""

    delay: float
    """Seconds, like jitter."""
    jitter: float
    loss: float
    """Share, 0 to 1."""
    rate: float
    """Bits per second."""
    limit: int
    """Frames."""
    corruption: float = 0.0
    """Share, 0 to 1."""

    @classmethod
    def of(cls, properties: LinkProperties) -> Shaping:
        """What properties come to."""
        return cls(properties.delay, properties.jitter, properties.loss, _rate(properties), _limit(properties))

    def differences(self, found: Shaping) -> list[str]:
        """In what `found` is not this, beyond the kernel's rounding."""
        pairs = [(field.name, getattr(self, field.name), getattr(found, field.name)) for field in fields(self)]
        return [
            f"{name} {has:g} instead of {wants:g}"
            for name, wants, has in pairs
            if not math.isclose(wants, has, rel_tol=_ACCURACY, abs_tol=_TIME_ACCURACY)
        ]


def read_shaping(disciplines: str, classes: str) -> Shaping | None:
    """From what `tc -json qdisc show` and `tc class show` print (it has no JSON for classes); None where none is."""
    by_kind = {(entry["kind"], entry["handle"]): entry for entry in json.loads(disciplines or "[]")}
    netem = by_kind.get(("netem", "10:"))
    words = next((line.split() for line in classes.splitlines() if line.startswith("class htb 5:1 ")), [])
    if ("htb", "5:") not in by_kind or netem is None or netem.get("parent") != "5:1" or "rate" not in words:
        return None
    options = netem["options"]
    delay, loss = options.get("delay", {}), options.get("loss-random", {})
    return Shaping(
        delay.get("delay", 0.0),
        delay.get("jitter", 0.0),
        loss.get("loss", 0.0),
        read_rate(words[words.index("rate") + 1]),
        options["limit"],
        options.get("corrupt", {}).get("corrupt", 0.0),
    )


def read_rate(text: str) -> float:
    """Bits per second from what `tc` prints: `10Mbit`."""
    units = (("Tbit", 1e12), ("Gbit", 1e9), ("Mbit", 1e6), ("Kbit", 1e3), ("bit", 1.0))
    return next(float(text.removesuffix(unit)) * factor for unit, factor in units if text.endswith(unit))


def netem_arguments(properties: LinkProperties) -> str:
    """What `tc ... netem` is told. By jitter it means what `LinkProperties` does, for each distribution."""
    words = [f"limit {_limit(properties)} delay {properties.delay * 1e6:.3f}us {properties.jitter * 1e6:.3f}us"]
    if properties.jitter and properties.distribution is not JitterDistribution.UNIFORM:
        words.append(f"distribution {properties.distribution}")
    words.append(f"loss {properties.loss * 100:.5f} rate {_ORDERING_RATE}")
    return " ".join(words)


def burst_of(properties: LinkProperties) -> int:
    """Bytes that pass unslowed after a pause."""
    return _burst(_rate(properties))


def _burst(rate: float) -> int:
    return max(_SMALLEST_BURST, round(rate / 8 * _BURST_TIME))


def _htb_arguments(rate: float) -> str:
    burst = _burst(rate)
    return f"rate {rate:.0f}bit burst {burst} cburst {burst}"


def _rate(properties: LinkProperties) -> float:
    return UNLIMITED if properties.rate is None else properties.rate


def _limit(properties: LinkProperties) -> int:
    under_way = _rate(properties) / 8 / _SMALLEST_FRAME * (properties.delay + 4 * properties.jitter)
    return min(properties.queue_limit + math.ceil(under_way), _GREATEST_LIMIT)
