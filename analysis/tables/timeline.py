"""Tables of the run's course: its phases, and its faults with what they cost."""

from __future__ import annotations

from msgspec import Struct


class PhaseTimes(Struct, frozen=True, kw_only=True):
    """One row per variant and phase, as in the manifest."""

    variant: str
    phase: str
    """start, join, run, drain or stop."""
    start_ns: int
    end_ns: int
    start_s: float
    """Seconds from the start of the variant's phase `run`."""
    end_s: float


class Fault(Struct, frozen=True, kw_only=True):
    """One row per fault that took effect; faults of one kind on several targets at the same time are one.

    A fault is watched until the overlay should have recovered from it (the manifest's `recovery`, at least 10 s) or the
    next fault begins, and to the end of the run where it is never healed. It strikes the notifications that are in
    flight while it is watched: from the publishing until the client gets it, or, for a notification that never comes,
    until 2 s after the last record of the publication. A notification is late when its delay is more than twice the
    95th percentile (to within an eighth) of the delay of publications due in the 10 s before the fault.
    """

    variant: str
    kind: str
    """kill, stop, pause, slow, throttle, link_down (a partition and a flap, too), degrade, corrupt, reset, disturb,
    crash, vanish, move."""
    what: list[str]
    """The brokers, the links (`A-B`) or the directions of links (`A->B`), the sites or the clients."""
    began_ns: int
    healed_ns: int | None
    """The time at which the last of them was healed, or had arrived if it moved; null where one never was."""
    second: int | None
    """The second in which it began."""
    duration_s: float | None
    noticed: int | None
    """The number of neighbours of the broker, or ends of the link, that lost it while the fault lasted; null where
    brokers keep no logs."""
    detected_first_s: float | None
    """Seconds from the fault until the first of these noticed; null where none did."""
    detected_last_s: float | None
    """Seconds from the fault until the last of these noticed."""
    reconnected_s: float | None
    """Seconds from the heal until the last neighbour that was without it then had it again; null where no neighbour
    was, or one never had it again."""
    recovered_s: float | None
    """Seconds from the heal until delivery was as before: the last publication that some client never got has been
    published, and all late notifications have come. These are of publications made before that, before the heal, before
    the last neighbour was back, or while another late notification was awaited. 0 for the heal or earlier. Null where
    the fault was not healed, or nothing was delivered before it."""
    publications: int
    """The number of publications that it struck."""
    due: int
    """The notifications of these that clients must or may get."""
    late: int | None
    """The notifications that came late; null where nothing was delivered before the fault."""
    excused: int
    """The notifications that were allowed to come and did not."""
    lost: int
    """The notifications that had to come and did not."""
    dropped: int | None
    """Copies of publications that brokers dropped while the fault was watched; null where brokers keep no logs."""
    drop_reasons: list[str]
    drop_counts: list[int]
    """The number of dropped copies, for each of the reasons."""
    late_shared: int = 0
    """Notifications among the late ones that a later fault of the same kind counts, too, because both are watched at
    once. Without these the numbers of faults of one kind add up; so it is with the next three."""
    excused_shared: int = 0
    lost_shared: int = 0
    dropped_shared: int = 0
    delay_before_ms: float | None
    """Mean delay of the publications due in the 10 s before."""
    delay_during_ms: float | None
    """Mean delay of those due from the fault to its heal."""
    delay_after_ms: float | None
    """Mean delay of those due in the 10 s after the heal, as far as the fault is watched."""
