"""The parts of the README and of `docs/reproducing-*.md` that recorded outcomes make.

A page has a table of its paper's claims and the page on all papers the statements of their abstracts, each between two
comments that name it. `python -m studies.reproduction` renews them, and a test compares them with the records.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from analysis.claims import Claim, Claims, ClaimVerdict, JudgedClaim, judge
from analysis.claims.standing import Standing
from studies.reproduction.counts import table_of_verdicts
from studies.reproduction.recorded import Recorded
from studies.reproduction.sentences import rows

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
_PAGES = {
    "tid": "reproducing-tid.md",
    "octopia": "reproducing-octopia.md",
    "medym": "reproducing-medym.md",
    "gryphon": "reproducing-gryphon.md",
    "semiprob": "reproducing-semi-probabilistic.md",
}
"""Pages in `docs/` by the paper's id."""
_ALL_PAPERS = "reproducing-papers.md"


def written(claims: Claims, recorded: Recorded) -> Mapping[Path, str]:
    """All files with generated parts, as they should be."""
    parts = {"verdicts": table_of_verdicts(claims, recorded), "headlines": list(_headlines(claims, recorded))}
    for paper in claims.papers:
        parts[paper] = list(_table([claim for claim in claims.claims if claim.paper == paper], recorded))
    files = [README, *(ROOT / "docs" / page for page in (_ALL_PAPERS, *_PAGES.values()))]
    return {file: with_parts(file.read_text(encoding="utf-8"), parts) for file in files}


def with_parts(text: str, parts: Mapping[str, Sequence[str]]) -> str:
    """The text with these parts between the comments that name them."""
    for name, lines in parts.items():
        begin, end = f"<!-- recorded: {name} -->", "<!-- end -->"
        if begin in text:
            before, _, rest = text.partition(begin)
            _, _, after = rest.partition(end)
            text = "\n".join([before + begin, *lines, end + after])
    return text


def _table(claims: Sequence[Claim], recorded: Recorded) -> Iterator[str]:
    """A row for each claim, and one for each part of a claim that has several."""
    heads = ["claim", "statement", "published", "measured, 95% interval", "verdict", "seeds", "size"]
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * len(heads)}"
    for claim in claims:
        judgement = _judged(claim, recorded)
        extent = "; ".join(filter(None, (judgement.size, judgement.smaller)))
        for row in rows(judgement):
            id, what, published, measured, verdict, standing = row
            outcome = f"{verdict}; {standing}" if standing else verdict
            last = (f"`{claim.id}`", str(judgement.seeds or ""), extent) if id else ("", "", "")
            cells = [last[0], what.strip(), published, measured, outcome, *last[1:]]
            yield f"| {' | '.join(cells)} |"


def _judged(claim: Claim, recorded: Recorded) -> JudgedClaim:
    found = recorded.claims.get(claim.id)
    return judge(claim, []) if found is None else found.judged(claim)


def _headlines(claims: Claims, recorded: Recorded) -> Iterator[str]:
    """The statements of the papers' abstracts, with the verdicts on the claims that test them."""
    known = {claim.id: claim for claim in claims.claims}
    yield "| system | the abstract says | outcome | measured for it |"
    yield "|---|---|---|---|"
    for headline in claims.headlines:
        judged = [_judged(known[id], recorded) for id in headline.claims]
        system = f"[{claims.papers[headline.paper].system}]({_PAGES[headline.paper]})"
        numbers = "; ".join(map(_in_short, judged))
        yield f"| {system} | {headline.says} | {outcome(judged)} | {numbers} |"


def outcome(judged: Sequence[JudgedClaim]) -> str:
    """The outcome of a headline, from the claims that test it, of which the first one is nearest to it."""
    if (standing := judged[0].claim.standing) is not Standing.TESTED:
        return f"not tested: {standing}"
    counted = Counter(judgement.verdict for judgement in judged if judgement.claim.standing is Standing.TESTED)
    if any(opposite(judgement) for judgement in judged):
        return "**the opposite**"
    if set(counted) == {ClaimVerdict.REPRODUCED}:
        return "holds"
    if set(counted) == {ClaimVerdict.DIFFERS}:
        return "**not shown**"
    return "in part" if ClaimVerdict.DIFFERS in counted else "holds, with other numbers"


def opposite(judgement: JudgedClaim) -> bool:
    """True where a published difference came out with the opposite sign, chance ruled out."""
    return any(
        part.published is not None
        and part.measured is not None
        and (part.measured.above(0.0) if part.published < 0 else part.measured.below(0.0))
        for part in judgement.parts
    )


def _in_short(judgement: JudgedClaim) -> str:
    """The name of a claim, its first number beside the published one, and the verdict."""
    claim = judgement.claim
    standing = claim.standing
    word = judgement.verdict if standing is Standing.TESTED else standing
    found = list(rows(judgement))
    if len(found) > 1:
        return f"`{claim.id}` {word}"
    _, _, published, measured, *_ = found[0]
    return f"`{claim.id}` {measured} for {published}, {word}"
