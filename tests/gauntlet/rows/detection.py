"""Defects of the detection of composite subscriptions, and of its routing."""

from __future__ import annotations

from broker_service.core.composites import INTERNAL, Composites
from broker_service.detection import slots
from broker_service.detection.detector import Detector
from broker_service.detection.standing import Standing
from broker_service.routing.cbf.router import CbfRouter
from broker_service.routing.tid.placement.detections import Detections
from tests.gauntlet import scenarios
from tests.gauntlet.model import Area
from tests.gauntlet.planting import EveryNth, around

AREA = Area("detection")

_LOST = r"^detection lost: "
_DUPLICATED = r"^detection duplicated: "
_SPURIOUS = r"^detection spurious: "


@AREA.row(scenarios.COMPOSITES_SIMPLE, _LOST)
def detector_forgets_every_fifth_set() -> None:
    skip = EveryNth(5)
    around(
        Detector,
        "_detections",
        lambda original, self, *arguments: [one for one in original(self, *arguments) if not skip()],
    )


@AREA.row(scenarios.COMPOSITES_SIMPLE, _DUPLICATED)
def detector_returns_sets_twice() -> None:
    around(Detector, "_detections", lambda original, self, *arguments: original(self, *arguments) * 2)


@AREA.row(scenarios.COMPOSITES_SIMPLE, _SPURIOUS)
def variables_need_not_agree() -> None:
    def read(original, self, attributes):
        values = original(self, attributes)
        return None if values is None else tuple(value and 1 for value in values)

    around(slots.PartReader, "read", read)


@AREA.row(scenarios.COMPOSITES_SIMPLE, _LOST)
def windows_are_a_hundredth() -> None:
    def init(original, self, id, pattern, within):
        original(self, id, pattern, within // 100)

    around(Standing, "__init__", init)


@AREA.row(scenarios.COMPOSITES_WINDOW, _SPURIOUS)
def windows_are_ten_times_too_long() -> None:
    def init(original, self, id, pattern, within):
        original(self, id, pattern, within * 10)

    around(Standing, "__init__", init)


@AREA.row(scenarios.COMPOSITES_SIMPLE, _LOST)
def kept_publications_expire_at_once() -> None:
    def fill(original, self, arrival, *arguments):
        search = original(self, arrival, *arguments)
        for match in arrival.matches:
            for path in match.leaf.paths:
                path.remove(match)
        arrival.matches = ()
        return search

    around(Standing, "fill", fill)


@AREA.row(scenarios.COMPOSITES_CBF, _LOST)
def one_part_of_each_composite_is_not_routed() -> None:
    def is_first(client: str) -> bool:
        return client.startswith(INTERNAL) and client.endswith("/1")

    around(
        CbfRouter,
        "subscribe",
        lambda original, self, client, *rest: () if is_first(client) else original(self, client, *rest),
    )
    around(
        CbfRouter,
        "unsubscribe",
        lambda original, self, client, id: () if is_first(client) else original(self, client, id),
    )


@AREA.row(scenarios.COMPOSITES_CBF, _LOST)
def publications_for_several_parts_fill_none() -> None:
    skip = EveryNth(3)
    around(
        Composites,
        "arrive",
        lambda original, self, message, clients: iter(()) if skip() else original(self, message, clients),
    )


@AREA.row(scenarios.COMPOSITES_TOPOLOGY, _LOST)
def units_lose_detections_on_their_way_home() -> None:
    skip = EveryNth(4)
    around(
        Detections,
        "receive",
        lambda original, self, neighbour, message: [] if skip() else original(self, neighbour, message),
    )


@AREA.row(scenarios.COMPOSITES_DCSR, _LOST)
def join_points_report_only_some_sets() -> None:
    skip = EveryNth(3)
    around(
        Detections,
        "detected",
        lambda original, self, unit, publications: [] if skip() else original(self, unit, publications),
    )


@AREA.row(scenarios.COMPOSITES_DCSR, _DUPLICATED)
def join_points_report_sets_twice() -> None:
    around(
        Detections,
        "detected",
        lambda original, self, unit, publications: [*original(self, unit, publications)] * 2,
    )


@AREA.row(
    scenarios.COMPOSITES_DCSR.suffering(
        "a late crash", {"at": "run+4500ms", "kill": "random", "for": "500ms"}, run="5s"
    ),
    _LOST,
)
def detections_that_join_points_pass_on_are_lost_before_a_late_crash() -> None:
    around(Detections, "receive", lambda original, self, neighbour, message: [])


@AREA.row(scenarios.COMPOSITES_WITHDRAWN, _SPURIOUS)
def withdrawn_composites_are_detected() -> None:
    around(Composites, "remove", lambda original, self, client, name: ())


_ON_THE_WAY = {"at": "run+300ms", "kill": "B2", "for": "300ms"}
"""The crash of a broker between a publisher and the brokers that detect, whose recovery lasts beyond the run."""


@AREA.row(scenarios.COMPOSITES_SIMPLE.suffering("a crash on the way", _ON_THE_WAY, run="5s"), _LOST)
def detector_forgets_every_fourth_pair_while_the_overlay_recovers_from_a_crash_elsewhere() -> None:
    skip = EveryNth(4)
    around(
        Detector,
        "_detections",
        lambda original, self, *arguments: [
            one for one in original(self, *arguments) if len(one.publications) == 1 or not skip()
        ],
    )


@AREA.row(scenarios.COMPOSITES_TOPOLOGY.suffering("a crash on the way", _ON_THE_WAY, run="5s"), _LOST)
def homes_forget_every_third_detection_while_the_overlay_recovers_from_a_crash_elsewhere() -> None:
    skip = EveryNth(3)
    around(
        Detections,
        "_notify",
        lambda original, self, row, publications: [] if skip() else original(self, row, publications),
    )
