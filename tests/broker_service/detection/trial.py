"""A detector that is given publications as a broker would give them: with the parts that they match."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from broker_service.detection import Detection, DetectionLimits, Detector, Loss
from broker_service.language import Publication, Subscription
from broker_service.language.composite import Composite
from broker_service.language.content import encode_publication, matches
from tests.broker_service.detection.naive import Published

Found = tuple[str, frozenset[str]]
"""A composite subscription, and the identifiers of publications."""


class Clock:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now


class Trial:
    """A detector with its clock, the losses that it reported, and all that it detected."""

    def __init__(self, limits: DetectionLimits | None = None, detector: type[Detector] = Detector) -> None:
        self.clock = Clock()
        self.losses: list[Loss] = []
        self.detector = detector(self.clock, self.losses.append, limits)
        self.detected: list[Detection] = []
        self._parts: dict[str, tuple[Subscription, ...]] = {}

    def add(self, id: str, pattern: Composite, within: int) -> None:
        self._parts[id] = self.detector.add(id, pattern, within)

    def remove(self, id: str) -> None:
        self.detector.remove(id)
        self._parts.pop(id, None)

    def parts(self, published: Published) -> dict[str, list[int]]:
        """The parts that a publication matches."""
        publication = Publication(published.attributes)
        matched = {
            id: [number for number, part in enumerate(parts) if matches(part, publication)]
            for id, parts in self._parts.items()
        }
        return {id: numbers for id, numbers in matched.items() if numbers}

    def arrive(self, published: Published, parts: Mapping[str, Sequence[int]] | None = None) -> list[Found]:
        """Returns the detections that an arrival completes; `parts` replaces the parts that it matches."""
        matched = self.parts(published) if parts is None else parts
        body = encode_publication(Publication(published.attributes))
        new = self.detector.arrive(published.id, published.stamp, body, matched)
        self.detected += new
        return list(map(found, new))

    def arrive_all(self, publications: Iterable[Published]) -> list[Found]:
        """Returns the detections that these arrivals complete, one after another."""
        return [completed for published in publications for completed in self.arrive(published)]


def found(detection: Detection) -> Found:
    return detection.composite, frozenset(publication.id for publication in detection.publications)
