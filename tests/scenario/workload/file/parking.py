"""The shipped table `scenarios/workloads/parking.csv`: sensors that count free places, and drivers who look for one.

python -m tests.scenario.workload.file.parking    # writes it anew; the same bytes each time
"""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from record.installation import FILES

FILE = FILES / "scenarios" / "workloads" / "parking.csv"
HEADER = ("ts", "who", "verb", "key", "body", "zone", "free")
_BEGINS = datetime(2026, 3, 2, 7, 30, tzinfo=UTC)
_ZONES = ("harbour", "market", "museum", "park", "station", "theatre")
_SENSORS, _DRIVERS, _SECONDS = 12, 16, 120
_GUARD = "{[class,eq,'PARKING'],[zone,eq,'station'],[free,<,3]}&{[class,eq,'PARKING'],[zone,eq,'market'],[free,<,3]}"


def table() -> str:
    """The whole table."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADER)
    for second, cells in sorted(_rows(random.Random("parking")), key=lambda row: row[0]):
        moment = _BEGINS + timedelta(milliseconds=round(second * 1000))
        writer.writerow((moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03}", *cells))
    return text.getvalue()


def _rows(rng: random.Random) -> Iterator[tuple[float, tuple[object, ...]]]:
    """Seconds and the cells behind the time of each row, not yet sorted."""
    yield 0.5, ("guard", "guard", "full", _GUARD, "", "")
    for number in range(1, _SENSORS + 1):
        zone, free, second = _ZONES[number % len(_ZONES)], rng.randrange(20), 5 + rng.uniform(0, 5)
        while second < _SECONDS:
            yield second, (f"sensor-{number}", "report", "", "", zone, free)
            free, second = min(max(free + rng.choice((-2, -1, -1, 1, 1, 2)), 0), 20), second + rng.expovariate(1 / 3)
    for number in range(1, _DRIVERS + 1):
        second, trip = rng.uniform(0, 50), 1
        while second < _SECONDS - 10:
            wanted = f"[class,eq,'PARKING'],[zone,eq,'{rng.choice(_ZONES)}'],[free,>,{rng.randrange(5)}]"
            ends = second + rng.uniform(40, 80)
            yield second, (f"driver-{number}", "watch", f"trip-{trip}", wanted, "", "")
            if ends < _SECONDS:
                yield ends, (f"driver-{number}", "leave", f"trip-{trip}", "", "", "")
            second, trip = ends + rng.uniform(5, 20), trip + 1


if __name__ == "__main__":
    FILE.write_text(table(), encoding="utf-8")
