"""The clients of a workload whose operations are in a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from broker_service.language import Publication, Subscription
from broker_service.language.content import matches
from record.time_units import SECOND
from scenario.model import Scenario
from scenario.sections.messages import Problem
from scenario.sections.workload.file import FileWorkload
from scenario.sections.workload.kind import MOST_PUBLICATIONS
from scenario.workload.detections import MOST_DETECTIONS, PublicationSample
from scenario.workload.file.contents import FileContents, contents_of
from scenario.workload.file.play import Play, declared
from scenario.workload.file.standing import key_of
from scenario.workload.operations import OperationKind, PlannedOperation
from scenario.workload.pace import load_time
from scenario.workload.placement import broker_problems, placed, placement_problems
from scenario.workload.population import Expected
from scenario.workload.streams import stream
from scenario.yaml_files.errors import ScenarioError
from scenario.yaml_files.fields import FieldPath
from topology.link_properties import BrokerId
from topology.model import Overlay

_FILE: FieldPath = ("workload", "operations")
_DERIVED = "published"
"""The id of an advertisement that is made of what its client publishes."""
_COMPARED_PUBLICATIONS, _COMPARED_SUBSCRIPTIONS = 100, 500
"""Publications and subscriptions by which the number of notifications is estimated."""


@dataclass(frozen=True)
class FilePopulation:
    """The clients of a file, at their brokers."""

    section: FileWorkload
    contents: FileContents
    homes: Mapping[str, BrokerId]
    window: int
    """Nanoseconds that a composite subscription waits which does not say how long."""
    seed: int

    @property
    def publishers(self) -> Mapping[str, BrokerId]:
        return {client: self.homes[client] for client in self.contents.publishing}

    @property
    def subscribers(self) -> Mapping[str, BrokerId]:
        return {client: self.homes[client] for client in self.contents.subscribing}

    def advertisements(self) -> Sequence[PlannedOperation]:
        derived = [
            declared(
                advertisement,
                client=client,
                broker=self.homes[client],
                name=_DERIVED,
                at=0,
                window=self.window,
            )
            for client, advertisement in self.contents.derived().items()
        ]
        return derived + [made for made in self._at_start if made.operation is OperationKind.ADVERTISE]

    def subscriptions(self) -> Sequence[PlannedOperation]:
        return [made for made in self._at_start if made.operation is not OperationKind.ADVERTISE]

    @cached_property
    def _at_start(self) -> list[PlannedOperation]:
        play = self._play()
        return [play.operation(row, 0) for row in self.contents.at_start]

    def lasting_subscriptions(self) -> Sequence[PlannedOperation]:
        lasting = [
            made
            for row, made in zip(self.contents.at_start, self._at_start, strict=True)
            if key_of(row) not in self.contents.withdrawn
        ]
        return [made for made in lasting if made.operation is not OperationKind.ADVERTISE]

    def paced(self, begin: int, load: float) -> Iterator[PlannedOperation]:
        return self._play().operations(begin, load)

    def changes(self, begin: int, run: float) -> Iterator[PlannedOperation]:
        return iter(())

    def expected(self, run: float) -> Expected:
        publications = published(self.section, self.contents, run)
        part = publications / (self.contents.course.count * self.section.share)
        later = {verb: count * part for verb, count in self.contents.later.items()}
        return Expected(
            advertisements=len(self.advertisements()) + round(later.get("advertise", 0)),
            subscriptions=len(self.subscriptions()) + round(later.get("subscribe", 0) + later.get("composite", 0)),
            publications=publications,
            notifications=publications * self._matches,
        )

    @cached_property
    def _matches(self) -> float:
        """Subscriptions that a publication matches, in the mean, of those that stand at the start."""
        wanted = [row.content for row in self.contents.at_start if isinstance(row.content, Subscription)]
        step = max(1, len(wanted) // _COMPARED_SUBSCRIPTIONS)
        compared, sample = wanted[::step], self.contents.sample[:_COMPARED_PUBLICATIONS]
        if not compared:
            return 0.0
        found = sum(matches(subscription, publication) for publication in sample for subscription in compared)
        return found / len(sample) * len(wanted) / len(compared)

    def _play(self) -> Play:
        return Play(self.section, self.contents, self.homes, self.window, self.seed)


def published(section: FileWorkload, contents: FileContents, run: float) -> float:
    """The number of publications to expect in a run phase of `run` seconds."""
    course, lasts = contents.course, round(run * SECOND * section.speed)
    whole, rest = divmod(lasts, course.period) if section.loop else (0, lasts)
    return section.share * (whole * course.count + course.before(contents.begins + rest))


def populate(section: FileWorkload, scenario: Scenario, overlay: Overlay) -> FilePopulation:
    """The clients of a section. Raises `ScenarioError` for a file that cannot be read."""
    contents = contents_of(section)
    if contents.mistakes:
        raise ScenarioError("\n".join(f"workload.operations: {mistake}" for mistake in contents.mistakes))
    return FilePopulation(
        section=section,
        contents=contents,
        homes=_homes(section, contents, overlay, scenario.seed),
        window=round(scenario.brokers.limits.detection_window * SECOND),
        seed=scenario.seed,
    )


def problems(section: FileWorkload, scenario: Scenario, overlay: Overlay) -> Iterator[Problem]:
    """Mistakes in the file, and contradictions between the section and the rest of the scenario."""
    if section.placement is not None:
        yield from placement_problems(("workload", "placement"), section.placement, overlay)
    contents = contents_of(section)
    if contents.mistakes:
        yield from (Problem(_FILE, mistake) for mistake in contents.mistakes)
        return
    for home in dict.fromkeys(contents.homes.values()):
        if home is not None:
            yield from broker_problems(_FILE, home, overlay)
    made = published(section, contents, load_time(scenario))
    if made > MOST_PUBLICATIONS:
        yield Problem(
            _FILE, f"makes {made:,.0f} publications; there may be {MOST_PUBLICATIONS:,}; give a lower `share`"
        )
    yield from _detections(section, scenario, contents, made)


def _detections(
    section: FileWorkload, scenario: Scenario, contents: FileContents, publications: float
) -> Iterator[Problem]:
    """A problem when the composite subscriptions of the file make too many detections."""
    if not contents.composites:
        return
    sample = PublicationSample(
        [publication.attributes for publication in contents.sample], publications, scenario.timeline.run
    )
    window, total = round(scenario.brokers.limits.detection_window * SECOND), 0.0
    for row in contents.composites:
        if row.content is None or isinstance(row.content, Publication):
            continue
        total += sample.detections(declared(row.content, client=row.client, broker="", name="", at=0, window=window))
    if total > MOST_DETECTIONS:
        yield Problem(
            _FILE,
            f"makes about {total:,.0f} detections of composite subscriptions; there may be {MOST_DETECTIONS:,} in a "
            "run; give a shorter `within` or parts that match less",
        )


def _homes(section: FileWorkload, contents: FileContents, overlay: Overlay, seed: int) -> Mapping[str, BrokerId]:
    given = {client: home for client, home in contents.homes.items() if home is not None}
    if given:
        return given
    brokers = [broker.id for broker in overlay.brokers]
    at = placed(len(contents.homes), section.placement or "uniform", brokers, stream(seed, "clients"))
    return dict(zip(contents.homes, at, strict=True))
