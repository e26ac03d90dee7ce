"""`brokerlab topology multicast`: what it prints, and how it ends."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import command_line as cli

LINE = "ms,A,B,C,D\nA,0,1,2,11\nB,1,0,1,10\nC,2,1,0,9\nD,11,10,9,0\n"
"""Four servers on a line, of which D is far from the others."""


class Multicast:
    """`brokerlab topology multicast` on a file of distances, run in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
        self._capsys, self._monkeypatch, self.file = capsys, monkeypatch, file

    def __call__(self, *options: str) -> tuple[int, str]:
        """Exit code, and what was printed."""
        self._monkeypatch.setattr(sys, "argv", ["brokerlab", "topology", "multicast", str(self.file), *options])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        printed = self._capsys.readouterr()
        return int(ended.value.code or 0), printed.out + printed.err


@pytest.fixture
def multicast(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Multicast:
    monkeypatch.setenv("COLUMNS", "200")
    file = tmp_path / "distances.csv"
    file.write_text(LINE)
    return Multicast(capsys, monkeypatch, file)


SPLITS = {
    "mst": (("--algorithm", "mst"), {"B": ["B", "C", "D"]}, 11.0),
    "close by default": ((), {"B": ["B", "C", "D"]}, 11.0),
    "one candidate": (("--candidates", "1"), {"B": ["B", "C", "D"]}, 11.0),
    "balanced": (("--algorithm", "balanced", "--overloaded", "B"), {"C": ["B", "C", "D"]}, 21.0),
    "all overloaded": (
        ("--algorithm", "balanced", "--overloaded", "B,C", "--overloaded", "D"),
        {"B": list("BCD")},
        11.0,
    ),
}


@pytest.mark.parametrize("listed", ["A,B", "A"])
def test_the_server_itself_on_the_list_delivers_here(multicast: Multicast, listed: str) -> None:
    """The list of an event that has come to the server holds it (section 3.1)."""
    others = [name for name in listed.split(",") if name != "A"]
    code, printed = multicast("--server", "A", "--destinations", listed, "--json")
    assert (code, json.loads(printed)) == (
        0,
        {
            "next_hops": {name: [name] for name in others},
            "cost": float(len(others)),
            "messages": len(others),
            "delivers_here": True,
        },
    )
    assert "(delivers here)" in multicast("--server", "A", "--destinations", listed)[1]


@pytest.mark.parametrize(("options", "next_hops", "cost"), SPLITS.values(), ids=SPLITS)
def test_json_has_the_lists_by_next_hop_and_the_cost_of_the_whole_tree(
    multicast: Multicast, options: tuple[str, ...], next_hops: dict[str, list[str]], cost: float
) -> None:
    code, printed = multicast("--server", "A", "--destinations", "all", "--json", *options)
    assert code == 0
    assert json.loads(printed) == {"next_hops": next_hops, "cost": cost, "messages": 3, "delivers_here": False}


def test_a_table_for_people(multicast: Multicast) -> None:
    code, printed = multicast("--server", "B", "--destinations", "A,C", "--destinations", "D", "--algorithm", "mst")
    assert code == 0
    assert [line.split() for line in printed.splitlines()[1:3]] == [["A", "1", "A"], ["C", "2", "C", "D"]]
    assert "cost of the tree from B: 11 in the unit of distances.csv, 3 messages" in printed


def test_directions_that_differ_count_by_their_mean(multicast: Multicast) -> None:
    multicast.file.write_text("A,B\n0,2\n4,0\n")
    assert json.loads(multicast("--server", "A", "--destinations", "B", "--json")[1])["cost"] == 3.0


MISTAKES = {
    "an unknown server": (
        ("--server", "E", "--destinations", "B"),
        "--server: ",
        "no server 'E'; there are A, B, C, D",
    ),
    "an unknown destination": (("--server", "A", "--destinations", "B,x"), "--destinations: ", "no server 'x'"),
    "an unknown algorithm": (
        ("--server", "A", "--destinations", "B", "--algorithm", "prim"),
        "--algorithm prim: ",
        "must be one of mst, close, balanced",
    ),
}


@pytest.mark.parametrize(("options", "field", "remedy"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_name_the_option(multicast: Multicast, options: tuple[str, ...], field: str, remedy: str) -> None:
    code, printed = multicast(*options)
    assert code == 2
    assert printed.startswith(f"brokerlab: {field}")
    assert remedy in printed
    assert printed.count("\n") == 1


FILES = {
    "A,B\n0,\n1,0\n": "the distance from A to B is missing; give one for each pair",
    "A,B\n0,-1\n1,0\n": "line 2, column 'B': '-1' is not a number from 0",
    "ms,A,B\nA,0,1\n": "the row of 'B' is missing",
    "": "empty",
}


@pytest.mark.parametrize("text", FILES)
def test_a_bad_file_is_named(multicast: Multicast, text: str) -> None:
    multicast.file.write_text(text)
    code, printed = multicast("--server", "A", "--destinations", "B")
    assert code == 2
    assert "distances.csv" in printed
    assert FILES[text] in printed
    multicast.file.unlink()
    assert multicast("--server", "A", "--destinations", "B")[0] == 2
