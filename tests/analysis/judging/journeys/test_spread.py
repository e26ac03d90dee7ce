"""The sample of publications whose spread is recorded."""

from __future__ import annotations

from zlib import crc32

from hypothesis import given
from hypothesis import strategies as st

from analysis.judging.journeys.journey import Journey, Visit
from analysis.judging.journeys.spread import MOST_SAMPLED, SpreadSample, add_spread, rows_of_spread, spread_sample
from analysis.reading.publication_events import Published
from record.manifest import PhaseName, PhaseRecord, VariantRecord

PUBLISHED = Published(0, "", 0, "P", 0, b"", "B1", "B1", 0)
VARIANT = VariantRecord(name="base", phases=[PhaseRecord(name=PhaseName.RUN, start=10**9, end=2 * 10**9)])


class OneVisit:
    """Journeys that all reached one broker."""

    def first_visits(self, journey: Journey) -> list[Visit]:
        return [Visit(1_500_000_000, f"B{journey.publication}", 2)]


def sample_of(names: list[str]) -> SpreadSample:
    sample = spread_sample()
    for name in names:
        journey = Journey(publication=name, published=PUBLISHED, reached=("B1",))
        add_spread(journey, OneVisit(), sample)  # type: ignore[arg-type]
    return sample


@given(st.lists(st.integers(0, 500).map(str), unique=True, max_size=80), st.integers(0, 80))
def test_the_sample_is_the_smallest_hashes_however_it_is_divided(names: list[str], cut: int) -> None:
    merged = sample_of(names[cut:])
    for found in sample_of(names[:cut]):
        merged.add(found)
    wanted = sorted(names, key=lambda name: (crc32(name.encode()), name))[:MOST_SAMPLED]
    assert [found.publication for found in merged] == wanted == [found.publication for found in sample_of(names)]


def test_rows_are_in_the_time_of_the_run_phase() -> None:
    (row,) = rows_of_spread(sample_of(["7"]), [VARIANT], [0])
    assert (row.variant, row.publication, row.broker, row.reached_s, row.hops) == ("base", "7", "B7", 0.5, 2)
    assert list(rows_of_spread(sample_of(["7"]), [VARIANT], [])) == []


def test_a_publication_that_reached_no_broker_or_nobody_published_is_left_out() -> None:
    sample = sample_of([])
    add_spread(Journey(publication="1", published=PUBLISHED), OneVisit(), sample)  # type: ignore[arg-type]
    add_spread(Journey(publication="2", reached=("B1",)), OneVisit(), sample)  # type: ignore[arg-type]
    assert list(sample) == []
