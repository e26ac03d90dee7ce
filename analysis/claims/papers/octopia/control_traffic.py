"""Measures of how advertisements and subscriptions spread (OctopiA, figures 7 to 12), from brokers' logs.

- What a broker *stores* is what came to it: nothing is withdrawn in these scenarios, and every broker keeps what
  it is told, the one that a client told it included.
- A *delay* begins when the client's own broker handles the operation, and ends when the last broker that is to know of
  it handles the first message that tells of it. All brokers that ever hear of it are to know: so of a subscription, in
  PADRES, those on the ways to matching advertisements; in OctopiA, the subscriber's cluster.
- An *inter-broker message* is one that a broker received from a neighbour; only those of the kind asked for count, so
  no CIV_SET.

Variants are called `<system>+<size>`: PADRES or OctopiA, and how many publishers or subscribers. A number is the mean
over the sizes, each of which is compared with itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from statistics import fmean

from analysis.claims.measured_run import MeasuredRun, MeasuredVariant
from analysis.claims.model import ClaimsError, Recipe
from analysis.claims.verdict import Measurement
from record.log import Event

OCTOPIA, PADRES = "OctopiA", "PADRES"


@dataclass(slots=True)
class Spread:
    """How the operations of one kind spread in one variant."""

    begun: dict[str, int] = field(default_factory=dict)
    """When each client's broker handled it, by the message's identifier; nanoseconds."""
    ended: dict[str, int] = field(default_factory=dict)
    """When the last broker first heard of it."""
    stored: int = 0
    """Over all brokers."""

    @property
    def mean_delay(self) -> float | None:
        """Nanoseconds; of what left its broker at all."""
        delays = [end - self.begun[id] for id, end in self.ended.items() if id in self.begun]
        return fmean(delays) if delays else None


def spreads(run: MeasuredRun, kind: Event) -> Mapping[str, Spread]:
    """How advertisements (`Event.ADVERTISE`) or subscriptions spread, by variant."""
    found: dict[str, Spread] = defaultdict(Spread)
    for broker in {broker.id for variant in run.variants for broker in variant.overlay.brokers}:
        declared: dict[str, int] = defaultdict(int)
        heard: dict[str, set[str]] = defaultdict(set)
        for record in run.records(broker, b'"event":"received"'):
            if record.kind not in (Event.ADVERTISE, Event.SUBSCRIBE):
                continue
            spread, id = found[record.variant], record.id or ""
            if record.peer is None:
                # A broker numbers what its own clients declare, whatever kind, in the order in which they do.
                declared[record.variant] += 1
                if record.kind == kind:
                    spread.begun[f"{broker}.1.{declared[record.variant]}"] = record.time
                    spread.stored += 1
            elif record.kind == kind and id not in heard[record.variant]:
                heard[record.variant].add(id)
                spread.ended[id] = max(spread.ended.get(id, 0), record.time)
                spread.stored += 1
    return found


def advertisement_delay(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Mean advertisement delay, PADRES over OctopiA, minus 1 (figure 7)."""
    return _compared(run, PADRES, OCTOPIA, _delay(run, Event.ADVERTISE))


def stored_advertisements(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Mean advertisements stored by a broker, OctopiA over PADRES, minus 1 (figure 8)."""
    return _compared(run, OCTOPIA, PADRES, _stored(run, Event.ADVERTISE))


def advertisement_messages(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Inter-broker messages of advertising, PADRES as a multiple of OctopiA (figure 9)."""
    return _compared(run, PADRES, OCTOPIA, _messages(Event.ADVERTISE), minus=0.0)


def subscription_delay(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Mean subscription delay, OctopiA over PADRES, minus 1 (figure 10)."""
    return _compared(run, OCTOPIA, PADRES, _delay(run, Event.SUBSCRIBE))


def stored_subscriptions(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Mean subscriptions stored by a broker, PADRES over OctopiA, minus 1 (figure 11)."""
    return _compared(run, PADRES, OCTOPIA, _stored(run, Event.SUBSCRIBE))


def subscription_messages(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Inter-broker messages of subscribing, OctopiA over PADRES, minus 1 (figure 12)."""
    return _compared(run, OCTOPIA, PADRES, _messages(Event.SUBSCRIBE))


def publication_messages(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Inter-broker messages of publishing, OctopiA over PADRES, minus 1 (figure 15)."""
    return _compared(run, OCTOPIA, PADRES, _messages(Event.PUBLISH))


def publication_delay(run: MeasuredRun, recipe: Recipe) -> Measurement:
    """Mean delay of notifications, OctopiA over PADRES, minus 1 (figure 13)."""
    return _compared(run, OCTOPIA, PADRES, _notification_delay)


def by_size(run: MeasuredRun) -> Iterator[tuple[MeasuredVariant, MeasuredVariant]]:
    """For each size, the variant of OctopiA and that of PADRES. Raises `ClaimsError` without any."""
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
    """The mean over sizes of one system's quantity over the other's, less `minus`; None where one has none."""
    ratios = []
    for octopia, padres in by_size(run):
        values = {OCTOPIA: quantity(octopia), PADRES: quantity(padres)}
        above, below = values[numerator], values[denominator]
        if above is None or not below:
            return Measurement(values=(None,))
        ratios.append(above / below - minus)
    return Measurement(values=(fmean(ratios),))


def _delay(run: MeasuredRun, kind: Event) -> _Quantity:
    found = spreads(run, kind)
    return lambda variant: found[variant.name].mean_delay


def _stored(run: MeasuredRun, kind: Event) -> _Quantity:
    found = spreads(run, kind)
    return lambda variant: found[variant.name].stored / len(variant.overlay.brokers)


def _messages(kind: Event) -> _Quantity:
    return lambda variant: float(sum(row.received for row in variant.messages if row.kind == kind))


def _notification_delay(variant: MeasuredVariant) -> float | None:
    delays = [row.delay_ms or 0.0 for row in variant.notifications]
    return fmean(delays) if delays else None
