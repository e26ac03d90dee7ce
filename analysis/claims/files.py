"""Files of claims, read and checked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import yaml

from analysis.claims.model import Claim, ClaimKind, Claims, ClaimsError, Headline, Paper, Recipe, leaves
from analysis.claims.standing import Fit
from record.files import read_file

_Content = TypeVar("_Content")

_OF_THE_HEAD = {
    "paper": "all its claims are of one paper",
    "fits": "its key `fitted` holds the fits to all claims",
}
"""Fields of a claim that its entry does not have, with the reasons."""
_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def read_claims(files: Iterable[Path]) -> Claims:
    """Reads files of claims, one for each paper.

    Raises `ClaimsError` with one line for every mistake: `file: claim: field: problem`.
    """
    papers: dict[str, Paper] = {}
    claims: list[Claim] = []
    headlines: list[Headline] = []
    problems: list[str] = []
    for file in files:
        given = _load(file)
        try:
            head = msgspec.convert({key: given[key] for key in given if key != "claims"}, _Head)
        except msgspec.ValidationError as error:
            problems.append(f"{file}: {_field_first(error)}")
            continue
        paper = head.paper
        if paper.id in papers:
            problems.append(f"{file}: paper: id: another file is of the paper {paper.id!r}, too")
        papers[paper.id] = paper
        found = [
            problem
            for number, entry in enumerate(given["claims"], start=1)
            for problem in _read_claim(file, head, number, entry, claims)
        ]
        problems += found or [f"{file}: {problem}" for problem in _unknown_names(head, claims)]
        headlines += [msgspec.structs.replace(headline, paper=paper.id) for headline in head.headlines]
    if problems:
        raise ClaimsError("\n".join(problems))
    return Claims(papers=papers, claims=tuple(claims), headlines=tuple(headlines))


class _Head(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything in a file but its claims."""

    paper: Paper
    fitted: tuple[Fit, ...] = ()
    headlines: tuple[Headline, ...] = ()


def _unknown_names(head: _Head, claims: Iterable[Claim]) -> Iterator[str]:
    """Mistakes in the names of claims that the head of a file and its claims use."""
    of_paper = [claim for claim in claims if claim.paper == head.paper.id]
    known = {claim.id for claim in of_paper}
    for fit in head.fitted:
        for named in fit.to:
            one = Fit(scenarios=(), parameters={}, to=(named,))
            if not any(one.is_to(claim.id, part) for claim in of_paper for part in claim.parts):
                yield f"fitted: to: no claim or part {named!r}"
    for headline in head.headlines:
        yield from (f"headlines: claims: no claim {id!r}" for id in headline.claims if id not in known)
    for claim in of_paper:
        if claim.restates and (claim.restates not in known or claim.restates == claim.id):
            yield f"claim {claim.id}: restates: no other claim {claim.restates!r}"


def read_as(file: Path, content: type[_Content]) -> _Content:
    """The content of a YAML file, given its type. Raises `ClaimsError`."""
    try:
        return msgspec.convert(_parsed(file), content)
    except msgspec.ValidationError as error:
        raise ClaimsError(f"{file}: {_field_first(error)}") from error


