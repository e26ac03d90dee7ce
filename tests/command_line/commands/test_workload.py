"""`brokerlab workload show`: the load of scenarios and tables, in words and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line.commands.workload import as_json, as_table, show_workload
from record.errors import BadInputError
from tests.scenario.workload.file import parking

_PARKING = {
    "columns": "{time: ts, client: who, operation: verb, id: key, content: body}",
    "words": "{report: publish, watch: subscribe, leave: unsubscribe, guard: composite}",
    "attributes": "{zone: zone, free: free}",
    "constants.class": "PARKING",
}


def test_a_scenario_and_its_table_have_the_same_clients(capsys: pytest.CaptureFixture[str]) -> None:
    show_workload(Path("workloads/parking"), {}, as_json)
    (played,) = json.loads(capsys.readouterr().out)
    show_workload(parking.FILE, _PARKING, as_json)
    (table,) = json.loads(capsys.readouterr().out)
    assert table["amounts"]["publications"] == parking.table().count(",report,")
    assert played["amounts"]["publications"] > table["amounts"]["publications"]
    for name in ("publishers", "subscribers", "composites", "advertisements"):
        assert played["amounts"][name] == table["amounts"][name]


def test_the_load_is_told_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    show_workload(Path("workloads/parking"), {}, as_table)
    told = " ".join(capsys.readouterr().out.split())
    assert "12 publish, 17 subscribe" in told
    assert "1 composite subscription, " in told
    assert "zone: " in told
    assert "of 691 publications with " in told


def test_variants_that_differ_have_columns(capsys: pytest.CaptureFixture[str]) -> None:
    show_workload(Path("smoke"), {"vary": "{workload.publications.rate: [1/s, 2/s]}"}, as_table)
    first, *_ = capsys.readouterr().out.splitlines()
    assert first.split() == ["1-s", "2-s"]


@pytest.mark.parametrize(
    ("settings", "mistake"),
    [
        ({}, "parking.csv has no column 'time' (columns.time); there are body, free, key, ts, verb, who, zone"),
        ({"colums.time": "ts"}, "--set colums: unknown field 'colums'; did you mean 'columns'?"),
        ({"columns.time": "[ts"}, "--set columns.time=[ts: "),
        (_PARKING | {"speed": "0.0000001"}, f"{parking.FILE}: its times span "),
    ],
)
def test_mistakes_are_one_sentence(settings: dict[str, str], mistake: str) -> None:
    with pytest.raises(BadInputError) as raised:
        show_workload(parking.FILE, settings, as_table)
    assert str(raised.value).startswith(mistake)
    assert len(str(raised.value).splitlines()) == 1
