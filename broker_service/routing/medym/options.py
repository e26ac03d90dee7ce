"""Options of MEDYM."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final, Literal

from broker_service.messages import BrokerId
from broker_service.routing.medym.mesh import prepared_distances, prepared_servers
from broker_service.routing.options import Preparation, ProtocolOptions

CANDIDATES: Final = 16
"""Candidates of CloseMST and BalancedMST in the paper's tables, the constant `c`."""


class MedymOptions(ProtocolOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The scenario's `routing` section for this protocol."""

    times: ClassVar = ("announce_every", "pass_on_every", "status_every")

    algorithm: Literal["mst", "close", "balanced", "source"] = "close"
    """The function that splits destination lists (section 4.1): `mst`, `close` (CloseMST) or `balanced` (BalancedMST)
    at each server, or `source`: the publication server computes the whole tree by MST and sends it along (section
    3.1.3)."""
    failed_hops: Literal["avoid", "await"] = "avoid"
    """Next hops that cannot be reached, with `source`: servers `avoid` them by running MST again, as with the other
    algorithms, or `await` them, so that a failed server costs all that the tree puts behind it (the paper's Figure
    10)."""
    candidates: int = CANDIDATES
    """The constant c of `close` and `balanced`: closest destinations among which next hops are chosen."""
    overload_threshold: float = 5.0
    """OT of `balanced`: a server is overloaded when it has sent more than this many publications to neighbours for each
    one that it received from them or from its clients, since its start."""
    locations: Literal["measured", "given", "gnp"] = "measured"
    """Distances between servers: `measured`, the round trips of links, which each server announces; `gnp`, those of
    network coordinates, which each server computes from its round trips to a few others and announces; `given`, the
    delays of the overlay's links, which all servers know from the beginning, for comparisons of routes."""
    subscriptions: Literal["broadcast", "advertised"] = "broadcast"
    """Servers that learn a server's subscriptions (section 4.2.1): `broadcast`, all of them; `advertised`, those with
    an advertisement that matches a subscription, to which it goes by dynamic multicast. Then all servers learn the
    advertisements."""
    announce_every: float = 0.5
    """Seconds between two announcements of a server's changed subscriptions, or advertisements; the first is made at
    once."""
    pass_on_every: float = 0.1
    """Seconds between two times at which a server sends the announcements of others and its own; the first go at
    once."""
    fan_out: int = 16
    """Children of a server in the tree along which announcements are passed on."""
    status_every: float = 1.0
    """Seconds between two looks of a server at its round trips and its load, which it announces when they changed."""
    remembered: int = 10_000
    """Withdrawn subscriptions of other servers that a server remembers, to recognise earlier changes of them."""
    recognition_bytes: int = 16 << 20
    """Memory, about, in which a server remembers publications, to recognise them when they come again by another way;
    older ones it drops then."""
    cached_decisions: int = 10_000
    """Destination lists of which a server keeps the next hops (section 4.1.1)."""

    def __post_init__(self) -> None:
        for name in (
            "candidates",
            "overload_threshold",
            "announce_every",
            "pass_on_every",
            "status_every",
            "remembered",
            "recognition_bytes",
        ):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be more than 0")
        if self.failed_hops == "await" and self.algorithm != "source":
            raise ValueError(f"failed_hops: await needs algorithm: source; {self.algorithm} runs at every server again")
        if self.fan_out < 2:
            raise ValueError("fan_out must be at least 2")
        if self.cached_decisions < 0:
            raise ValueError("cached_decisions must be at least 0")

    @property
    def reroutes(self) -> bool:
        """True when servers send round next hops that cannot be reached (section 3.1.3)."""
        return self.failed_hops == "avoid"

    @property
    def awaits_advertisements(self) -> bool:
        return self.subscriptions == "advertised"

    @property
    def reconciles_within(self) -> float:
        """A restarted server announces the subscriptions of clients that are back, which with the default `fan_out`
        eight servers at most pass on one after another, and is sent all others' at once. Subscriptions that go to
        advertisers alone follow the announcements, and what is lost on the way is repeated once."""
        announced = 2 * self.announce_every + 8 * self.pass_on_every
        return announced if self.subscriptions == "broadcast" else announced + self.pass_on_every + self.repeat_after

    @property
    def settles_within(self) -> float:
        """An operation waits for the next announcement of its server, and that for each server which passes it on."""
        return self.reconciles_within

    @property
    def repeat_after(self) -> float:
        """Seconds after which a subscription is sent again that was not confirmed."""
        return 2 * self.announce_every

    def prepare(self, preparation: Preparation) -> Mapping[BrokerId, bytes]:
        """Names all servers to each server, so that all number them alike.

        Raises `ValueError` where two servers are not linked, because an event may have to go from any to any other.
        """
        prepared = prepared_distances if self.locations == "given" else prepared_servers
        return dict.fromkeys(preparation.brokers, prepared(preparation))