def _parsed(file: Path) -> Any:
    try:
        return yaml.safe_load(read_file(file).decode())
    except OSError as error:
        raise ClaimsError(f"{file}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ClaimsError(f"{file}: not valid YAML: {error}") from error


def _load(file: Path) -> dict[str, Any]:
    data = _parsed(file)
    if (
        not isinstance(data, dict)
        or not isinstance(data.get("paper"), dict)
        or not isinstance(data.get("claims"), list)
    ):
        raise ClaimsError(f"{file}: needs `paper`, a mapping, and `claims`, a list")
    return data


def _read_claim(file: Path, head: _Head, number: int, entry: object, claims: list[Claim]) -> Iterator[str]:
    """Adds one entry of a file to the claims read so far, and yields its mistakes."""
    name = entry.get("id", f"number {number}") if isinstance(entry, dict) else f"number {number}"
    for field, reason in _OF_THE_HEAD.items():
        if isinstance(entry, dict) and field in entry:
            yield f"{file}: claim {name}: {field}: belongs to the head of the file, because {reason}"
            return
    try:
        claim = msgspec.convert(entry | {"paper": head.paper.id} if isinstance(entry, dict) else entry, Claim)
    except msgspec.ValidationError as error:
        yield f"{file}: claim {name}: {_field_first(error)}"
        return
    known = {other.id for other in claims}
    yield from (f"{file}: claim {name}: {problem}" for problem in _problems(claim, known))
    claims.append(msgspec.structs.replace(claim, fits=head.fitted))


def _problems(claim: Claim, known: set[str]) -> Iterator[str]:
    """Mistakes that types do not show, each as `field: problem`."""
    if not _ID.fullmatch(claim.id):
        yield "id: use lower-case letters and digits, joined by `-`"
    if claim.id in known:
        yield "id: another claim above has it"
    if not claim.what.strip():
        yield "what: is empty"
    for field in ("published", "details"):
        if (given := getattr(claim, field)) not in (None, {}):
            try:
                count = len(tuple(leaves(given)))
            except TypeError as error:
                yield f"{field}: {error}"
                return
            if field == "published" and count == 0:
                yield "published: holds no number"
    if claim.kind in (ClaimKind.ORDER, ClaimKind.PROPERTY) and claim.published is not None:
        yield f"published: a claim of kind {claim.kind} has none; further numbers belong into `details`"
    if claim.kind is ClaimKind.RATIO and claim.published is None:
        yield "published: missing; a claim of kind ratio needs it"
    yield from _standing_problems(claim)
    if claim.measured_by is not None:
        yield from (f"measured_by.shares: no part {share!r}" for share in _unknown_shares(claim, claim.measured_by))
        yield from _recipe_problems(claim, claim.measured_by)


def _standing_problems(claim: Claim) -> Iterator[str]:
    if (claim.measured_by is None) != bool(claim.unmeasurable):
        yield "measured_by: give it, or say in `unmeasurable` why no scenario can measure the claim"
    for beginning in () if claim.by_construction is None else claim.by_construction.parts:
        if not any(part.startswith(beginning) for part in claim.parts):
            yield f"by_construction.parts: no part begins with {beginning!r}"


def _unknown_shares(claim: Claim, recipe: Recipe) -> tuple[str, ...]:
    return () if recipe.shares == "all" else tuple(share for share in recipe.shares if share not in claim.parts)


def _recipe_problems(claim: Claim, recipe: Recipe) -> Iterator[str]:
    numbers, parts = claim.numbers, claim.parts
    if recipe.in_words and (claim.published is not None or claim.kind is not ClaimKind.VALUE):
        yield "measured_by.in_words: only for a claim of kind value that has no `published` numbers"
    elif claim.kind is ClaimKind.VALUE and None in numbers:
        yield "published: missing; a claim of kind value that is measured needs it, or measured_by.in_words"
    elif len(numbers) != len(parts):
        yield f"measured_by.parts: {len(parts)} for {len(numbers)} published numbers; give each its name"
    if claim.kind is ClaimKind.ORDER and not recipe.parts:
        yield "measured_by.parts: missing; describe each statement of the claim"
    if claim.kind is ClaimKind.PROPERTY and recipe.parts:
        yield "measured_by.parts: a property has none"
    if len(set(recipe.scenarios)) < len(recipe.scenarios):
        yield "measured_by.also: names a scenario twice"
    if recipe.seeds is not None and recipe.seeds < 1:
        yield "measured_by.seeds: must be at least 1"


def _field_first(error: msgspec.ValidationError) -> str:
    """Rewrites msgspec's "Expected `str`, got `int` - at `$.what`" as "what: expected `str`, got `int`"."""
    message, _, path = str(error).partition(" - at `$")
    field = path.strip("`").removeprefix(".")
    if not field and (named := re.search(r"field `([^`]+)`", message)):
        field = named[1]
    return f"{field or 'whole entry'}: {message[:1].lower()}{message[1:]}"
