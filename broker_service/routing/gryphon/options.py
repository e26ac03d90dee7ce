"""Options of Gryphon."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from broker_service.messages import MOST_IN_DOUBT, BrokerId
from broker_service.routing.common.decoding import encode_header
from broker_service.routing.gryphon.overlay import tree_from
from broker_service.routing.options import Preparation, ProtocolOptions
from record.faults import LOST_STREAMS, FaultKind
from record.promises import Loss, Order, Promises

_SURVIVES: Mapping[str, Loss] = {
    **dict.fromkeys((*(kind for kind in FaultKind if not kind.of_clients), LOST_STREAMS), Loss.NOTHING),
    FaultKind.KILL: Loss.UNACCEPTED,
    FaultKind.STOP: Loss.UNACCEPTED,
}


class GryphonOptions(ProtocolOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The scenario's `routing` section for this protocol."""

    times: ClassVar = (
        "batch",
        "silence_after",
        "gap_after",
        "nack_again",
        "head_every",
        "acknowledge_every",
        "forget_after",
    )
    recognises_repeats: ClassVar[bool] = True
    counting_tables: ClassVar[frozenset[str]] = frozenset({"vector", "log", "bytes", "counts"})

    filtering: Literal["vectors", "flooding"] = "vectors"
    """`vectors`: the paper's algorithm; `flooding`: publications go to every broker with subscriptions (section
    5.2)."""
    covering: Literal["exact", "identity"] = "exact"
    """Covering between conjunctions; the paper measures with `identity` (section 5.1)."""
    paths: Literal["hash", "message", "least-loaded"] = "hash"
    """Choice among the brokers of a node: by a hash (`hash_by`), in turn by publication, or by load of the links."""
    hash_by: str = ""
    """Attribute of publications whose value `hash` goes by, an integer modulo the brokers of a node; empty: the
    publisher's broker."""
    order: Literal["publisher", "none"] = "publisher"
    """`none`: publications are notified of as they arrive, to measure the cost of their order."""
    batch: float = 0.01
    """Seconds for which a broker collects operations of its clients before it announces their effect."""
    silence_after: float = 0.002
    """Seconds after which silent positions are announced that no publication has carried, unless `single_path`."""
    gap_after: float = 0.02
    """Seconds that an unknown position is waited for, at least (`gap_requests`)."""
    nack_again: float = 0.1
    """Seconds until a request is repeated, at least: round trips are measured, and the wait doubles up to 60 s."""
    head_every: float = 0.25
    """Seconds between announcements of the end of a stream, while positions are not acknowledged."""
    acknowledge_every: float = 0.1
    """Seconds for which acknowledgements are collected."""
    forget_after: float = 60.0
    """Seconds for which the publications that an unreachable broker needs are kept for it."""
    log_bytes: int = 64 << 20
    """Publications that a publishers' broker keeps, in bytes; beyond, its publishers wait. Half of it at most is for
    brokers out of reach (`streams.publisher_log`)."""
    cache_bytes: int = 8 << 20
    """Bytes of recent publications that a broker keeps, so that it can send them again when another broker asks."""
    reorder_bytes: int = 16 << 20
    """Publications of one stream that a broker holds back for its clients, in bytes."""
    recognised: int = MOST_IN_DOUBT
    """Latest publications of each client that its broker recognises when they are repeated; at least as many as a
    client may repeat."""

    def __post_init__(self) -> None:
        for name in (*self.times, "log_bytes", "cache_bytes", "reorder_bytes"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be more than 0")
        if self.recognised < MOST_IN_DOUBT:
            raise ValueError(f"recognised must be at least {MOST_IN_DOUBT}, because clients repeat as many")

    @property
    def awaits_advertisements(self) -> bool:
        return False

    @property
    def promises(self) -> Promises:
        """In order and without gaps, through every fault; a failed broker costs its own clients what was in flight."""
        return Promises(order=Order(self.order), survives=_SURVIVES, announces_starts=True, gives_up=True)

    @property
    def single_path(self) -> bool:
        """True when all publications of a stream take one path as long as nothing fails."""
        return self.paths == "hash" and not self.hash_by

    @property
    def follows_load(self) -> bool:
        return self.paths == "least-loaded"

    @property
    def reconciles_within(self) -> float:
        return self.nack_again + self.head_every + self.batch

    @property
    def settles_within(self) -> float:
        """Operations are collected for `batch` before they are announced, and a lost announcement is repeated."""
        return self.batch + self.nack_again + self.acknowledge_every

    def prepare(self, preparation: Preparation) -> Mapping[BrokerId, bytes]:
        """The routing tree, for every broker. Raises `ValueError` when the overlay is not a redundant tree."""
        return dict.fromkeys(preparation.brokers, encode_header(tree_from(preparation)))
