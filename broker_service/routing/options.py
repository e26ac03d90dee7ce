"""Declarations of a routing protocol: the base of every protocol's options, and what its preparation sees.

The rest of the tree relies on these declarations and on nothing else of a protocol.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import msgspec

from broker_service.language import Advertisement, Subscription
from broker_service.messages import BrokerId
from record.handover import MATCHED_ON_ARRIVAL, NOTHING_IS_KEPT, AbsenceCosts, MoveCosts, without_advertisements
from record.promises import Promises

if TYPE_CHECKING:  # A broker whose protocol needs no arrays does without NumPy's 15 MB.
    import numpy as np
    from numpy.typing import NDArray

MOST_PREPARED = 16 << 20
"""Bytes that may be prepared for a broker."""


class PlannedLink(NamedTuple):
    """A link between two brokers. Delays are in seconds, as brokers measure them."""

    a: BrokerId
    b: BrokerId
    delay: float
    """Delay from `a` to `b`."""
    reverse_delay: float
    """Delay from `b` to `a`."""


class PlannedMesh(Collection[PlannedLink]):
    """The links of a full mesh, made while they are iterated over, in the order of their brokers."""

    def __init__(self, brokers: Sequence[BrokerId], delays: NDArray[np.float64]) -> None:
        """`delays` are the seconds from each broker (a row) to each other."""
        self.brokers = brokers
        self.round_trips: NDArray[np.float64] = delays + delays.T
        """Seconds between each two brokers, a row and a column for each."""
        self._delays = delays

    def __len__(self) -> int:
        return len(self.brokers) * (len(self.brokers) - 1) // 2

    def __iter__(self) -> Iterator[PlannedLink]:
        return (self._link(row, column) for row, column in combinations(range(len(self.brokers)), 2))

    def __contains__(self, link: object) -> bool:
        return any(link == other for other in self)

    def _link(self, row: int, column: int) -> PlannedLink:
        delays = float(self._delays[row, column]), float(self._delays[column, row])
        return PlannedLink(self.brokers[row], self.brokers[column], *delays)


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparation:
    """The input of `ProtocolOptions.prepare`."""

    brokers: Mapping[BrokerId, Mapping[str, object]]
    """Overlay attributes of every broker."""
    links: Collection[PlannedLink]
    """May be iterated over repeatedly. A `PlannedMesh` where any two brokers of a large overlay are linked."""
    advertisements: Mapping[BrokerId, Sequence[Advertisement]]
    subscriptions: Mapping[BrokerId, Sequence[Subscription]]
    """Subscriptions by the broker of their client: of clients that are there from the beginning, and those written out
    in the scenario, whenever they are issued and withdrawn."""
    seed: int
    """Seed of the run, for random choices: the same input must give the same result."""


class ProtocolOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The scenario's `routing` section, less the protocol's name; its fields are what a scenario may choose.

    Unknown options and values of the wrong type are refused with file and line. A value out of range is refused by
    `__post_init__` with a `ValueError` that names the option.
    """

    times: ClassVar[tuple[str, ...]] = ()
    """Names of the options that are times, in seconds: scenarios may give them units, time dilation stretches them."""
    attributes: ClassVar[tuple[str, ...]] = ()
    """Attributes that the overlay must give every broker, such as its place in a structured overlay."""
    counting_tables: ClassVar[frozenset[str]] = frozenset()
    """Names of the tables of its routers that count what has happened, and stand for no client. They need not be as
    before when all clients have left."""
    recognises_repeats: ClassVar[bool] = False
    """True when a router recognises, by what is in stable storage, publications that a former incarnation of its broker
    has accepted. Clients then repeat unacknowledged ones after a restart of their broker, too."""

    deterministic: ClassVar[bool] = True
    """False for a protocol that takes random numbers or times of its own: a simulated run does not repeat then."""

    neighbours_change: ClassVar[bool] = False
    """True for a protocol whose brokers may get and lose neighbours while they run. Others are refused overlays that
    change."""

    @property
    def promises(self) -> Promises:
        """The promises that the delivery oracle holds the protocol to with these options."""
        return Promises()

    @property
    def moves(self) -> MoveCosts:
        """The cost of moves of clients from one broker to another, by which the oracle judges them."""
        return MATCHED_ON_ARRIVAL if self.awaits_advertisements else without_advertisements(MATCHED_ON_ARRIVAL)

    @property
    def absences(self) -> AbsenceCosts:
        """The cost of absences of clients, from which they come back to the same broker."""
        return NOTHING_IS_KEPT if self.awaits_advertisements else without_advertisements(NOTHING_IS_KEPT)

    @property
    def awaits_advertisements(self) -> bool:
        """True where a publication may be lost that is made before its publisher's advertisement has settled, because
        subscriptions follow advertisements. False where brokers know all subscriptions in any case."""
        return True

    def prepare(self, preparation: Preparation) -> Mapping[BrokerId, bytes]:
        """Computes once, before the brokers start, what each router finds as `RouterContext.prepared`.

        Brokers that are not in the result find nothing; each may get `MOST_PREPARED` bytes. Raises `ValueError`, with
        the reason for the user, when the protocol cannot serve this overlay or these clients.
        """
        return {}

    @property
    def follows_load(self) -> bool:
        """True where routers decide by how busy links or brokers were, so that a host that is too busy changes what
        they decide, and not delays alone."""
        return False

    @property
    def reconciles_within(self) -> float:
        """Seconds from the return of a link or a neighbour until all tables are right again.

        The delivery oracle excuses losses by evidence until then at the latest.
        """
        return 0.0

    @property
    def settles_within(self) -> float:
        """Seconds for which a (un)subscription or (un)advertisement may wait at brokers on its way through the overlay,
        over and above the delays of links: the intervals at which the protocol announces changes."""
        return 0.0
