"""The shipped claims are sound, and the error about a file of claims names file, claim and field."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from analysis.claims import ClaimKind, ClaimsError, load_claims, read_claims
from analysis.claims.model import leaves
from analysis.claims.standing import Fit, Standing
from scenario.loading import load
from studies.fitting import bursts, stated
from studies.reproduction.plan import SCENARIOS

PAPER = {"id": "tid", "system": "PADRES", "year": 2008, "file": "tid.txt"}
RECIPE = {"scenario": "tid/tid-5a.yaml", "measure": "relative delay"}
FIT = {"scenarios": ["tid/tid-5a.yaml"], "parameters": {"brokers.service_time": "1ms"}}
READ_IN_THE_TEXT = {
    "med-t2-balance",
    "med-t2-links",
    "med-t2-matching",
    "med-11-paths",
    "med-12-locations",
    *(f"semi-3-{name}" for name in ("size", "ideal", "limit", "tables")),
    *(f"semi-{name}" for name in ("4-messages", "7-slow", "7-nearest", "8-least")),
    *(f"semi-9-{name}" for name in ("delivery", "messages", "steady")),
    *(f"semi-11-{name}" for name in ("order", "messages", "dearest")),
    "tid-busiest",
    "tid-once",
    *(f"gry-{name}" for name in ("soft", "quorum", "4-sb", "4-slope", "5-ratios", "5-shape", "7-majority", "7-load")),
    "gry-dag",
    "gry-digest",
    *(f"tid-cs-{name}" for name in ("downstream", "topology", "place", "balance", "order", "swap", "longer")),
}
"""Claims that the texts of papers make, and the collection of facts does not hold."""
STATEMENTS = {"med-6", "med-8"}
"""Facts of the kind `value` that state no number, and are measured as statements."""
FACTS = Path(__file__).resolve().parents[4] / "shared" / "papers" / "claims.yaml"


def claim(**fields: Any) -> dict[str, Any]:
    return {"id": "x-1", "kind": "ratio", "what": "delay", "published": -0.2, "measured_by": RECIPE, **fields}


def write(
    tmp_path: Path, *claims: Mapping[str, Any], paper: Mapping[str, Any] = PAPER, name: str = "claims.yaml"
) -> Path:
    file = tmp_path / name
    file.write_text(yaml.safe_dump({"paper": dict(paper), "claims": [dict(entry) for entry in claims]}))
    return file


def test_the_shipped_claims_of_five_papers() -> None:
    claims = load_claims()
    assert len(claims.claims) == 101
    assert (
        {claim.paper for claim in claims.claims}
        == set(claims.papers)
        == {"tid", "octopia", "medym", "gryphon", "semiprob"}
    )
    by_id = {claim.id: claim for claim in claims.claims}
    assert by_id["tid-5a"].kind is ClaimKind.RATIO
    assert by_id["tid-5a"].published == -0.203
    assert by_id["tid-5e"].what.endswith("recovers first, settles lower")


def test_nested_numbers_are_read_in_order() -> None:
    published = {"CBF": [[1, 2], [3]], "MST": 4.5}
    assert list(leaves(published)) == [1.0, 2.0, 3.0, 4.5]


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"kind": "guess"}, "kind: invalid enum value 'guess'"),
        ({"what": 3}, "what: expected `str`, got `int`"),
        ({"what": " "}, "what: is empty"),
        ({"colour": "red"}, "colour: object contains unknown field `colour`"),
        ({"paper": "siena"}, "paper: belongs to the head of the file"),
        ({"id": "X 1"}, "id: use lower-case"),
        ({"published": ["much"]}, "published: 'much' is not a number"),
        ({"published": []}, "published: holds no number"),
        ({"published": None}, "published: missing; a claim of kind ratio needs it"),
        ({"kind": "order"}, "published: a claim of kind order has none"),
        ({"kind": "property", "published": True}, "published: expected"),
        ({"details": {"messages": "many"}}, "details: 'many' is not a number"),
        ({"measured_by": {"scenario": "a.yaml"}}, "measured_by: object missing required field `measure`"),
        ({"measured_by": {**RECIPE, "seeds": 0}}, "measured_by.seeds: must be at least 1"),
        ({"measured_by": RECIPE, "published": [0.1, 0.2]}, "measured_by.parts: 1 for 2 published numbers"),
        ({"measured_by": {**RECIPE, "parts": ["a", "b"]}}, "measured_by.parts: 2 for 1 published numbers"),
        ({"measured_by": {**RECIPE, "arguments": ["six"]}}, "measured_by.arguments[0]: expected `float`, got `str`"),
        ({"measured_by": RECIPE, "kind": "order", "published": None}, "measured_by.parts: missing"),
        ({"measured_by": RECIPE, "kind": "value", "published": None}, "published: missing; a claim of kind value"),
    ],
)
def test_mistakes_name_file_claim_and_field(tmp_path: Path, fields: dict[str, Any], problem: str) -> None:
    given = {key: value for key, value in claim(**fields).items() if value is not None}
    file = write(tmp_path, given)
    with pytest.raises(ClaimsError) as error:
        read_claims([file])
    assert str(error.value).startswith(f"{file}: claim {given['id']}: {problem}")


def test_all_mistakes_are_reported_at_once(tmp_path: Path) -> None:
    file = write(tmp_path, claim(), claim(), claim(id="x-2", kind="guess"))
    old = write(tmp_path, paper={"id": "old", "system": "SIENA"}, name="old.yaml")
    same = write(tmp_path, claim(), name="same.yaml")
    with pytest.raises(ClaimsError) as error:
        read_claims([file, old, same])
    lines = str(error.value).splitlines()
    assert len(lines) == 5
    assert lines[0] == f"{file}: claim x-1: id: another claim above has it"
    assert lines[1].startswith(f"{file}: claim x-2: kind: ")
    assert lines[2].startswith(f"{old}: paper: object missing required field `year`")
    assert lines[3] == f"{same}: paper: id: another file is of the paper 'tid', too"
    assert lines[4] == f"{same}: claim x-1: id: another claim above has it"


@pytest.mark.parametrize("text", ["", "[]", "paper: {}\nclaims: 3\n", "a: [", "claims: []\n"])
def test_a_file_of_something_else(tmp_path: Path, text: str) -> None:
    file = tmp_path / "claims.yaml"
    file.write_text(text)
    with pytest.raises(ClaimsError, match=r"claims\.yaml: "):
        read_claims([file])
    with pytest.raises(ClaimsError, match="No such file"):
        read_claims([tmp_path / "none.yaml"])


@pytest.mark.skipif(not FACTS.exists(), reason=f"needs the papers' facts in {FACTS}")
def test_no_fact_was_changed() -> None:
    facts = yaml.safe_load(FACTS.read_text())["claims"]
    stated = {fact["id"] for fact in facts}
    claims = load_claims().claims
    assert [
        (fact["id"], "order" if fact["id"] in STATEMENTS else fact["kind"], fact.get("published")) for fact in facts
    ] == [(claim.id, claim.kind.value, claim.published) for claim in claims if claim.id in stated]
    assert {claim.id for claim in claims} - stated == READ_IN_THE_TEXT


def test_no_claim_is_judged_by_a_parameter_that_was_fitted_to_it() -> None:
    """Every number that `studies.fitting` fits to is one of a calibrated part, with the parameters that it fits."""
    by_id = {claim.id: claim for claim in load_claims().claims}
    held = [named for number in (*stated.NUMBERS, *stated.STATEMENTS, *bursts.STATED) for named in number.claims]
    assert len(held) >= 4
    for named in held:
        id, _, beginning = named.partition(": ")
        parts = [part for part in by_id[id].parts if part.startswith(beginning)]
        assert parts
        assert {by_id[id].standing_of(part) for part in parts} == {Standing.CALIBRATED}, named


@pytest.mark.proof
def test_fitted_parameters_are_those_of_the_scenarios() -> None:
    shipped = cache(lambda file: load(SCENARIOS / file))
    for fit in _fits():
        for file in fit.scenarios:
            scenario = shipped(file)
            settings = {field: str(value) for field, value in fit.parameters.items() if not field.startswith("vary.")}
            assert not settings or load(SCENARIOS / file, settings) == scenario, f"{file}: {settings}"
            for field in fit.parameters.keys() - settings.keys():
                _, axis, variant, varied = field.split(".", 3)
                assert _at(scenario.resolved()["vary"][axis][variant], varied) == fit.parameters[field]


def test_scenarios_that_say_that_they_were_fitted_are_listed() -> None:
    """A scenario whose comments speak of a fit has its parameters in a file of claims, if a claim is measured in it."""
    listed = {file for fit in _fits() for file in fit.scenarios}
    measured = {file for claim in load_claims().measurable if claim.measured_by for file in claim.measured_by.scenarios}
    for file in sorted(measured - listed):
        assert "fitted" not in (SCENARIOS / file).read_text(), file
    assert {"tid/tid-5a.yaml", "gryphon/gry-4.yaml"} <= listed


def test_the_standings_of_the_shipped_claims() -> None:
    found: dict[Standing, set[str]] = {}
    for shipped in load_claims().claims:
        found.setdefault(shipped.standing, set()).add(shipped.id)
    assert found[Standing.CALIBRATED] == {"tid-5a-queue", "tid-match", "tid-busiest", "gry-4", "med-t2-balance"}
    assert found[Standing.BY_CONSTRUCTION] == {
        "tid-cs-traffic", "tid-cs-balance", "oct-idle-penalty", "gry-4-sb", "gry-4-slope", "gry-6", "semi-3-tables",
    }  # fmt: skip
    assert found[Standing.PART] == {"tid-cs-downstream", "tid-cs-topology", "gry-7-majority"}
    by_id = {shipped.id: shipped for shipped in load_claims().claims}
    assert by_id["gry-4"].fitted == {"brokers.service_time": "48us"}
    parts = {
        f"{id}: {part}": by_id[id].standing_of(part)
        for id in ("tid-5c", "med-t2", "gry-5", "gry-5-shape")
        for part in by_id[id].parts
    }
    assert parts["tid-5c: fixed overloads"] is parts["med-t2: Channelization, 1%, bits"] is Standing.CALIBRATED
    assert parts["gry-5: start, covered locally, 7 hops"] is Standing.CALIBRATED
    assert parts["gry-5: start, not covered, 7 hops"] is Standing.TESTED
    assert parts["gry-5-shape: delivery linear"] is Standing.BY_CONSTRUCTION
    assert parts["tid-5c: dynamic stays stable"] is parts["med-t2: CBF, 1%, bits"] is Standing.TESTED


@pytest.mark.parametrize(
    ("head", "fields", "problem"),
    [
        ({"fitted": [{**FIT, "to": ["x-2"]}]}, {}, "fitted: to: no claim or part 'x-2'"),
        ({"fitted": [{**FIT, "to": ["x-1: far"]}]}, {}, "fitted: to: no claim or part 'x-1: far'"),
        ({"headlines": [{"says": "fast", "claims": ["x-2"]}]}, {}, "headlines: claims: no claim 'x-2'"),
        ({}, {"restates": "x-1"}, "claim x-1: restates: no other claim 'x-1'"),
        ({}, {"fits": []}, "claim x-1: fits: belongs to the head of the file"),
        ({}, {"measured_by": {**RECIPE, "shares": ["near"]}}, "claim x-1: measured_by.shares: no part 'near'"),
        ({}, {"by_construction": {"reason": "x", "parts": ["near"]}}, "by_construction.parts: no part begins"),
        ({}, {"measured_by": None}, "claim x-1: measured_by: give it, or say in `unmeasurable`"),
        ({}, {"unmeasurable": "no log shows it"}, "claim x-1: measured_by: give it, or say in `unmeasurable`"),
    ],
)  # fmt: skip
def test_mistakes_about_what_counts(tmp_path: Path, head: dict[str, Any], fields: dict[str, Any], problem: str) -> None:
    file = tmp_path / "claims.yaml"
    file.write_text(yaml.safe_dump({"paper": PAPER, **head, "claims": [claim(**fields)]}))
    with pytest.raises(ClaimsError) as error:
        read_claims([file])
    assert problem in str(error.value)


def _fits() -> list[Fit]:
    by_text = {msgspec.json.encode(fit): fit for claim in load_claims().claims for fit in claim.fits}
    return list(by_text.values())


def _at(value: Any, path: str) -> Any:
    for name in path.split("."):
        value = value[name]
    return value
