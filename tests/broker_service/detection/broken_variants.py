"""Broken detectors, each wrong in one way, to see that the properties notice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from unittest import mock

from broker_service.detection import Detection, DetectionLimits, Detector, Loss
from broker_service.detection.matches import Bucket, Match
from broker_service.detection.slots import Slot, Slots
from broker_service.detection.standing import Standing
from broker_service.language import Subscription
from broker_service.language.canonical import canonical
from broker_service.language.composite import And, Atomic, Composite, Or, Variable
from broker_service.language.composite_subscription import relaxed

Parts = Mapping[str, Sequence[int]]


class IgnoresVariables(Detector):
    def add(self, id: str, pattern: Composite, within: int) -> tuple[Subscription, ...]:
        return super().add(id, _without_variables(pattern), within)


def _without_variables(pattern: Composite) -> Composite:
    if isinstance(pattern, Atomic):
        return Atomic(relaxed(pattern).predicates)
    return type(pattern)(tuple(map(_without_variables, pattern.operands)))


class ComparesVariablesByName(Detector):
    """`$S$X` and `$I$X` are one variable."""

    def add(self, id: str, pattern: Composite, within: int) -> tuple[Subscription, ...]:
        slots: dict[str, Slot] = {}

        def of(these: Slots, variable: Variable) -> Slot:
            if variable.name not in slots:
                slots[variable.name] = these._new()
            return slots[variable.name]

        with mock.patch.object(Slots, "of", of):
            return super().add(id, pattern, within)


class KeepsTheLatestOnly(Detector):
    """Each new match of a leaf takes the place of the one before ("recent")."""

    def arrive(self, id: str, stamp: int, body: bytes, parts: Parts) -> list[Detection]:
        between = Bucket.between

        def latest(bucket: Bucket, earliest: int, last: int) -> Sequence[Match]:
            return between(bucket, earliest, last)[-1:]

        with mock.patch.object(Bucket, "between", latest):
            return super().arrive(id, stamp, body, parts)


class ConsumesOnDetection(Detector):
    """A publication that took part in a detection is used up."""

    def arrive(self, id: str, stamp: int, body: bytes, parts: Parts) -> list[Detection]:
        detections = super().arrive(id, stamp, body, parts)
        for composite, publications in detections:
            for publication in publications:
                if any(match.leaf.composite == composite for match in publication.matches):
                    self._release(publication, composite)
                    self._standing[composite].dropped(publication)
        return detections


class FillsOneLeafOnly(Detector):
    """A publication fills the first leaf that it matches, and no other."""

    def arrive(self, id: str, stamp: int, body: bytes, parts: Parts) -> list[Detection]:
        new_matches = Standing._new_matches
        with mock.patch.object(Standing, "_new_matches", lambda *arguments: new_matches(*arguments)[:1]):
            return super().arrive(id, stamp, body, parts)


class NotifiesPerOperand(Detector):
    """Each operand of a `||` is detected by itself, so a set that fulfils two of them is detected twice."""

    def __init__(
        self, clock: Callable[[], int], report: Callable[[Loss], None], limits: DetectionLimits | None = None
    ) -> None:
        self._operands: dict[str, list[Detector]] = {}
        self._make = lambda: Detector(clock, report, limits)
        super().__init__(clock, report, limits)

    def add(self, id: str, pattern: Composite, within: int) -> tuple[Subscription, ...]:
        operands = pattern.operands if isinstance(pattern, Or) else (pattern,)
        self._operands[id] = [self._make() for _ in operands]
        for detector, operand in zip(self._operands[id], operands, strict=True):
            detector.add(id, operand, within)
        return super().add(id, pattern, within)

    def arrive(self, id: str, stamp: int, body: bytes, parts: Parts) -> list[Detection]:
        detections: list[Detection] = []
        for name, numbers in parts.items():
            matched = {self._standing[name].parts[number] for number in numbers}
            for detector in self._operands[name]:
                subscriptions = detector._standing[name].parts
                own = [number for number, part in enumerate(subscriptions) if part in matched]
                detections += detector.arrive(id, stamp, body, {name: own})
        return detections


class WindowOfArrivals(Detector):
    """The window is measured by the times of arrival."""

    def arrive(self, id: str, stamp: int, body: bytes, parts: Parts) -> list[Detection]:
        return super().arrive(id, self._clock(), body, parts)


class EndlessWindow(Detector):
    def add(self, id: str, pattern: Composite, within: int) -> tuple[Subscription, ...]:
        return super().add(id, pattern, 1 << 40)


class KeepsFormerMatches(Detector):
    """Another pattern under the same identifier begins with the publications of the one before."""

    def add(self, id: str, pattern: Composite, within: int) -> tuple[Subscription, ...]:
        former = self._standing.get(id)
        arrivals = [] if former is None else list(former.all_arrivals())
        parts = super().add(id, pattern, within)
        for arrival in arrivals:
            publication = self._decode(arrival.body)
            numbers = [number for number, part in enumerate(parts) if _matches(part, publication.attributes)]
            super().arrive(arrival.id, arrival.stamp, arrival.body, {id: numbers})
        return parts


def _matches(part: Subscription, attributes: Mapping[str, object]) -> bool:
    return all(predicate.attribute in attributes for predicate in part.predicates)


class FactorsOut(Detector):
    """`a & (b || c)` is detected as `(a & b) || c`."""

    def add(self, id: str, pattern: Composite, within: int) -> tuple[Subscription, ...]:
        return super().add(id, _factored(canonical(pattern)), within)


def _factored(pattern: Composite) -> Composite:
    match pattern:
        case And((*others, Or((first, *rest)))) | And((Or((first, *rest)), *others)):
            return Or((And((*others, first)), *rest))
    return pattern


class CountsRepeats(Detector):
    """A publication that arrives again, by another tree, is a further publication."""

    _arrived = 0

    def arrive(self, id: str, stamp: int, body: bytes, parts: Parts) -> list[Detection]:
        self._arrived += 1
        detections = super().arrive(f"{id}#{self._arrived}", stamp, body, parts)
        for _, publications in detections:
            for publication in publications:
                publication.key = (publication.stamp, publication.id.partition("#")[0])
        return detections


class KeepsLossesToItself(Detector):
    def __init__(
        self, clock: Callable[[], int], _report: Callable[[Loss], None], limits: DetectionLimits | None = None
    ) -> None:
        super().__init__(clock, lambda _loss: None, limits)


class ReportsTheWrongPublication(Detector):
    """The loss names the publication that arrived, and not the one that was dropped for it."""

    def arrive(self, id: str, stamp: int, body: bytes, parts: Parts) -> list[Detection]:
        report = self._report
        self._report = lambda loss: report(loss._replace(publication=id))
        try:
            return super().arrive(id, stamp, body, parts)
        finally:
            self._report = report


class DropsTheWholeStoreAtTheBound(Detector):
    """Reports one publication only."""

    def _drop(self, arrival: object) -> None:
        report, self._report = self._report, lambda _loss: None
        super()._drop(self._kept.oldest())
        self._report = report
        while len(self._kept):
            super()._drop(self._kept.oldest())


class ForgetsToExpire(Detector):
    def _expire(self, standing: Standing, now: int) -> None:
        """Keeps everything."""
