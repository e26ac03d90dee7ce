"""Measures of the propagation of advertisements and subscriptions (OctopiA, figures 7 to 12), from brokers' logs.

- A broker *stores* every operation that it receives, from neighbours or from its own clients, because no operation is
  withdrawn in these scenarios.
- A *delay* begins when the client's own broker handles the operation, and ends when the last broker that receives it
  handles its first message about it. A subscription is received, in PADRES, by the brokers on the paths to matching
  advertisements and, in OctopiA, by those of the subscriber's cluster.
- An *inter-broker message* is one that a broker received from a neighbour. Only messages of the measured kind count, so
  CIV_SET messages do not.

Variants are called `<system>+<size>`: PADRES or OctopiA, and the number of publishers or subscribers. A measurement is
the mean over the sizes, each compared within itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from statistics import fmean

from analysis.claims.measured_run import MeasuredRun, MeasuredVariant
from analysis.claims.model import ClaimsError, Recipe
from analysis.claims.quantities import mean_delay
from analysis.claims.verdict import Measurement
from broker_service.messages import Kind

OCTOPIA, PADRES = "OctopiA", "PADRES"


@dataclass(slots=True)
class OperationSpread:
    """Propagation of the operations of one kind in one variant."""

    begun: dict[str, int] = field(default_factory=dict)
    """Time at which the client's broker handled each operation, by message identifier; nanoseconds."""
    ended: dict[str, int] = field(default_factory=dict)
    """Time at which the last broker handled its first message about each operation, by message identifier."""
    stored: int = 0
    """Number of operations stored, summed over all brokers."""

    @property
    def mean_delay(self) -> float | None:
        """Mean delay in nanoseconds of the operations that left their first broker; None without any."""
        delays = [end - self.begun[id] for id, end in self.ended.items() if id in self.begun]
        return fmean(delays) if delays else None


Spreads = Mapping[str, OperationSpread]
"""The propagation of the operations of one kind, by variant."""


def advertisements(run: MeasuredRun) -> Spreads:
    """Propagation of advertisements; read from the logs with each call."""
    return spreads(run, Kind.ADVERTISE)


def subscriptions(run: MeasuredRun) -> Spreads:
    """Propagation of subscriptions; read from the logs with each call."""
    return spreads(run, Kind.SUBSCRIBE)


def spreads(run: MeasuredRun, kind: Kind) -> Spreads:
    """Propagation of advertisements (`Kind.ADVERTISE`) or subscriptions (`Kind.SUBSCRIBE`), by variant."""
    found: dict[str, OperationSpread] = defaultdict(OperationSpread)
    for broker in run.brokers:
        declared: dict[str, int] = defaultdict(int)
        known: dict[str, set[str]] = defaultdict(set)
        for record in run.records(broker, b'"event":"received"'):
            if record.kind not in (Kind.ADVERTISE.word, Kind.SUBSCRIBE.word):
                continue
            spread, id = found[record.variant], record.id or ""
            if record.peer is None:
                # A broker numbers the operations of its own clients in order of arrival, whatever their kind.
                declared[record.variant] += 1
                if record.kind == kind.word:
                    spread.begun[f"{broker}.1.{declared[record.variant]}"] = record.time
                    spread.stored += 1
            elif record.kind == kind.word and id not in known[record.variant]:
                known[record.variant].add(id)
                spread.ended[id] = max(spread.ended.get(id, 0), record.time)
                spread.stored += 1
    return found


def advertisement_delay(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Mean advertisement delay, PADRES over OctopiA, minus 1 (figure 7)."""
    return _compared(run, PADRES, OCTOPIA, _delay(run.once(advertisements)))


def stored_advertisements(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Mean advertisements stored by a broker, OctopiA over PADRES, minus 1 (figure 8)."""
    return _compared(run, OCTOPIA, PADRES, _stored(run.once(advertisements)))


def advertisement_messages(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Inter-broker messages that carry advertisements, PADRES as a multiple of OctopiA (figure 9)."""
    return _compared(run, PADRES, OCTOPIA, _messages(Kind.ADVERTISE), minus=0.0)


def subscription_delay(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Mean subscription delay, OctopiA over PADRES, minus 1 (figure 10)."""
    return _compared(run, OCTOPIA, PADRES, _delay(run.once(subscriptions)))


def stored_subscriptions(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Mean subscriptions stored by a broker, PADRES over OctopiA, minus 1 (figure 11)."""
    return _compared(run, PADRES, OCTOPIA, _stored(run.once(subscriptions)))


def subscription_messages(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Inter-broker messages that carry subscriptions, OctopiA over PADRES, minus 1 (figure 12)."""
    return _compared(run, OCTOPIA, PADRES, _messages(Kind.SUBSCRIBE))


def publication_messages(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Inter-broker messages that carry publications, OctopiA over PADRES, minus 1 (figure 15)."""
    return _compared(run, OCTOPIA, PADRES, _messages(Kind.PUBLISH))


def publication_delay(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Mean delay of notifications, OctopiA over PADRES, minus 1 (figure 13)."""
    return _compared(run, OCTOPIA, PADRES, mean_delay)


def by_size(run: MeasuredRun) -> Iterator[tuple[MeasuredVariant, MeasuredVariant]]:
    """The variants of OctopiA and PADRES for each size. Raises `ClaimsError` without any, or with one alone."""
    named = {variant.name: variant for variant in run.variants}
    sizes = [name.removeprefix(f"{OCTOPIA}+") for name in named if name.startswith(f"{OCTOPIA}+")]
    if not sizes or any(f"{PADRES}+{size}" not in named for size in sizes):
        raise ClaimsError(f"{run.directory}: needs variants {OCTOPIA}+N and {PADRES}+N; there are {', '.join(named)}")
    for size in sizes:
        yield named[f"{OCTOPIA}+{size}"], named[f"{PADRES}+{size}"]


_Quantity = Callable[[MeasuredVariant], float | None]


def _compared(
    run: MeasuredRun, numerator: str, denominator: str, quantity: _Quantity, *, minus: float = 1.0
) -> Measurement:
    """The mean over sizes of one system's quantity over the other's, minus `minus`; None where one is unknown."""
    ratios = []
    for octopia, padres in by_size(run):
        values = {OCTOPIA: quantity(octopia), PADRES: quantity(padres)}
        above, below = values[numerator], values[denominator]
        if above is None or not below:
            return Measurement(values=(None,))
        ratios.append(above / below - minus)
    return Measurement(values=(fmean(ratios),))


def _delay(found: Spreads) -> _Quantity:
    return lambda variant: found[variant.name].mean_delay


def _stored(found: Spreads) -> _Quantity:
    return lambda variant: found[variant.name].stored / len(variant.overlay.brokers)


def _messages(kind: Kind) -> _Quantity:
    return lambda variant: float(sum(row.received for row in variant.messages if row.kind == kind.word))
