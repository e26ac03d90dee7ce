"""The shipped scenarios give in the simulator what they gave when `digests.json` was recorded, byte for byte.

These tests fail when any behaviour of brokerlab changes that a simulated run shows: what is generated from a seed, what
brokers do and when, what is logged, counted, judged or printed. Where that is intended, record it again, and commit
`digests.json` with the change:

    python -m tests.unchanged.record

Where it is not, keep the runs of the code as it was, and let the lines that differ be shown:

    python -m tests.unchanged.record --runs /tmp/before               # in a tree without the change
    python -m tests.unchanged.record --compare --before /tmp/before   # in the tree with it

Only a few scenarios run here, those that take seconds. `python -m tests.unchanged.record --compare` runs all of them.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.unchanged.content import parts_of
from tests.unchanged.digests import differences, digested, first_differences, read_digests, surroundings
from tests.unchanged.running import made_by, run_shipped
from tests.unchanged.shipped import CHANGES, QUICK, shipped

SMALLEST = "scenarios/line-3.yaml"


@pytest.mark.proof
@pytest.mark.parametrize("file", [file for file in QUICK if file != SMALLEST])
def test_a_shipped_scenario_gives_what_is_recorded(file: str, tmp_path: Path) -> None:
    run_shipped(file, tmp_path / "run")
    expect_what_is_recorded(file, tmp_path / "run")


def expect_what_is_recorded(file: str, run: Path) -> None:
    digests = read_digests()
    if digests.recorded_with != surroundings():
        pytest.skip(f"recorded with {digests.recorded_with}, and the last digits may differ on {surroundings()}")
    found = differences(digests.runs[file], digested(file, run))
    assert not found, f"{found}; the docstring of {__name__} says how to see what differs, and what to do then"


def test_everything_shipped_is_recorded_as_it_is_run_now() -> None:
    recorded = {file: run.changes for file, run in read_digests().runs.items()}
    assert recorded == {file: CHANGES.get(file, ()) for file in shipped()}


@pytest.fixture(scope="module")
def one_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("unchanged") / "run"
    run_shipped(SMALLEST, directory)
    return directory


def test_the_smallest_scenario_gives_what_is_recorded(one_run: Path) -> None:
    expect_what_is_recorded(SMALLEST, one_run)


@pytest.fixture
def copy(one_run: Path, tmp_path: Path) -> Path:
    """A copy of that run, to be changed."""
    return shutil.copytree(one_run, tmp_path / "copy")


def differing(one_run: Path, copy: Path) -> dict[str, str]:
    return differences(digested(SMALLEST, one_run), digested(SMALLEST, copy))


def test_name_and_date_and_host_of_a_run_are_no_difference(one_run: Path, copy: Path) -> None:
    made = made_by(copy)
    for name in ("manifest.json", "summary.json"):
        content = json.loads((made / name).read_bytes())
        changed = {"run_id": "another", "created": "2026-01-31", "host": {"cpus": 1}, "git_revision": None}
        content |= {field: value for field, value in changed.items() if field in content}
        (made / name).write_text(json.dumps(content))
    log = made / "emulator.log"
    log.write_text("".join(f"timestamp=now {line.partition(' ')[2]}" for line in log.open()))
    made.rename(made.with_name("another"))
    assert not differing(one_run, copy)


def test_a_changed_log_is_a_difference_and_its_line_is_shown(one_run: Path, copy: Path) -> None:
    log = made_by(copy) / "logs" / "B2.jsonl"
    log.write_text(log.read_text().replace('"time":0,', '"time":1,', 1))
    assert differing(one_run, copy) == {"logs": "differs"}
    shown = list(first_differences(parts_of(one_run)["logs"], parts_of(copy)["logs"]))
    assert len(shown) == 3
    assert shown[1].startswith('- {"time":0,"node":"B2"')
    assert shown[2].startswith('+ {"time":1,"node":"B2"')


def test_a_changed_field_of_the_summary_is_a_difference(one_run: Path, copy: Path) -> None:
    summary = made_by(copy) / "summary.json"
    summary.write_text(summary.read_text().replace('"lost": 0', '"lost": 1', 1))
    assert differing(one_run, copy) == {"summary.json": "differs"}


def test_a_file_that_is_gone_or_new_is_a_difference(one_run: Path, copy: Path) -> None:
    made = made_by(copy)
    (made / "topology.json").rename(made / "topology-2.json")
    assert differing(one_run, copy) == {"topology.json": "is gone", "topology-2.json": "is new"}


def test_rows_of_a_table_may_change_places_but_not_their_values(one_run: Path, copy: Path) -> None:
    file = made_by(copy) / "results" / "messages.parquet"
    table = pq.read_table(file)
    pq.write_table(table.take(pa.array(range(table.num_rows - 1, -1, -1))), file)
    assert not differing(one_run, copy)
    pq.write_table(table.slice(1), file)
    assert differing(one_run, copy) == {"results/messages.parquet": "differs"}
