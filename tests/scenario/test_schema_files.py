"""Files generated from the scenario's own schema are accepted or refused in words, in bounded time and memory."""

from __future__ import annotations

import subprocess
import sys

import msgspec

from tests.proof import IS_WHOLE
from tests.scenario.schema_files import LARGEST, PATIENCE, Outcome

COUNT = 500 if IS_WHOLE else 45
"""One in nine is accepted."""
MOST_SECONDS = 4 * PATIENCE


def test_files_from_the_schema_end_in_words() -> None:
    command = [sys.executable, "-m", "tests.scenario.schema_files", "0", str(COUNT)]
    done = subprocess.run(command, capture_output=True, check=True, timeout=COUNT * PATIENCE)
    found = [msgspec.json.decode(line, type=Outcome) for line in done.stdout.splitlines()]
    assert len(found) == COUNT
    assert {outcome.end for outcome in found} == {"accepted", "refused"}, [
        outcome for outcome in found if outcome.end not in {"accepted", "refused"}
    ]
    assert max(outcome.megabytes for outcome in found) < LARGEST >> 20
    assert max(outcome.seconds for outcome in found) < MOST_SECONDS
