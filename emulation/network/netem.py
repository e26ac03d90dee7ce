"""Links that the kernel shapes: HTB for the rate and netem for the rest, through Mininet's `TCIntf`.

Each interface gets the same queueing disciplines whatever its properties are. Changes to a running link then remove
none of them, which would lose the frames it holds:

    5:0 htb  ->  class 5:1 (the rate)  ->  10: netem (delay, jitter, loss)

Four differences to Mininet's own shaping:

- Mininet only logs a qdisc that was not accepted. Here output of `tc` is an error, and the kernel's settings are
  compared with the requested ones.
- netem lets frames overtake each other when there is jitter, unless it has a rate. It gets one far above any link's.
  Then it counts each frame's delay from the frame before (`netem_enqueue` in the kernel), which keeps the order.
- netem's limit also counts frames that are only delayed; it is raised by the number of smallest frames that can be.
- HTB's burst grows with the rate, because a timer for every frame would be too slow for fast links.

HTB lets a first burst pass at full speed after a pause; the relay does not.
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
from emulation.network.relay.shaping import needs_single_frames
from topology.link_properties import JitterDistribution, LinkProperties

UNLIMITED = 10e9
"""Bits per second that a link without a rate may carry."""
REMEDY = "load the kernel modules sch_htb and sch_netem (`modprobe -a sch_htb sch_netem`), or use userspace links"

_ORDERING_RATE = "100gbit"
_SMALLEST_BURST, _BURST_TIME = 15_000, 1e-4
_SMALLEST_FRAME, _GREATEST_LIMIT = 60, 1_000_000
_ACCURACY, _TIME_ACCURACY = 2e-3, 2e-6
"""Tolerances between the kernel's settings and the requested ones, relative and in seconds: the kernel rounds to
ticks."""


class NetemInterface(TCIntf):  # type: ignore[misc]
    """An interface that shapes the frames it sends."""

    bwParamMax = UNLIMITED / 1e6  # noqa: N815 - Mininet's name

    def config(
        self, ip: str, hardware_address: str, neighbour: tuple[str, str], properties: LinkProperties, **_: Any
    ) -> dict[str, Any]:
        """Configure and shape at once. Raises `NetworkError` if `ip` or `tc` fail."""
        want_interface(self, ip, hardware_address, neighbour)
        self.node.want(f"link set dev {self.name} gso_max_segs {1 if needs_single_frames(properties) else 65535}")
        self.node.configure()  # Mininet's `tc` commands take an interface that is up
        # Mininet hands `delay` on to `delayCmds`, whatever it is; the other properties travel with it.
        done: dict[str, Any] = super().config(bw=_rate(properties) / 1e6, delay=properties, up=None)
        if complaints := " ".join(line for output in done["tcoutputs"] for line in output.split()):
            raise NetworkError(f"interface {self.name} cannot be shaped ({complaints}): {REMEDY}")
        return done

    def bwCmds(self, bw: float, **_: Any) -> tuple[list[str], str]:  # noqa: N802 - Mininet's name
        """The commands that add HTB for `bw` Mbit/s, and the parent for netem."""
        return [
            "%s qdisc add dev %s root handle 5:0 htb default 1",
            f"%s class add dev %s parent 5:0 classid 5:1 htb {_htb_arguments(bw * 1e6)}",
        ], "parent 5:1"

    @staticmethod
    def delayCmds(parent: str, delay: LinkProperties, **_: Any) -> tuple[list[str], str]:  # noqa: N802 - Mininet's name
        """The command that adds netem, and the parent for a further discipline."""
        return [f"%s qdisc add dev %s {parent} handle 10: netem {netem_arguments(delay)}"], "parent 10:1"


class NetemLink(PlainLink):
    """A veth pair whose ends shape the frames they send."""

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
        # An option that is left out keeps its value, except the loss.
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
            raise NetworkError(
                f"{self.names}: interface {name} did not take the requested settings: {', '.join(differences)}"
            )


@dataclass(frozen=True, slots=True)
class Shaping:
    """The shaping of an interface as the kernel reports it. It does not report the distribution of jitter."""

    delay: float
    """Seconds, like jitter."""
    jitter: float
    loss: float
    """Share, 0 to 1."""
    rate: float
    """Bits per second."""
    limit: int
    """Frames that may wait."""
    corruption: float = 0.0
    """Share, 0 to 1."""

    @classmethod
    def of(cls, properties: LinkProperties) -> Shaping:
        """The shaping that gives these properties."""
        return cls(properties.delay, properties.jitter, properties.loss, _rate(properties), _limit(properties))

    def differences(self, found: Shaping) -> list[str]:
        """The differences between `found` and this, beyond the kernel's rounding."""
        pairs = [(field.name, getattr(self, field.name), getattr(found, field.name)) for field in fields(self)]
        return [
            f"{name} {has:g} instead of {wants:g}"
            for name, wants, has in pairs
            if not math.isclose(wants, has, rel_tol=_ACCURACY, abs_tol=_TIME_ACCURACY)
        ]


def read_shaping(disciplines: str, classes: str) -> Shaping | None:
    """Parses the output of `tc -json qdisc show` and `tc class show`, which has no JSON; None without shaping."""
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
    """Bits per second from a rate in the form of `tc`: `10Mbit`."""
    units = (("Tbit", 1e12), ("Gbit", 1e9), ("Mbit", 1e6), ("Kbit", 1e3), ("bit", 1.0))
    return next(float(text.removesuffix(unit)) * factor for unit, factor in units if text.endswith(unit))


def netem_arguments(properties: LinkProperties) -> str:
    """The arguments of `tc ... netem`. Its jitter is defined as that of `LinkProperties`, for each distribution."""
    words = [f"limit {_limit(properties)} delay {properties.delay * 1e6:.3f}us {properties.jitter * 1e6:.3f}us"]
    if properties.jitter and properties.distribution is not JitterDistribution.UNIFORM:
        words.append(f"distribution {properties.distribution}")
    words.append(f"loss {properties.loss * 100:.5f} rate {_ORDERING_RATE}")
    return " ".join(words)


def burst_of(properties: LinkProperties) -> int:
    """Bytes that pass at full speed after a pause."""
    return _burst(_rate(properties))


def _burst(rate: float) -> int:
    return max(_SMALLEST_BURST, round(rate / 8 * _BURST_TIME))


def _htb_arguments(rate: float) -> str:
    burst = _burst(rate)
    return f"rate {rate:.0f}bit burst {burst} cburst {burst}"


def _rate(properties: LinkProperties) -> float:
    return UNLIMITED if properties.rate is None else properties.rate


def _limit(properties: LinkProperties) -> int:
    in_flight = _rate(properties) / 8 / _SMALLEST_FRAME * (properties.delay + 4 * properties.jitter)
    return min(properties.queue_limit + math.ceil(in_flight), _GREATEST_LIMIT)
