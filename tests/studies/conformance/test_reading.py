"""Files of cases: what is understood, and how mistakes are named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scenario.yaml_files.source import LARGEST_FILE
from studies.conformance import Case, CaseError, Relation, parse_cases, read, read_all, write, write_all
from tests.studies.conformance.cases import ADVERTISE, DEAR, SUBSCRIBE, line, publish, step

DESIGN_EXAMPLE = """
{"id": "two-subscribers-one-match", "brokers": ["B1", "B2", "B3"], "links": [["B1", "B2"], ["B2", "B3"]],
 "protocols": ["tid-fixed", "tid-dynamic"],
 "steps": [
  {"op": "advertise",   "client": "P", "broker": "B1", "id": "a1", "text": "[class,eq,'STOCK'],[price,>,0]"},
  {"op": "subscribe",   "client": "S", "broker": "B3", "id": "s1", "text": "[class,eq,'STOCK'],[price,>,80]"},
  {"op": "publish",     "client": "P", "broker": "B1", "id": "p1", "text": "[class,'STOCK'],[price,100]"},
  {"op": "unsubscribe", "client": "S", "broker": "B3", "id": "s1"}],
 "expect": {"S": ["p1"]}}
"""


def scot(**regions: list[str]) -> dict[str, dict[str, str | int]]:
    """Attributes of the brokers of each region, in the order of their clusters."""
    return {
        broker: {"region": region, "cluster": cluster}
        for region, brokers in regions.items()
        for cluster, broker in enumerate(brokers)
    }


EVERYTHING = line(
    {**ADVERTISE, "wait": "2ms"},
    SUBSCRIBE,
    step("composite", "S", "B3", "c1", "{{[class,eq,'A']}&{[class,eq,'B']}}", within="5s"),
    publish("p1"),
    publish("many", count=20, crosses=[["B1", "B2"], ["B2", "B3"]]),
    publish("few", crosses=[]),
    {"op": "break_session", "broker": "B1"},
    {"op": "kill", "broker": "B2"},
    {"op": "restart", "broker": "B2"},
    {"op": "link_down", "link": ["B2", "B1"]},
    {"op": "link_up", "link": ["B1", "B2"]},
    step("unsubscribe", "S", "B3", "s1"),
    step("unadvertise", "P", "B1", "a1"),
    links=[["B1", "B2"], {"between": ["B2", "B3"], "delay": "3ms"}],
    description="all there is",
    seed=7,
    ordered=True,
    attributes=scot(a=["B1"], b=["B2"], c=["B3"]),
    expect={"S": ["p1", ["p1", "p1"]]},
)


def mistakes(data: Any) -> list[str]:
    with pytest.raises(CaseError) as caught:
        parse_cases(json.dumps(data, indent=1), "cases.json", json_only=True)
    return str(caught.value).splitlines()


def test_one_case_and_a_list_of_cases_and_relations_are_understood() -> None:
    (case,) = parse_cases(DESIGN_EXAMPLE, "x", json_only=True)
    assert isinstance(case, Case)
    assert case.protocols == ("tid-fixed", "tid-dynamic")
    relation = {"relation": "covers", "left": "[class,eq,'A']", "right": DEAR, "expect": False}
    both = parse_cases(json.dumps([EVERYTHING, relation]), "some/file.json", json_only=True)
    assert [type(case) for case in both] == [Case, Relation]
    assert both[1].id == "file-2"


def test_yaml_says_the_same_as_json() -> None:
    text = "- {id: line, brokers: [B1], steps: [{op: kill, broker: B1}], expect: {}}  # a comment"
    data = {"id": "line", "brokers": ["B1"], "steps": [{"op": "kill", "broker": "B1"}], "expect": {}}
    assert parse_cases(text, "x") == parse_cases(json.dumps(data), "x", json_only=True)


@pytest.mark.parametrize("data", [json.loads(DESIGN_EXAMPLE), EVERYTHING])
def test_a_case_that_is_written_reads_as_the_same_case(data: dict[str, Any]) -> None:
    (case,) = parse_cases(json.dumps(data), "x", json_only=True)
    assert parse_cases(write(case), "x", json_only=True) == [case]
    assert parse_cases(write_all([case]), "x") == [case]
    assert json.loads(write(case)) == data


SQUARE = {"brokers": ["B1", "B2", "B3", "B4"], "links": [["B1", "B2"], ["B2", "B3"], ["B3", "B4"], ["B4", "B1"]]}


def places(**fields: Any) -> list[tuple[object, object]]:
    (case,) = parse_cases(json.dumps(line(ADVERTISE, **fields)), "x", json_only=True)
    assert isinstance(case, Case)
    return [(broker.attributes.get("region"), broker.attributes.get("cluster")) for broker in case.overlay().brokers]


def test_brokers_know_their_places_in_a_scot() -> None:
    assert places() == [("B1", 0), ("B2", 0), ("B3", 0)], "a tree is one cluster"
    assert places(attributes=scot(a=["B1"], b=["B2"], c=["B3"])) == [("a", 0), ("b", 0), ("c", 0)]
    assert places(**SQUARE, attributes=scot(a=["B2", "B1"], b=["B3", "B4"])) == [("a", 1), ("a", 0), ("b", 0), ("b", 1)]
    ring_of_five = {
        "brokers": ["B1", "B2", "B3", "B4", "B5"],
        "links": [*SQUARE["links"][:3], ["B4", "B5"], ["B5", "B1"]],
    }
    assert places(**ring_of_five) == 5 * [(None, None)]


@pytest.mark.parametrize(
    ("attributes", "place", "mistake"),
    [
        (scot(a=["B1", "B2"]), "attributes", "broker B3 "),
        (
            scot(a=["B1", "B2", "B3", "B4", "B5"]),
            "attributes.B5",
            "there is no such broker; the case has B1, B2",
        ),
        (scot(a=["B1", "B3"], b=["B2", "B4"]), "attributes", "not a SCOT: "),
        ({"B1": {"level": [1]}}, "attributes.B1.level", ""),
    ],
)
def test_attributes_that_name_a_structure_need_its_links(attributes: dict[str, Any], place: str, mistake: str) -> None:
    found = mistakes(line(ADVERTISE, **SQUARE, attributes=attributes))
    assert any(f": {place}: " in problem and mistake in problem for problem in found)


def test_attributes_of_any_name_reach_the_brokers() -> None:
    (made,) = parse_cases(json.dumps(line(ADVERTISE, attributes={"B2": {"node": 3, "weight": 0.5}})), "x")
    assert isinstance(made, Case)
    assert dict(made.overlay().broker("B2").attributes) == {"node": 3, "weight": 0.5}
    assert dict(made.overlay().broker("B1").attributes) == {}


def test_the_waits_of_a_case_are_bounded() -> None:
    (found,) = mistakes(line(ADVERTISE | {"wait": "599s"}, SUBSCRIBE, publish("p1", wait="8000h")))
    assert ": steps[2].wait: " in found
    assert "600 s" in found
    assert parse_cases(json.dumps(line(ADVERTISE | {"wait": "599s"}, SUBSCRIBE | {"wait": "1s"})), "x")


def test_the_publications_of_a_case_are_bounded() -> None:
    many = [publish(f"p{number}", count=5_000) for number in range(3)]
    (found,) = mistakes(line(ADVERTISE, *many))
    assert ": steps[3].count: " in found
    assert "10,000 publications" in found
    assert parse_cases(json.dumps(line(ADVERTISE, *many[:2])), "x")


def test_a_step_of_many_publications_is_expected_by_its_name_or_one_by_one() -> None:
    steps = (ADVERTISE, SUBSCRIBE, publish("p", count=3), publish("q"))
    (case,) = parse_cases(json.dumps(line(*steps, expect={"S": ["p", "q"], "P": ["p.3", ["p.1", "q"]]})), "x")
    assert isinstance(case, Case)
    assert case.expected == {"S": ("p.1", "p.2", "p.3", "q"), "P": ("p.3", ("p.1", "q"))}
    (found,) = mistakes(line(*steps, expect={"S": ["p.4"]}))
    assert "expect.S[0]: no step publishes 'p.4'" in found
    (found,) = mistakes(line(*steps, expect={"S": [["p", "q"]]}))
    assert "expect.S[0]: no step publishes 'p'" in found


def test_relations_are_written_too() -> None:
    text = """[{"id": "r", "relation": "matches", "left": "[class,'A']", "right": "[class,eq,'A']", "expect": true}]"""
    cases = parse_cases(text, "x", json_only=True)
    assert json.loads(write_all(cases)) == json.loads(text)


@pytest.mark.parametrize(
    ("change", "place", "trouble"),
    [
        ({"brokers": ["B1", "B2", "B3", "B4"]}, "links", "disconnected"),
        ({"links": [["B1", "B2"], ["B2", "B9"]]}, "links", "no broker 'B9'"),
        ({"protocols": ["telepathy"]}, "protocols", "none of telepathy; it has cbf, "),
        ({"ordered": "yes"}, "ordered", "boolean"),
        ({"order": True}, "order", "did you mean 'ordered'?"),
        ({"expect": {"Z": []}}, "expect.Z", "no step is of a client 'Z'; the case has P, S"),
        ({"expect": {"S": ["p1", "p9"]}}, "expect.S[1]", "no step publishes 'p9'"),
        ({"expect": {"S": [["p9"]]}}, "expect.S[0]", "no step publishes 'p9'"),
        ({"brokers": [f"B{number}" for number in range(100)]}, "brokers", "takes 64 at most"),
        ({"steps": []}, "steps", "at least 1"),
        ({"options": {"threshold": 1}}, "options", "name it in `protocols`"),
        ({"protocols": ["semi-probabilistic"], "options": {"threshold": 2}}, "options", "threshold"),
        ({"survives": ["rain"]}, "survives[0]", "'kill'"),
    ],
)
def test_a_mistake_names_file_line_case_and_field(change: dict[str, Any], place: str, trouble: str) -> None:
    first = mistakes([line(ADVERTISE, SUBSCRIBE, publish("p1"), **change)])[0]
    file, number, case, field = first.split(":")[:4]
    assert (file, case, field) == ("cases.json", " case 'line'", f" {place}")
    assert int(number) > 1
    assert trouble in first


@pytest.mark.parametrize(
    ("wrong", "place", "trouble"),
    [
        ({**SUBSCRIBE, "op": "subscrib"}, "steps[1]", "did you mean 'subscribe'?"),
        ({**SUBSCRIBE, "text": "[class,eq,'STOCK'"}, "steps[1].text", "column 18: expected ']'"),
        ({**SUBSCRIBE, "text": "[class,'STOCK']"}, "steps[1].text", "expected an operator"),
        ({**publish("p1"), "text": DEAR}, "steps[1].text", "a publication is written like"),
        ({**SUBSCRIBE, "broker": "B9"}, "steps[1].broker", "no broker 'B9'; the case has B1, B2, B3"),
        ({**SUBSCRIBE, "wait": 2}, "steps[1].wait", "a unit is missing"),
        ({**SUBSCRIBE, "within": "2s"}, "steps[1].within", "belongs to the op composite, not to subscribe"),
        ({**SUBSCRIBE, "op": "composite", "text": "{[a,=,$I$X]}&{[b,>,$I$Y]}"}, "steps[1].text", "nothing binds $I$Y"),
        ({"op": "subscribe", "client": "S", "id": "s1", "text": DEAR}, "steps[1].broker", "required"),
        ({"op": "restart", "broker": "B1"}, "steps[1].broker", "B1 is running at this step; kill it first"),
        ({"op": "link_up", "link": ["B1", "B2"]}, "steps[1].link", "is up already"),
        ({"op": "link_down", "link": ["B1", "B3"]}, "steps[1].link", "there is no link B1 - B3"),
        ({"op": "link_down", "link": ["B1"]}, "steps[1].link[1]", "required"),
        ({"op": "link_new", "link": ["B1", "B2"]}, "steps[1].link", "linked already at this step"),
        ({"op": "link_new", "link": ["B1", "B9"]}, "steps[1].link", "no two such brokers"),
        ({"op": "link_gone", "link": ["B1", "B3"]}, "steps[1].link", "not linked at this step"),
        ({"op": "break_session", "broker": "B2"}, "steps[1].broker", "no step is of a client at B2"),
        ({"op": "break_session", "broker": "B9"}, "steps[1].broker", "no broker 'B9'; the case has B1, B2, B3"),
        ({**SUBSCRIBE, "count": 3}, "steps[1].count", "belongs to the op publish, not to subscribe"),
        ({**SUBSCRIBE, "crosses": []}, "steps[1].crosses", "belongs to the op publish, not to subscribe"),
        (publish("p1", count=1), "steps[1].count", "greater than or equal to 2"),
        (publish("p1", crosses=[["B1", "B9"]]), "steps[1].crosses", "no broker 'B9'; the case has B1, B2, B3"),
        (publish("p1", crosses=[], wait="1s"), "steps[1].crosses", "leave `wait` out, or `crosses`"),
        (7, "steps[1]", "a mapping of fields"),
    ],
)
def test_a_mistake_in_a_step_is_named_as_well(wrong: Any, place: str, trouble: str) -> None:
    (found,) = mistakes(line(ADVERTISE, wrong))
    assert f"case 'line': {place}: " in found
    assert trouble in found


@pytest.mark.parametrize(
    ("wrong", "place", "trouble"),
    [
        ({"relation": "overlaps"}, "relation", "'matches', 'covers' or 'intersects'"),
        ({"left": "[class,'A']"}, "left", "expected an operator"),
        ({"expect": 1}, "expect", "boolean"),
        ({"left_is": "advertisement"}, "left_is", "belongs to the relation intersects"),
        ({"relation": "matches"}, "right", "both a subscription"),
    ],
)
def test_a_mistake_in_a_relation_is_named_as_well(wrong: dict[str, Any], place: str, trouble: str) -> None:
    right = {"id": "r", "relation": "covers", "left": "[class,eq,'A']", "right": DEAR, "expect": False}
    (found,) = mistakes([right | wrong])
    assert f"case 'r': {place}: " in found
    assert trouble in found


def test_killed_twice_without_a_restart_is_a_mistake() -> None:
    kill = {"op": "kill", "broker": "B2"}
    (found,) = mistakes(line(kill, kill))
    assert "steps[1].broker: B2 is down at this step" in found
    (case,) = parse_cases(json.dumps(line(kill, {"op": "restart", "broker": "B2"}, kill)), "x", json_only=True)
    assert isinstance(case, Case)
    assert case.faulty


def test_an_id_is_one_cases_only(tmp_path: Path) -> None:
    (found,) = mistakes([line(ADVERTISE), line(SUBSCRIBE)])
    assert "case 'line': id: 'line' is the id of case 1 of this file too" in found
    one, other = tmp_path / "one.json", tmp_path / "other.json"
    for path in (one, other):
        path.write_text(json.dumps(line(ADVERTISE)))
    assert len(read_all([one, one])) == 1
    with pytest.raises(CaseError, match=r"other.json: case 'line': id: .*one.json has a case of that id"):
        read_all([one, other])


@pytest.mark.parametrize(
    ("text", "trouble"),
    [
        ("", "not valid JSON"),
        ('{"id": "a",\n "steps": ]', ":2: not valid JSON"),
        ('{"id": "a",\n "id": "b"}', ":2: field 'id' appears twice; the first is on line 1"),
        ("[]", "no case"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_json_is_refused(text: str, trouble: str) -> None:
    with pytest.raises(CaseError, match=trouble):
        parse_cases(text, "cases.json", json_only=True)


@pytest.mark.parametrize(("text", "trouble"), [("# nothing\n", "empty"), ("a: [", ":1: not valid YAML"), ("a", "case")])
def test_what_is_no_yaml_is_refused(text: str, trouble: str) -> None:
    with pytest.raises(CaseError, match=trouble):
        parse_cases(text, "cases.yaml")


def test_files_are_bounded_and_errors_in_words(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match="cannot be read: No such file"):
        read(tmp_path / "absent.json")
    huge = tmp_path / "huge.json"
    huge.write_bytes(b" " * (LARGEST_FILE + 1))
    with pytest.raises(CaseError, match="larger than the 4 MiB"):
        read(huge)
    latin = tmp_path / "latin.yaml"
    latin.write_bytes("a: 1\nb: é".encode("latin-1"))
    with pytest.raises(CaseError, match=r"latin.yaml:2: not UTF-8"):
        read(latin)


def test_json_that_yaml_cannot_read_still_gets_its_errors_named() -> None:
    with pytest.raises(CaseError, match=r"^cases\.json: case 'a': brokers: this field is required"):
        parse_cases('[{"id": "a", "description": "\\ud83d\\ude00", "steps": []}]', "cases.json", json_only=True)
