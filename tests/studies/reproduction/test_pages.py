"""The tables that recorded outcomes make, and the records that are of another program than today's."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import msgspec
import pytest

from analysis.claims import Claim, ClaimKind, Claims, ClaimVerdict, Measurement, Paper, Recipe, judge, load_claims
from analysis.claims.standing import Construction, Fit
from studies.reproduction import Experiment, Recorded, load_recorded, shipped_runs
from studies.reproduction.counts import table_of_verdicts
from studies.reproduction.pages import ROOT, outcome, with_parts, written
from studies.reproduction.recorded import RecordedClaim, RecordedPart
from studies.reproduction.stale import Stale, stale

RECIPE = Recipe(scenario="x.yaml", measure="x")
FIT = Fit(scenarios=("x.yaml",), parameters={"brokers.service_time": "1ms"}, to=("fitted",))


def claim(id: str, kind: ClaimKind = ClaimKind.PROPERTY, published: float | None = None) -> Claim:
    return Claim(id=id, paper="tid", kind=kind, what=id, published=published, measured_by=RECIPE)


def test_only_claims_that_could_be_refuted_are_counted_by_verdict() -> None:
    shown = (
        claim("holds"),
        claim("fails"),
        claim("later"),
        msgspec.structs.replace(claim("fitted"), fits=(FIT,)),
        msgspec.structs.replace(claim("built"), by_construction=Construction(reason="it counts itself")),
        msgspec.structs.replace(claim("again"), restates="holds"),
        msgspec.structs.replace(claim("inside"), measured_by=None, unmeasurable="no log shows it"),
    )
    reproduced = RecordedClaim(verdict=ClaimVerdict.REPRODUCED, seeds=2, smaller="60 of 1,000 servers")
    records = {found.id: reproduced for found in shown if found.id not in ("later", "inside")}
    records["fails"] = RecordedClaim(verdict=ClaimVerdict.DIFFERS, seeds=2)
    papers = {"tid": Paper(id="tid", system="PADRES", year=2008, file="x")}
    lines = table_of_verdicts(Claims(papers=papers, claims=shown), Recorded(machine="", claims=records))
    counted = "3 | 1 | 0 | 0 | 1 | 1 | 1 | 1 | 1 | 1 | 1 |"
    assert lines[2:] == [f"| PADRES (2008) | {counted}", f"| all | {counted}"]


def test_a_verdict_is_judged_again_from_the_recorded_numbers() -> None:
    value = claim("x", ClaimKind.VALUE, 4.0)
    found = RecordedClaim(verdict=ClaimVerdict.REPRODUCED, seeds=3, parts=(RecordedPart(mean=6.0, low=5.9, high=6.1),))
    assert found.judged(value).verdict is ClaimVerdict.WITHIN_FACTOR
    assert RecordedClaim(verdict=ClaimVerdict.DIFFERS, seeds=3).judged(value).verdict is ClaimVerdict.DIFFERS


def test_readme_and_pages_hold_what_is_recorded() -> None:
    for file, text in written(load_claims(), load_recorded()).items():
        assert file.read_text(encoding="utf-8") == text, f"{file}: run python -m studies.reproduction --table"
        assert "<!-- recorded: " in text, file


def test_a_part_is_put_between_the_comments_that_name_it() -> None:
    text = "a\n<!-- recorded: x -->\nold\n<!-- end -->\nb\n"
    assert with_parts(text, {"x": ["new"], "y": ["other"]}) == text.replace("old", "new")


_SENTENCE = re.compile(r"(?<=[.:])\s+(?=[A-Z*`-])")
_VERDICT = re.compile(r"\bis (reproduced|within a factor of two|not reproduced)\b")


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("reproducing-*.md")), ids=lambda page: page.stem)
def test_no_sentence_contradicts_a_recorded_verdict(page: Path) -> None:
    shipped, records = {found.id: found for found in load_claims().claims}, load_recorded().claims
    prose = " ".join(line for line in page.read_text().splitlines() if not line.startswith("|"))
    for sentence in _SENTENCE.split(prose):
        for id in re.findall(r"`([a-z0-9-]+)`", sentence):
            if id in records and (said := _VERDICT.search(sentence)):
                verdict = records[id].judged(shipped[id]).verdict
                wanted = verdict is not ClaimVerdict.REPRODUCED if "not" in said[1] else verdict == said[1]
                assert wanted, sentence


_MEAN = re.compile(r"<!-- mean of ([a-z0-9-]+)(?:: ([^>]+?))? -->([^<]+)<!-- -->")


def test_numbers_in_prose_are_those_that_are_recorded() -> None:
    """Marked numbers have the recorded mean, so that no sentence leaves out the seed that refutes it."""
    shipped, records, checked = {found.id: found for found in load_claims().claims}, load_recorded().claims, 0
    for page in (ROOT / "docs").glob("reproducing-*.md"):
        for id, part, text in _MEAN.findall(page.read_text(encoding="utf-8")):
            recorded = records[id].parts[shipped[id].parts.index(part)]
            numbers = [float(number) for number in re.findall(r"[-+]?\d+(?:\.\d+)?", text)]
            assert recorded is not None
            unit = 0.01 if "%" in text else 1.0
            assert unit * fmean(numbers) == pytest.approx(recorded.mean, rel=0.02), f"{page.name}: {text}"
            checked += 1
    assert checked >= 5


def test_the_outcome_of_a_headline() -> None:
    ratio = claim("x", ClaimKind.RATIO, -0.5)

    def came_out(*values: float, of: Claim = ratio) -> str:
        return outcome([judge(of, [Measurement(values=(value,)) for value in values])])

    assert came_out(-0.5, -0.501) == "holds"
    assert came_out(-0.2, -0.201) == "holds, with other numbers"
    assert came_out(0.5, 0.501) == "**the opposite**"
    assert came_out(0.5, -0.501) == "**not shown**"
    fitted = msgspec.structs.replace(ratio, fits=(msgspec.structs.replace(FIT, to=("x",)),))
    assert came_out(-0.5, -0.501, of=fitted) == "not tested: calibrated"
    other = judge(ratio, [Measurement(values=(-0.5,)), Measurement(values=(-0.501,))])
    too_wide = judge(ratio, [Measurement(values=(-0.5,)), Measurement(values=(0.5,))])
    assert outcome([other, too_wide]) == "in part"


def test_a_record_of_another_program_or_scenario_is_stale() -> None:
    now = Experiment("x.yaml", "x", (claim("a"), claim("b")), (1,), 1.0, "scenario", program="program")
    also = replace(now, scenario="y.yaml", claims=(claim("b"),), fingerprint="other")

    def recorded(scenario: str, program: str) -> RecordedClaim:
        return RecordedClaim(verdict=ClaimVerdict.DIFFERS, seeds=2, scenario=scenario, program=program)

    def found(a: RecordedClaim, b: RecordedClaim) -> list[Stale]:
        return list(stale({"a": a, "b": b}, [now, also]))

    fresh = recorded("scenario", "program"), recorded("scenario other", "program program")
    assert found(*fresh) == []
    assert found(recorded("before", "program"), fresh[1]) == [Stale("a", "its scenario or its measure has changed")]
    assert found(fresh[0], recorded("scenario other", "program several")) == [Stale("b", "its runs have changed")]
    assert found(recorded("", ""), fresh[1]) == [Stale("a", "recorded by a version that kept no digest")]


def test_a_record_of_other_code_is_fresh_where_the_short_runs_of_its_scenarios_are_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ran(**parts: str) -> str:
        """Lets these parts be what the scenario's short run gives, and digests them."""
        file = tmp_path / f"{len(list(tmp_path.iterdir()))}.json"
        file.write_bytes(msgspec.json.encode({"runs": {"scenarios/x.yaml": {"parts": parts}}}))
        monkeypatch.setattr(shipped_runs, "FILE", file)
        return shipped_runs.given(["x.yaml"])

    def is_stale() -> bool:
        return bool(list(stale({"a": record}, [now])))

    now = Experiment("x.yaml", "x", (claim("a"),), (1,), 1.0, "scenario", program="later")
    given = ran(logs="1", **{"results/delays.parquet": "1", "results/budget.parquet": "1", "printed.txt": "1"})
    record = RecordedClaim(verdict=ClaimVerdict.DIFFERS, seeds=2, scenario="scenario", program="earlier", given=given)
    assert not is_stale()
    ran(logs="1", **{"results/delays.parquet": "1", "results/budget.parquet": "2", "printed.txt": "2"})
    assert not is_stale()
    ran(logs="2", **{"results/delays.parquet": "1"})
    assert is_stale()
    ran(logs="1", **{"results/delays.parquet": "2"})
    assert is_stale()
    monkeypatch.setattr(shipped_runs, "FILE", tmp_path / "absent.json")
    assert is_stale()
    record = msgspec.structs.replace(record, given="")
    assert is_stale()
