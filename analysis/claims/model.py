"""Claims of the papers as data: what was measured, and how it is measured here. `analysis/claims.yaml` holds them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec
import yaml

from record.errors import BadInputError

CLAIMS_FILE = Path(__file__).parents[1] / "claims.yaml"

_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


class ClaimsError(BadInputError):
    """A file of claims that cannot be used; one line a mistake: `file: claim: field: what is wrong`."""


class Kind(StrEnum):
    """What a claim says, and so how it is judged (see `analysis.claims.verdict`)."""

    RATIO = "ratio"
    """A relative difference: measured / reference - 1."""
    VALUE = "value"
    """A number of its own."""
    ORDER = "order"
    """Only which curve lies lower, or who wins."""
    PROPERTY = "property"
    """Must hold always; one counter-example refutes it."""


class Paper(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where claims come from."""

    system: str
    year: int
    file: str
    """The paper's text, as this project's authors call it."""


class Recipe(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a claim is measured."""

    scenario: str
    """The scenario's file, relative to `scenarios/`."""
    also: tuple[str, ...] = ()
    """Further scenarios that are measured alike: every run of each counts as much as one of the first."""
    measure: str
    """The name of a measure (`analysis.claims.measures.MEASURES`)."""
    parts: tuple[str, ...] = ()
    """What each of the claim's numbers is called, in the order of `published`; of an `order`, each of its statements.
    A claim of one number has none."""
    arguments: tuple[float, ...] = ()
    """Numbers that the measure needs besides the run; see there."""
    seeds: int | None = None
    """Runs unless the user asks for another number; the command's own default otherwise."""
    explanation: str = ""
    """Why it comes out as it does where it is not reproduced, as far as that was found out."""

    @property
    def scenarios(self) -> tuple[str, ...]:
        """All of them."""
        return (self.scenario, *self.also)


class Claim(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One thing that a paper measured or proved."""

    id: str
    paper: str
    """A key of the file's `papers`."""
    kind: Kind
    what: str
    setting: str = ""
    """What must be the same on both sides of the comparison."""
    published: float | list[Any] | dict[str, Any] | None = None
    """The number, or numbers in lists and under names."""
    details: dict[str, Any] = {}
    """Further published numbers that belong to it, under names."""
    note: str = ""
    measured_by: Recipe | None = None
    """None until there is a scenario for it."""

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of what is judged one by one; a single nameless part for a claim of one number."""
        return (self.measured_by.parts if self.measured_by is not None else ()) or ("",)

    @property
    def numbers(self) -> tuple[float | None, ...]:
        """The published number of each part; None where only an order or a property was published."""
        if self.published is None:
            return (None,) * len(self.parts)
        return tuple(leaves(self.published))


class Claims(msgspec.Struct, frozen=True, kw_only=True):
    """A file of claims."""

    papers: dict[str, Paper]
    claims: tuple[Claim, ...]

    @property
    def measurable(self) -> tuple[Claim, ...]:
        """Those with a recipe, in the file's order."""
        return tuple(claim for claim in self.claims if claim.measured_by is not None)


def leaves(published: object) -> Iterator[float]:
    """The numbers of a published value, in order. Raises `TypeError` when something else is among them."""
    if isinstance(published, Mapping):
        for inner in published.values():
            yield from leaves(inner)
    elif isinstance(published, list):
        for inner in published:
            yield from leaves(inner)
    elif isinstance(published, int | float) and not isinstance(published, bool):
        yield float(published)
    else:
        raise TypeError(f"{published!r} is not a number")


def load_claims(file: Path = CLAIMS_FILE) -> Claims:
    """Reads and checks a file of claims. Raises `ClaimsError` telling file, claim and field of every mistake."""
    try:
        data = yaml.safe_load(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ClaimsError(f"{file}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ClaimsError(f"{file}: not valid YAML: {error}") from error
    if (
        not isinstance(data, dict)
        or not isinstance(data.get("papers"), dict)
        or not isinstance(data.get("claims"), list)
    ):
        raise ClaimsError(f"{file}: needs `papers`, a mapping, and `claims`, a list")
    problems: list[str] = []
    papers: dict[str, Paper] = {}
    for name, given in data["papers"].items():
        try:
            papers[str(name)] = msgspec.convert(given, Paper)
        except msgspec.ValidationError as error:
            problems.append(f"{file}: paper {name}: {_field_first(error)}")
    claims: list[Claim] = []
    for number, given in enumerate(data["claims"], start=1):
        name = given.get("id", f"number {number}") if isinstance(given, dict) else f"number {number}"
        try:
            claim = msgspec.convert(given, Claim)
        except msgspec.ValidationError as error:
            problems.append(f"{file}: claim {name}: {_field_first(error)}")
            continue
        known = {one.id for one in claims}
        problems += [f"{file}: claim {name}: {found}" for found in _problems(claim, papers, known)]
        claims.append(claim)
    if problems:
        raise ClaimsError("\n".join(problems))
    return Claims(papers=papers, claims=tuple(claims))


def _problems(claim: Claim, papers: Mapping[str, Paper], known: set[str]) -> Iterator[str]:
    """What the types cannot say; each as `field: problem`."""
    if not _ID.fullmatch(claim.id):
        yield "id: use lower-case letters and digits, joined by `-`"
    if claim.id in known:
        yield "id: another claim above has it"
    if claim.paper not in papers:
        yield f"paper: there is no paper {claim.paper!r}; there are {', '.join(papers)}"
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
    if claim.kind in (Kind.ORDER, Kind.PROPERTY) and claim.published is not None:
        yield f"published: a claim of kind {claim.kind} has none; further numbers belong into `details`"
    if claim.kind is Kind.RATIO and claim.published is None:
        yield "published: missing; a claim of kind ratio needs it"
    if claim.measured_by is not None:
        yield from _recipe_problems(claim, claim.measured_by)


def _recipe_problems(claim: Claim, recipe: Recipe) -> Iterator[str]:
    numbers, parts = claim.numbers, claim.parts
    if claim.kind is Kind.VALUE and claim.published is None:
        yield "published: missing; a claim of kind value that is measured needs it"
    elif len(numbers) != len(parts):
        yield f"measured_by.parts: {len(parts)} for {len(numbers)} published numbers; give each its name"
    if claim.kind is Kind.ORDER and not recipe.parts:
        yield "measured_by.parts: missing; say what each statement of the claim is"
    if claim.kind is Kind.PROPERTY and recipe.parts:
        yield "measured_by.parts: a property has none"
    if len(set(recipe.scenarios)) < len(recipe.scenarios):
        yield "measured_by.also: names a scenario twice"
    if recipe.seeds is not None and recipe.seeds < 1:
        yield "measured_by.seeds: must be at least 1"


def _field_first(error: msgspec.ValidationError) -> str:
    """msgspec's "Expected `str`, got `int` - at `$.what`" as "what: expected `str`, got `int`"."""
    message, _, path = str(error).partition(" - at `$")
    field = path.strip("`").removeprefix(".")
    if not field and (named := re.search(r"field `([^`]+)`", message)):
        field = named[1]
    return f"{field or 'whole entry'}: {message[:1].lower()}{message[1:]}"
