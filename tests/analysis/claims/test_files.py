"""The shipped claims are sound, and the error about a file of claims names file, claim and field."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from analysis.claims import ClaimKind, ClaimsError, load_claims, read_claims
from analysis.claims.model import leaves

PAPER = {"id": "tid", "system": "PADRES", "year": 2008, "file": "tid.txt"}
RECIPE = {"scenario": "tid/tid-5a.yaml", "measure": "relative delay"}
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
    return {"id": "x-1", "kind": "ratio", "what": "delay", "published": -0.2, **fields}


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
    assert lines[2].startswith(f"{old}: paper: year: object missing required field `year`")
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
