"""Lines of a log that matter to a run's page. The others, which are most, are passed over without being decoded.

1. What links carried is in gauges, so records of single messages matter where a log has no such gauges: other brokers
   may leave them out, and older runs have none. A log has them when the first one has come.
2. A message that was received matters if its publication is in the sample whose ways are shown.
3. Of notifications that a broker passed on, only those over access links are counted.
4. A line that is not written as most brokers write it is decoded, whatever it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final
from zlib import crc32

from analysis.live.journeys import JourneySample

_EVENT: Final = b'"event":"'
_VARIANT: Final = b'"variant":"'
_ID: Final = b'"id":"'
_NEVER: Final = frozenset({b"matched", b"buffer", b"lag"})


@dataclass(slots=True)
class LogReading:
    """A log file, as far as it was read."""

    offset: int = 0
    gauged: bool = False
    """True when its gauges tell what links carried."""


def wanted_lines(
    lines: bytes, log: LogReading, samples: Mapping[bytes, JourneySample], *, sites: bool
) -> Iterator[bytes]:
    """The whole lines that matter. `samples` are those of variants by name, `sites` is true for a run with access
    links; `log` and `samples` may change meanwhile."""
    find = lines.find
    begin = 0
    while (end := find(b"\n", begin)) >= 0:
        at = find(_EVENT, begin, end) + len(_EVENT)
        event = lines[at : find(b'"', at, end)] if at > begin else b""
        if event == b"sent":
            unwanted = log.gauged
        elif event == b"received":
            unwanted = _is_outside(lines, begin, at, end, samples)
        else:
            unwanted = event in _NEVER or (event == b"delivered" and not sites)
        if not unwanted:
            yield lines[begin:end]
        begin = end + 1


def _is_outside(lines: bytes, begin: int, event: int, end: int, samples: Mapping[bytes, JourneySample]) -> bool:
    """True if a message received is known to be outside of the sample; `event` is the place of the event's name."""
    variant, name = lines.find(_VARIANT, begin, event) + len(_VARIANT), lines.find(_ID, event, end) + len(_ID)
    publication = lines[name : lines.find(b'"', name, end)]
    sample = samples.get(lines[variant : lines.find(b'"', variant, event)])
    return (
        sample is not None and name >= event and b"\\" not in publication and crc32(publication) > sample.largest_hash
    )
