"""Options of semi-probabilistic routing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from msgspec import UNSET, Meta, UnsetType

from broker_service.messages import MOST_HOPS
from broker_service.routing.options import ProtocolOptions
from record.faults import VANISHED_LINKS
from record.promises import QUEUES_LOST, Completeness, Loss, Promises

Hops = Annotated[int, Meta(ge=0, le=MOST_HOPS)]

_DOWN_LINKS_CARRY_NOTHING: Mapping[str, Loss] = {
    **dict.fromkeys(QUEUES_LOST, Loss.IN_FLIGHT),
    VANISHED_LINKS: Loss.IN_FLIGHT,
}
"""Each fault that can silence a link may cost the publications of its time, because a link that is down is no
candidate and nothing waits for it."""


class SemiProbabilisticOptions(ProtocolOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The scenario's `routing` section for this protocol."""

    neighbours_change: ClassVar = True
    times: ClassVar = ("noticed_after",)

    horizon: Hops = 1
    """Subscription horizon phi: hops that a subscription travels from its subscriber's broker."""
    threshold: Annotated[float, Meta(ge=0, le=1)] = 0.25
    """Event propagation threshold tau: share of its other links over which a broker forwards an event, rounded up."""
    ttl: Hops | None = None
    """Time-to-live of events: links that a copy may travel; unlimited where it is left out."""
    deterministic_ttl: Hops | None = None
    """TTLd: links with a matching subscription that a copy may travel; it ends when either limit is used up."""
    probabilistic_ttl: Hops | None = None
    """TTLp: links drawn at random that a copy may travel."""
    spare_leaves: bool = False
    """A neighbour with one link gets an event only if it has subscribed to it; no effect with a horizon of 0, at which
    brokers know no subscriptions of their neighbours."""
    limit: Literal["threshold", "none"] = "threshold"
    """Links to matching subscribers two or more hops away: `threshold` uses the nearest ones, up to the number that the
    threshold gives, `none` uses all of them."""
    preference: Literal["nearest", "none"] = "nearest"
    """Order in which links to matching subscribers two or more hops away are used: `nearest` takes nearer subscribers
    first, `none` draws the order at random."""
    withdrawals: Literal["exact", "naive"] = "exact"
    """Effect of a withdrawal and of a lost link on the tables of others: `exact` keeps every distance right, `naive`
    passes each withdrawal on as far as the subscription came, also where another link still leads to the subscriber."""
    noticed_after: Annotated[float, Meta(ge=0)] = 0.0
    """Seconds from the moment at which a link works, or ceases to, until a broker at its end notices; a message that
    comes over a new link is noticed at once."""
    recognition_bytes: Annotated[int, Meta(gt=0)] = 16 << 20
    """Memory, about, in which a broker remembers events, to recognise them when they come again; older ones it drops
    then."""

    def __post_init__(self) -> None:
        if self.ttl is not None and (self.deterministic_ttl is not None or self.probabilistic_ttl is not None):
            raise ValueError("ttl limits all hops alike; give it, or deterministic_ttl and probabilistic_ttl")

    @property
    def limits_hops(self) -> bool:
        """True when events have a time-to-live."""
        return (self.ttl, self.deterministic_ttl, self.probabilistic_ttl) != (None, None, None)

    @property
    def floods(self) -> bool:
        """True when every broker sends each event over all other links, without end."""
        return self.threshold == 1 and not self.limits_hops

    @property
    def spares_leaves(self) -> bool:
        """True when brokers notify each other of being leaves."""
        return self.spare_leaves and self.horizon > 0

    @property
    def reconciles_within(self) -> float:
        return self.noticed_after

    @property
    def settles_within(self) -> float:
        """The time in which the two ends of a new link do not know of it."""
        return self.noticed_after

    @property
    def awaits_advertisements(self) -> bool:
        return False

    @property
    def promises(self) -> Promises:
        """Delivery with some probability; every publication where events flood the overlay.

        Adjacent subscribers get what a broker passes on, whatever the threshold: a broker never withdraws a
        subscription of its own clients that stands, so naive withdrawals take no entry of an adjacent subscriber away.
        """
        survives = dict(_DOWN_LINKS_CARRY_NOTHING)
        if self.floods and not self.spares_leaves:
            return Promises(delivery=Completeness.EVERY, survives=survives)
        return Promises(
            delivery=Completeness.BEST_EFFORT, survives=survives, passes_on_within=self._hops_with_any_ttl_left
        )

    @property
    def _hops_with_any_ttl_left(self) -> int | UnsetType:
        """The hops that use up the smallest time-to-live; not set with a horizon of 0, at which adjacent subscribers
        are not known."""
        if self.horizon == 0:
            return UNSET
        limits = (self.ttl, self.deterministic_ttl, self.probabilistic_ttl)
        return min((limit for limit in limits if limit is not None), default=MOST_HOPS)
