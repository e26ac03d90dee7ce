from __future__ import annotations

import msgspec
import pyarrow as pa
import pytest

from analysis.tables import events
from analysis.tables.events import event_columns, event_schema
from record.log import TraceRecord


def test_every_field_of_a_record_is_a_column() -> None:
    columns = {column.name: column for column in event_columns()}
    assert list(columns) == [field.encode_name for field in msgspec.structs.fields(TraceRecord)]
    assert {name for name, column in columns.items() if column.encoded} == {
        "numbers",
        "strings",
        "predicates",
        "placement",
    }
    assert {name for name, column in columns.items() if not column.nullable} == {"time", "node", "variant", "event"}
    assert columns["publications"].type == pa.list_(pa.string())
    assert columns["hops"].type == pa.int64()


def test_times_of_both_clocks_stand_together() -> None:
    names = event_schema().names
    assert names[:4] == ["time", "run_time", "log_place", "node"]
    assert {"variant", "event"}.isdisjoint(names)


def test_a_field_without_a_column_type_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new field of the log cannot be forgotten: it is a column by itself, or an error."""

    class Newer(msgspec.Struct):
        time: int
        colour: str | None = None
        shade: str | int | None = None

    monkeypatch.setattr(events, "TraceRecord", Newer)
    with pytest.raises(TypeError, match="shade"):
        event_columns.__wrapped__()
