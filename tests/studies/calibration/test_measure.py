"""From intervals and work to a calibration."""

from __future__ import annotations

import pytest

from emulation.planning.calibration import Calibration, Origin
from record.host_speed import LoopTimes
from studies.calibration.latency import LatencySamples
from studies.calibration.measure import assemble
from studies.calibration.work import MeasuredWork


def test_what_is_charged_as_work_is_not_charged_as_latency() -> None:
    """Submitting and each hop end with the work of a broker, notifying does not."""
    intervals = LatencySamples(submit=[900_000.0] * 10, link=[500_000.0, 700_000.0] * 640, notify=[400_000.0] * 10)
    origin = Origin(
        created="",
        method="",
        processor="",
        cpus=2,
        system="",
        kernel="",
        versions={},
        git_revision=None,
        load_average=0,
    )
    work = MeasuredWork(200_000, {"publish": 20_000, "subscribe": 90_000})
    made = assemble(intervals, work, origin, LoopTimes(interpreter=3))
    assert made.loops == LoopTimes(interpreter=3)
    assert made.submit.mean == pytest.approx(680_000)
    assert made.link.mean == pytest.approx(380_000)
    assert made.notify.mean == pytest.approx(400_000)
    assert made == Calibration(
        submit=made.submit,
        link=made.link,
        notify=made.notify,
        frame=200_000,
        work=dict(work.kinds),
        origin=origin,
        loops=made.loops,
    )
