"""A trial of a broker: the rows that its level asks for, one after another."""

from __future__ import annotations

import asyncio
import fnmatch
import time
from collections.abc import AsyncIterator, Callable, Sequence

from record.errors import BadInputError
from studies.broker_kit import (
    case_rows,
    content_rows,
    log_rows,
    number_rows,
    publication_rows,
    request_rows,
    start_rows,
    status_rows,
    stream_rows,
    wire_rows,
)
from studies.broker_kit.bench import Bench
from studies.broker_kit.failures import NotApplicable, RowFailure
from studies.broker_kit.rows import Row, RowResult, RowVerdict

LEVELS = (1, 2, 3)

ALL_ROWS: Sequence[Row] = (
    *start_rows.ROWS.all,
    *stream_rows.ROWS.all,
    *request_rows.ROWS.all,
    *publication_rows.ROWS.all,
    *number_rows.ROWS.all,
    *content_rows.ROWS.all,
    *status_rows.ROWS.all,
    *log_rows.ROWS.all,
    *case_rows.ROWS.all,
    *wire_rows.ROWS.all,
)


def selected(patterns: Sequence[str]) -> Sequence[Row]:
    """The rows of these statements, suites or names, with `*` for any text; all where none is given.

    Raises `BadInputError` for a pattern that no row fits.
    """
    for pattern in patterns:
        if not any(_fits(row, pattern) for row in ALL_ROWS):
            raise BadInputError(
                f"--row {pattern}: no row has that statement, suite or name; write for example S-9, session or 'A-*'"
            )
    return [row for row in ALL_ROWS if not patterns or any(_fits(row, pattern) for pattern in patterns)]


def _fits(row: Row, pattern: str) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for name in (row.statement, row.suite.value, row.name, row.id))


async def results(bench: Bench, rows: Sequence[Row], doing: Callable[[str], None]) -> AsyncIterator[RowResult]:
    """Runs rows. `doing` is told which one begins. Raises `HostError` when the host cannot start the broker."""
    for row in rows:
        if row.level > bench.level:
            yield RowResult(row, RowVerdict.NOT_APPLICABLE, f"it is for level {row.level}")
            continue
        doing(row.id)
        begin = time.monotonic()
        verdict, reason = await _outcome(bench, row)
        await bench.clear(failed=verdict in (RowVerdict.FAILED, RowVerdict.ADVISED))
        yield RowResult(row, verdict, reason, time.monotonic() - begin)


async def _outcome(bench: Bench, row: Row) -> tuple[RowVerdict, str]:
    try:
        async with asyncio.timeout(row.within):
            await row.check(bench)
    except NotApplicable as reason:
        return RowVerdict.NOT_APPLICABLE, str(reason)
    except RowFailure as failure:
        reason_text = str(failure)
    except TimeoutError:
        reason_text = f"the check has not come to its end after {row.within:g} s"
    else:
        return RowVerdict.PASSED, ""
    ended = await bench.endings()
    if ended and ended not in reason_text:
        reason_text = f"{reason_text}; {ended}"
    return (RowVerdict.ADVISED if row.should else RowVerdict.FAILED), reason_text
