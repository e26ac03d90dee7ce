"""`brokerlab topology`: what it writes, what it prints, and how it ends."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from xml.etree.ElementTree import fromstring

import pytest

import command_line as cli
from scenario.sections.topology import KINDS, PAPERS
from topology.files import load
from topology.underlays.mesh_files import Unit, load_mesh

ROOT = Path(__file__).resolve().parents[3]
CYCLIC_30 = str(ROOT / "scenarios" / "cyclic-30.yaml")


class Ended:
    """The exit code of a command, and its output."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


class Command:
    """`brokerlab topology`, run in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self._capsys, self._monkeypatch = capsys, monkeypatch

    def __call__(self, *arguments: str | Path) -> Ended:
        self._monkeypatch.setattr(sys, "argv", ["brokerlab", "topology", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        printed = self._capsys.readouterr()
        return Ended(ended.value.code if isinstance(ended.value.code, int) else 0, printed.out, printed.err)


@pytest.fixture
def topology(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.setenv("COLUMNS", "200")
    return Command(capsys, monkeypatch)


@pytest.mark.parametrize("command", ["make", "show", "draw", "check", "kinds"])
def test_every_command_explains_itself_with_examples(topology: Command, command: str) -> None:
    ended = topology(command, "--help")
    assert ended.code == 0
    assert "Examples" in ended.out
    assert f"brokerlab topology {command}" in ended.out


def test_a_kind_becomes_a_file_the_same_for_the_same_seed(topology: Command, tmp_path: Path) -> None:
    settings = ("brokers=12", "degree=3", "link.delay=2ms..10ms")
    for name, seed in (("one.json", "7"), ("two.json", "7"), ("three.json", "8")):
        assert topology("make", "cyclic", *settings, "--seed", seed, "--out", tmp_path / name).code == 0
    one, two, three = ((tmp_path / f"{name}.json").read_bytes() for name in ("one", "two", "three"))
    assert one == two != three
    overlay = load(tmp_path / "one.json")
    assert (overlay.name, len(overlay.brokers), len(overlay.links)) == ("cyclic", 12, 18)


def test_json_goes_to_the_terminal_without_a_file(topology: Command) -> None:
    ended = topology("make", "gryphon-failure", "link.delay=1ms", "--name", "g")
    assert ended.code == 0
    made = json.loads(ended.out)
    assert made["name"] == "g"
    assert [broker["id"] for broker in made["brokers"]] == ["pb", "ib1", "ib2", "ib3", "sb1", "sb2"]
    assert {link["forward"]["delay"] for link in made["links"]} == {0.001}


def test_from_a_mesh_to_a_matrix_to_a_tree(topology: Command, tmp_path: Path) -> None:
    matrix, tree = tmp_path / "m.csv", tmp_path / "tree.graphml"
    assert topology("make", "planetlab", "--seed", "3", "--out", matrix).code == 0
    assert topology("make", matrix, "overlay=mst", "--out", tree).code == 0
    mesh, overlay = load_mesh(matrix), load(tree)
    assert len(overlay.links) == 55
    assert all(link.forward.delay == mesh.delay(link.a, link.b) for link in overlay.links)


def test_a_scenario_is_a_source_and_its_fields_can_be_changed(topology: Command) -> None:
    ended = topology("show", CYCLIC_30, "brokers=12", "--json")
    assert (ended.code, json.loads(ended.out)["brokers"]) == (0, 12)


def test_variants_that_differ_must_be_chosen_between(topology: Command, tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(
        "name: s\ntopology: {kind: ring, brokers: 3}\nrouting: {protocol: tid}\nvary: {topology.brokers: [3, 5]}\n"
        "workload: {publications: {source: stocks, publishers: 1, rate: 60/min}}\ntimeline: {join: 1s, run: 1s}\n"
    )
    ended = topology("show", path)
    assert ended.code == 2
    assert "choose one with --variant: 3, 5" in ended.err
    assert json.loads(topology("show", path, "--variant", "5", "--json").out)["brokers"] == 5
    assert "there is no variant '4'" in topology("show", path, "--variant", "4").err


def test_show_says_what_cannot_be_lost(topology: Command) -> None:
    ended = topology("show", "explicit", "links=[[A,B],[B,C],[C,A],[C,D]]", "link.delay=5ms")
    assert ended.code == 0
    shown = {line[:19].strip(): line[19:].strip() for line in ended.out.splitlines()[1:]}
    assert shown["diameter"] == "2 links"
    assert shown["mean path"] == "1.333 links"
    assert shown["articulation points"] == "1: C"
    assert shown["bridges"] == "1: C - D"
    assert shown["link delay"] == "mean 5 ms, from 5 to 5 ms"


def test_show_tells_the_structure_of_a_scot(topology: Command) -> None:
    shown = dict(
        re.split(r"  +", line.strip(), maxsplit=1) for line in topology("show", "octopia-s-e").out.splitlines()[1:]
    )
    assert shown["clusters"] == "4 of 14 brokers, diameter 5"
    assert shown["aLinks"] == "52, within clusters"
    assert shown["iLinks"] == "84, between clusters"
    assert shown["inner brokers"] == "16, of regions 4: F, G, H, I"
    assert shown["edge brokers"].startswith("40, of regions 10: A, B")
    assert "clusters" not in topology("show", "ring", "brokers=4").out


def test_the_structure_of_a_scot_for_scripts(topology: Command) -> None:
    scot = json.loads(topology("show", "octopia-figure-7", "--json").out)["scot"]
    assert scot["clusters"] == [[f"{region}{cluster}" for region in "abc"] for cluster in range(4)]
    assert scot["regions"]["b"] == ["b0", "b1", "b2", "b3"]
    assert (len(scot["a_links"]), len(scot["i_links"]), scot["cluster_diameter"]) == (8, 18, 2)
    assert scot["inner_brokers"] == ["b0", "b1", "b2", "b3"]
    assert len(scot["edge_brokers"]) == 8
    assert "scot" not in json.loads(topology("show", "ring", "brokers=4", "--json").out)


def test_check_finds_what_is_wrong_with_a_scot(topology: Command, tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    assert topology("make", "octopia-figure-7", "--out", path).code == 0
    assert topology("check", path, "--strict").out == f"{path}: nothing odd\n"
    overlay = json.loads(path.read_text())
    overlay["links"] = [link for link in overlay["links"] if (link["a"], link["b"]) != ("b0", "b2")]
    path.write_text(json.dumps(overlay))
    ended = topology("check", path)
    assert ended.code == 0
    assert "not a SCOT: b0 and b2 of region b are not linked; a region is a complete graph" in ended.out
    assert topology("check", path, "--strict").code == 2
    assert "iLinks" not in topology("show", path).out


@pytest.mark.parametrize("suffix", [".svg", ".html"])
def test_draw(topology: Command, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"picture{suffix}"
    assert topology("draw", "octopia-figure-7", "--out", path).code == 0
    text = path.read_text(encoding="utf-8")
    assert "12 brokers, 26 links" in text
    if suffix == ".svg":
        assert fromstring(text).tag.endswith("svg")


def test_draw_names_its_file_after_the_overlay(
    topology: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert topology("draw", "ring", "brokers=4").code == 0
    assert (tmp_path / "ring.svg").exists()


def test_check_reports_what_a_matrix_lacks(topology: Command, tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    path.write_text("rtt_ms,a,b,c\na,,2,90\nb,2,,\nc,80,8,\n")
    ended = topology("check", path)
    assert ended.code == 2
    assert f"{path}: error: b to c: missing delay" in ended.out
    assert f"{path}: warning: a - c: asymmetric delay: 45 ms there, 40 ms back" in ended.out
    assert f"{path}: warning: c to a: triangle violation: 40 ms directly, 5 ms by way of b" in ended.out
    assert "errors: 1, warnings: 2" in ended.out


def test_warnings_are_bad_input_only_when_they_shall_be(topology: Command) -> None:
    source = ("planetlab", "overlay=full", "brokers=20", "--limit", "1")
    assert topology("check", *source).code == 0
    ended = topology("check", *source, "--strict")
    assert ended.code == 2
    assert "more of triangle violation" in ended.out
    assert topology("check", "ring", "brokers=5", "--strict").out == "ring: nothing odd\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"schema": 1, "name": "x", "brokers": [{"id": "A"}, {"id": "B"}], "links": []}', "disconnected"),
        (
            '{"schema": 1, "name": "x", "brokers": [{"id": "A"}, {"id": "B"}], '
            '"links": [{"a": "A", "b": "B", "forward": {"delay": -1}}]}',
            r"$.links[0].forward",
        ),
        ('{"schema": 1, "name": "x", "brokers": [{"id": "A"}], "links": [{"a": "A", "b": "Z"}]}', "link A - Z"),
        ("nonsense", "not an overlay file"),
    ],
)
def test_check_names_the_file_and_the_element(topology: Command, tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(content)
    ended = topology("check", path)
    assert ended.code == 2
    assert ended.err.startswith(f"brokerlab: {path}: ")
    assert message in ended.err
    assert ended.err.count(str(path)) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("make", "cyclc"), "did you mean 'cyclic'?"),
        (("make", "cyclic"), "cyclic: brokers: this field is required"),
        (("make", "cyclic", "brokr=3"), "did you mean 'brokers'?"),
        (("make", "cyclic", "brokers"), "brokers: write FIELD=VALUE"),
        (("make", "cyclic", "brokers=x"), "cyclic: brokers: must be a valid integer"),
        (("make", "cyclic", "brokers=[1"), "brokers=[1: "),
        (("make", "cyclic", "brokers=3", "degree=9"), "cyclic: 3 brokers cannot have a mean degree of 9"),
        (("make", "ring", "brokers=3", "--out", "ring.png"), "must end in .json, .graphml, .csv or .jsonl, not '.png'"),
        (("make", "ring", "brokers=3", "--out", "/nowhere/ring.json"), "/nowhere/ring.json: cannot be written"),
        (("make", "ring", "brokers=3", "--variant", "x"), "only a scenario has variants"),
        (("draw", "ring", "brokers=3", "--out", "ring.png"), "must end in .svg or .html"),
        (("draw", "ring", "brokers=3000"), "a drawing has at most 2000"),
        (("show", "none.yaml"), "none.yaml: cannot be read"),
        (("show", "none.json"), "none.json: cannot be read"),
        (("show", "none.csv"), "none.csv: cannot be read"),
        (("kinds", "rings"), "not a kind of topology; did you mean 'ring'?"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(topology: Command, arguments: tuple[str, ...], message: str) -> None:
    ended = topology(*arguments)
    assert ended.code == 2
    assert message in ended.err
    assert ended.err.count("\n") == 1


def test_kinds_lists_them_all_with_their_fields(topology: Command) -> None:
    listed = topology("kinds").out
    assert all(name in listed for name in (*KINDS, *PAPERS))
    assert "transit_domains" in topology("kinds", "transit-stub").out
    shown = topology("kinds", "octopia-s-e").out
    assert "14 times 4 is 56" in shown
    assert '"kind":"scot"' in shown


def test_a_unit_can_be_given_for_a_matrix_that_says_none(topology: Command, tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    path.write_text("0,4\n4,0\n")
    assert "the unit of its numbers is missing" in topology("check", path).err
    assert topology("make", path, f"unit={Unit.RTT_S}", "--out", tmp_path / "o.json").code == 0
    assert load(tmp_path / "o.json").links[0].forward.delay == 2


MOVING = """
name: moving
topology: {kind: ring, brokers: 4}
motion: {kind: script, changes: [{at: 1s, vanish: [B1, B2]}, {at: 2s, appear: [B1, B3]}]}
routing: {protocol: tid}
workload: {publications: {source: stocks, publishers: 1, rate: 60/min}}
timeline: {join: 1s, run: 3s}
"""


@pytest.fixture
def moving(tmp_path: Path) -> Path:
    path = tmp_path / "moving.yaml"
    path.write_text(MOVING)
    return path


def test_a_changing_overlay_is_shown_and_drawn_at_a_time(topology: Command, moving: Path, tmp_path: Path) -> None:
    for time, links in (("0", 4), ("2.5", 3), ("3", 4)):
        shown = topology("show", moving, "--at", time)
        assert re.search(rf"^links +{links} *$", shown.out, re.MULTILINE)
        assert re.search(r"^changes +1 link to appear, 1 to vanish in 9 s *$", shown.out, re.MULTILINE)
        assert topology("draw", moving, "--at", time, "--out", tmp_path / "m.svg").code == 0
        assert (tmp_path / "m.svg").read_text().count("<path") == links
        described = json.loads(topology("show", moving, "--at", time, "--json").out)
        assert (described["links"], described["changes"]) == (links, 2)
        assert described["connectivity"] == {"time": 1.0, "pairs": 1.0}


def test_changes_become_a_file(topology: Command, moving: Path, tmp_path: Path) -> None:
    assert topology("make", moving, "--out", tmp_path / "m.jsonl").code == 0
    _, *changes = map(json.loads, (tmp_path / "m.jsonl").read_text().splitlines())
    assert [change["at"] for change in changes] == [2.0, 3.0]
    assert topology("make", "ring", "brokers=3", "--out", tmp_path / "m.jsonl").code == 2


def test_a_time_is_for_overlays_that_change(topology: Command) -> None:
    refused = topology("show", "ring", "brokers=3", "--at", "5")
    assert refused.code == 2
    assert "--at 5: ring stays as it is" in refused.err
