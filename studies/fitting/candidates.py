"""Candidates: sets of assumptions about overlay, costs and rate, drawn as a Latin hypercube and near good ones."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import msgspec

_Choice = TypeVar("_Choice")


@dataclass(frozen=True, slots=True)
class OverlayChoice:
    """An overlay of 30 brokers for Fig. 5(a) and 5(c), and one for Table 3, which needs brokers 12 hops apart."""

    topology: str
    """Fields of the scenario's `topology`, without its links."""
    distances: str
    publishers: str = "{}"
    """Table 3's publishers and their subscribers, where chance puts too few of them 10 and 12 hops apart."""
    followers: str = "[]"


_LADDER = "kind: grid, rows: 2, columns: 15"


def _long(hub: int, second: str, last_but_one: str) -> OverlayChoice:
    """13 layers around a hub: B1 is in the first and B30 in the last; the given brokers are 10 hops from them."""
    topology = f"kind: layered, brokers: 30, layers: 13, hub: {hub}"
    return OverlayChoice(
        topology,
        topology,
        publishers="{P1: {broker: B1}, P2: {broker: B30}}",
        followers=f"[{{of: P1, subscribers: 2, placement: [{last_but_one}, B30]}}, "
        f"{{of: P2, subscribers: 2, placement: [{second}, B1]}}]",
    )


OVERLAYS: Mapping[str, OverlayChoice] = {
    "equal degrees": OverlayChoice("kind: cyclic, brokers: 30, degree: 4", _LADDER),
    "hub of 20, 7 layers": OverlayChoice("kind: layered, brokers: 30, layers: 7, hub: 20", _LADDER),
    "hub of 16, 9 layers": OverlayChoice("kind: layered, brokers: 30, layers: 9, hub: 16", _LADDER),
    "hub of 19, 13 layers": _long(19, "B3", "B28"),
    "hub of 18, 13 layers": _long(18, "B3", "B28"),
    "hub of 16, 13 layers": _long(16, "B3", "B28"),
    "hub of 14, 13 layers": _long(14, "B3", "B28"),
    "hub of 12, 13 layers": _long(12, "B4", "B28"),
    "hub of 8, 13 layers": _long(8, "B5", "B25"),
}
"""In 13 layers the hub has at most 19 neighbours, because the ten layers beyond them need a broker each."""
WINDOWS = (1, 128)
"""Messages in flight on a link: one at a time, or more than ever wait for an acknowledgement."""


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """One set of assumptions. Times are in milliseconds."""

    overlay: str
    """A name in `OVERLAYS`."""
    window: int
    send_time: float
    """Mean time that a message takes to leave on a link, exponential."""
    service_time: float
    """Mean time that a message takes a broker, exponential."""
    delay: float
    """One-way delay of a link."""
    selectivity: float
    """Expected share of publications that a subscription matches, percent."""
    rate: float
    """Publications a minute of each publisher in Fig. 5(a)."""

    def settings(self, topology: str) -> dict[str, str]:
        """The assumptions as overrides of a scenario's fields, except for the rate."""
        link = (
            f"{{delay: {self.delay:.3g}ms, jitter: 10%, bandwidth: 100mbit, "
            f"send_time: {{mean: {self.send_time:.3g}ms, distribution: exponential}}}}"
        )
        return {
            "topology": f"{{{topology}, link: {link}}}",
            "brokers.service_time": f"{{mean: {self.service_time:.3g}ms, distribution: exponential}}",
            "brokers.limits": f"{{window: {self.window}, utilisation_window: 10ms}}",
            "workload.subscriptions.selectivity": f"{self.selectivity:.3g}%",
        }


IN_USE = Candidate(
    overlay="hub of 12, 13 layers",
    window=128,
    send_time=3.7,
    service_time=1.1,
    delay=0.1,
    selectivity=15.0,
    rate=1700.0,
)
"""The assumptions of Table 3 (`scenarios/tid/tid-t3.yaml`), with which every other candidate is compared."""
RANGES: Mapping[str, tuple[float, float]] = {
    "send_time": (0.3, 9.0),
    "use": (0.16, 0.29),
    "delay": (0.1, 5.0),
    "selectivity": (9.0, 18.0),
    "rate": (1000.0, 2300.0),
}
"""Ranges of the numbers, from which logarithms are drawn uniformly.

`use` is the mean processor use of a broker, from which the service time follows. The paper states 18.8% in effect: one
broker at 83.7% and 29 at 16.6%.
"""
_PUBLISHERS, _BROKERS, _MESSAGES = 20, 30, 16997 / 1926
"""Figures of Fig. 5(a): publishers, brokers, and messages for each publication."""


def hypercube(count: int, rng: random.Random) -> list[Candidate]:
    """A Latin hypercube: each of `count` equal parts of a field's range holds one candidate, in random order."""
    columns = {name: _column(low, high, count, rng) for name, (low, high) in RANGES.items()}
    overlays = _dealt(list(OVERLAYS), count, rng)
    windows = _dealt(WINDOWS, count, rng)
    return [
        Candidate(
            overlay=overlays[n],
            window=windows[n],
            send_time=columns["send_time"][n],
            service_time=_service_time(columns["use"][n], columns["rate"][n]),
            delay=columns["delay"][n],
            selectivity=columns["selectivity"][n],
            rate=columns["rate"][n],
        )
        for n in range(count)
    ]


def near(candidate: Candidate, count: int, spread: float, rng: random.Random) -> list[Candidate]:
    """Candidates whose numbers differ from the given one's by factors up to `spread`."""

    def moved(value: float) -> float:
        return value * math.exp(math.log(spread) * rng.uniform(-1, 1))

    return [
        msgspec.structs.replace(
            candidate,
            send_time=moved(candidate.send_time),
            service_time=moved(candidate.service_time),
            delay=moved(candidate.delay),
            selectivity=moved(candidate.selectivity),
            rate=moved(candidate.rate),
        )
        for _ in range(count)
    ]


def slower(candidate: Candidate, factor: float) -> Candidate:
    """The candidate in slow motion: times are longer and rates lower by a factor, so that queues are as long as
    before."""
    return msgspec.structs.replace(
        candidate,
        send_time=candidate.send_time * factor,
        service_time=candidate.service_time * factor,
        delay=candidate.delay * factor,
        rate=candidate.rate / factor,
    )


def _service_time(use: float, rate: float) -> float:
    """Milliseconds that a message takes a broker when all brokers are busy for this share of the time on average."""
    messages_a_second = _PUBLISHERS * rate / 60 * _MESSAGES / _BROKERS
    return 1000 * use / messages_a_second


def _column(low: float, high: float, count: int, rng: random.Random) -> list[float]:
    parts = [low * (high / low) ** ((part + rng.random()) / count) for part in range(count)]
    return rng.sample(parts, count)


def _dealt(choices: Sequence[_Choice], count: int, rng: random.Random) -> list[_Choice]:
    """Each choice equally often, in random order."""
    return rng.sample([choices[n % len(choices)] for n in range(count)], count)
