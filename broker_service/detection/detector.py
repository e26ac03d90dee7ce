"""The detector of composite subscriptions, without I/O and without routing.

It takes publications that match parts of composite subscriptions, in whatever order they arrive, and returns what they
complete. The policy is *every combination, once, within a window*, which depends on no order of arrival; Li,
Muthusamy, Jacobsen (Middleware 2008, section 4) leave it open. With `b` for the values of variables:

    D(part)   = {({p}, b) : p matches the part with b}
    D(x || y) = D(x) | D(y)
    D(x & y)  = {(s | t, b | c) : (s, b) in D(x), (t, c) in D(y), b and c agree}

1. Every set in D of the pattern is a detection where its stamps are at most the window apart. A publication may fill
   several leaves, and take part in several detections; none is used up.
2. A set is returned when the last of its publications arrives, and only then: whatever the kept matches can form has
   been returned before, so a repeated arrival completes only what it newly matches.
3. The window is measured by stamps, the times of publication. A publication stays for the window and `lateness` from
   its arrival by the detector's own clock, so that no stamp keeps it for ever; a partner that arrives later finds
   nothing.
4. At a bound the publication with the oldest stamp is dropped, and every loss that a bound causes is reported.
5. A set that another detector found for some parts arrives as its publications (`contribute`), each of which fills the
   leaves that it matches. So the window, and variables that other parts have, too, are judged over the whole pattern
   here. A publication of several sets is kept once, where the sets themselves would be the product of their parts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from broker_service.detection.kept import KeptArrivals
from broker_service.detection.limits import DetectionLimits, Loss, LossReason
from broker_service.detection.matches import Arrival
from broker_service.detection.search import Search
from broker_service.detection.standing import Standing
from broker_service.language import Publication, Subscription, Value
from broker_service.language.composite import Composite
from broker_service.language.content import decode_publication, matches

_NOTHING: Mapping[str, Value] = MappingProxyType({})


class Detection(NamedTuple):
    """Publications that fulfil a composite subscription together."""

    composite: str
    publications: tuple[Arrival, ...]
    """Publications of the set in the order of stamps, and of identifiers where stamps are equal."""


class Detector:
    """Composite subscriptions, and the publications that match parts of them."""

    def __init__(
        self,
        clock: Callable[[], int],
        report: Callable[[Loss], None],
        limits: DetectionLimits | None = None,
        decode: Callable[[bytes], Publication] = decode_publication,
    ) -> None:
        """`clock` gives nanoseconds, `report` is called for whatever a bound costs, `decode` reads contents."""
        self.matches = 0
        """Partial matches that are kept: pairs of a publication and a leaf."""
        self._clock = clock
        self._report = report
        self._limits = limits or DetectionLimits()
        self._decode = decode
        self._standing: dict[str, Standing] = {}
        self._kept = KeptArrivals()

    def __len__(self) -> int:
        """Number of composite subscriptions."""
        return len(self._standing)

    @property
    def content_bytes(self) -> int:
        """Bytes of the contents that are kept."""
        return self._kept.bytes

    def add(self, id: str, pattern: Composite, within: int) -> tuple[Subscription, ...]:
        """Detects a pattern from now on, in place of another under the same identifier, of which nothing is kept.

        `within` is the window in nanoseconds. Returns the subscriptions by which the parts are routed, all different;
        a publication that matches the first one arrives in part 0.
        """
        self.remove(id)
        standing = self._standing[id] = Standing(id, pattern, within)
        return standing.parts

    def remove(self, id: str) -> None:
        """Detects a pattern no more, and drops its matches. No effect for one that is not detected."""
        standing = self._standing.pop(id, None)
        if standing is not None:
            for arrival in standing.all_arrivals():
                self._release(arrival, id)

    def arrive(self, id: str, stamp: int, body: bytes, parts: Mapping[str, Sequence[int]]) -> list[Detection]:
        """Takes a publication that matches these parts of composite subscriptions, and returns what it completes.

        `stamp` is the time of its publication in nanoseconds. Composite subscriptions that are not detected any more
        are passed over. Raises `ContentError` where variables are to be read and the body cannot be decoded.
        """
        standing: list[tuple[Standing, Sequence[int]]] = []
        reads_content = False
        for name, numbers in parts.items():
            composite = self._standing.get(name)
            if composite is not None:
                standing.append((composite, numbers))
                reads_content = reads_content or composite.reads_content
        attributes = self._decode(body).attributes if reads_content else _NOTHING
        now, key = self._clock(), (stamp, id)
        detections: list[Detection] = []
        for composite, numbers in standing:
            self._expire(composite, now)
            arrival = self._kept.get(key) or Arrival(key, body, now)
            before = len(arrival.matches)
            search = composite.fill(arrival, numbers, attributes, self._limits.candidates_at_once)
            if not before and arrival.matches:
                self._kept.add(arrival)
            self.matches += len(arrival.matches) - before
            if search is not None:
                detections += self._detections(composite.id, id, search)
        while self.matches > self._limits.partial_matches or self._kept.bytes > self._limits.partial_match_bytes:
            self._drop(self._kept.oldest())
        return detections

    def contribute(self, composite: str, id: str, stamp: int, body: bytes) -> list[Detection]:
        """Takes a publication of a set that another detector found, and fills the parts that its content matches.

        Returns what it completes, as `arrive` does. Raises `ContentError` where the body cannot be decoded.
        """
        standing = self._standing.get(composite)
        if standing is None:
            return []
        content = self._decode(body)
        filled = [number for number, part in enumerate(standing.parts) if matches(part, content)]
        return self.arrive(id, stamp, body, {composite: filled})

    def expire(self) -> None:
        """Drops all that has stayed long enough. Arrivals do so for the composite subscriptions that they match."""
        now = self._clock()
        for standing in self._standing.values():
            self._expire(standing, now)

    def _expire(self, standing: Standing, now: int) -> None:
        for arrival in standing.expired(now - standing.within - self._limits.lateness):
            self._release(arrival, standing.id)

    def _detections(self, composite: str, publication: str, search: Search) -> list[Detection]:
        found, most = search.detections, self._limits.detections_at_once
        excess = max(0, len(found) - most)
        if search.cut:
            self._report(Loss(LossReason.CANDIDATES, composite, publication, excess))
        elif excess:
            self._report(Loss(LossReason.DETECTIONS, composite, publication, excess))
        return [Detection(composite, publications) for publications in found[:most]]

    def _drop(self, arrival: Arrival) -> None:
        """Drops a publication because of a bound."""
        for composite in dict.fromkeys(match.leaf.composite for match in arrival.matches):
            partial = sum(bool(match.leaf.paths) for match in arrival.matches if match.leaf.composite == composite)
            self._release(arrival, composite)
            self._standing[composite].dropped(arrival)
            if partial:
                self._report(Loss(LossReason.MATCHES, composite, arrival.id, partial))

    def _release(self, arrival: Arrival, composite: str) -> None:
        """Removes a publication's matches in one composite subscription, if it has any."""
        remaining = []
        for match in arrival.matches:
            if match.leaf.composite == composite:
                for path in match.leaf.paths:
                    path.remove(match)
            else:
                remaining.append(match)
        removed = len(arrival.matches) - len(remaining)
        if removed:
            self.matches -= removed
            arrival.matches = tuple(remaining)
            if not remaining:
                self._kept.remove(arrival)
