"""Files of claims, read and checked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import yaml

from analysis.claims.model import Claim, ClaimKind, Claims, ClaimsError, Paper, Recipe, leaves
from record.files import read_file

_Content = TypeVar("_Content")

_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def read_claims(files: Iterable[Path]) -> Claims:
    """Reads files of claims, one for each paper.

    Raises `ClaimsError` with one line for every mistake: `file: claim: field: problem`.
    """
    papers: dict[str, Paper] = {}
    claims: list[Claim] = []
    problems: list[str] = []
    for file in files:
        given = _load(file)
        try:
            paper = msgspec.convert(given["paper"], Paper)
        except msgspec.ValidationError as error:
            problems.append(f"{file}: paper: {_field_first(error)}")
            continue
        if paper.id in papers:
            problems.append(f"{file}: paper: id: another file is of the paper {paper.id!r}, too")
        papers[paper.id] = paper
        for number, entry in enumerate(given["claims"], start=1):
            problems += _read_claim(file, paper, number, entry, claims)
    if problems:
        raise ClaimsError("\n".join(problems))
    return Claims(papers=papers, claims=tuple(claims))


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


def _read_claim(file: Path, paper: Paper, number: int, entry: object, claims: list[Claim]) -> Iterator[str]:
    """Adds one entry of a file to the claims read so far, and yields its mistakes."""
    name = entry.get("id", f"number {number}") if isinstance(entry, dict) else f"number {number}"
    if isinstance(entry, dict) and "paper" in entry:
        yield f"{file}: claim {name}: paper: belongs to the head of the file, because all its claims are of one paper"
        return
    try:
        claim = msgspec.convert(entry | {"paper": paper.id} if isinstance(entry, dict) else entry, Claim)
    except msgspec.ValidationError as error:
        yield f"{file}: claim {name}: {_field_first(error)}"
        return
    known = {other.id for other in claims}
    yield from (f"{file}: claim {name}: {problem}" for problem in _problems(claim, known))
    claims.append(claim)


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
    if claim.measured_by is not None:
        yield from _recipe_problems(claim, claim.measured_by)


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
