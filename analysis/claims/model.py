"""Claims of papers as data: published results, and the recipes that measure them here.

A file of claims belongs to one paper: `paper` names it, and `claims` lists the claims.

- `published` holds the numbers of a claim, `details` further ones that belong to it, and `setting` the conditions that
  must be equal on both sides of the comparison. The published absolute times come from hardware of 2004 to 2014, so
  only ratios, orders and shapes carry over.
- `measured_by` does not come from the paper: it names a scenario and a measure. `analysis.claims.verdict` has the
  rules by which a verdict follows from kind, published value and measured interval.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, Literal

import msgspec

from analysis.claims.standing import Construction, Fit, Standing
from record.errors import BadInputError


class ClaimsError(BadInputError):
    """A file of claims, or a run for a claim, that cannot be used."""


class ClaimKind(StrEnum):
    """Form of a claim, which decides how it is judged (see `analysis.claims.verdict`)."""

    RATIO = "ratio"
    """A relative difference: measured / reference - 1."""
    VALUE = "value"
    """A number of its own."""
    ORDER = "order"
    """Only the order of the curves, or the winner, was published."""
    PROPERTY = "property"
    """A statement that must always hold; one counter-example refutes it."""


class Paper(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Source of claims."""

    id: str
    system: str
    year: int
    file: str
    """The paper's text, as this project's authors call it."""


class FullSize(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One extent of the paper's experiment, beside the scenario's."""

    here: str
    """The scenario's field that holds the extent, as a dotted path, or `brokers` or `publications` for what the
    scenario generates. Of several values, as in `vary`, the greatest counts."""
    paper: float
    """The paper's extent in the same unit."""


class Recipe(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Measurement of a claim: scenarios to run, and the measure that reads their runs."""

    scenario: str
    """The scenario's file, relative to `scenarios/`."""
    also: tuple[str, ...] = ()
    """Further scenarios that are measured alike: every run of each counts as much as one of the first."""
    measure: str
    """The name of a measure (`analysis.claims.shipped.MEASURES`)."""
    parts: tuple[str, ...] = ()
    """Names of the claim's numbers, in the order of `published`, or of the statements of an `order`. Empty for a
    claim of one number."""
    in_words: tuple[float, ...] = ()
    """Numbers that the claim states in words, one for each part, where it has no `published` ones: 2 for "doubles"."""
    arguments: tuple[float, ...] = ()
    """Numbers that the measure needs besides the run; the measure's docstring describes them."""
    runtimes: tuple[str, ...] = ()
    """Runtimes that can measure the claim; all of them unless some are named."""
    seeds: int | None = None
    """Number of runs unless the user asks for another number; None leaves it to the command's default."""
    shares: tuple[str, ...] | Literal["all"] = ()
    """Names of the parts that are shares, between 0 and 1, so that their intervals end there."""
    full_size: dict[str, FullSize] = {}
    """The paper's extents by their names, such as `servers`, where the scenario is smaller."""

    @property
    def scenarios(self) -> tuple[str, ...]:
        """All scenarios in which the claim is measured, the first one first."""
        return (self.scenario, *self.also)

    def measurable_on(self, runtime: str) -> bool:
        """False when the measure needs what this runtime does not have, such as processes with memory."""
        return not self.runtimes or runtime in self.runtimes


class Claim(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One result that a paper measured or proved."""

    id: str
    paper: str
    """`Paper.id` of the file that holds the claim."""
    kind: ClaimKind
    what: str
    setting: str = ""
    """Conditions that must be equal on both sides of the comparison."""
    published: float | list[Any] | dict[str, Any] | None = None
    """The number, or numbers in lists and under names."""
    details: dict[str, Any] = {}
    """Further published numbers that belong to the claim, under names."""
    note: str = ""
    by_construction: Construction | None = None
    """Parts that the model cannot refute; None where there are none."""
    restates: str = ""
    """The id of the claim of which this one is a part; empty for a claim of its own."""
    unmeasurable: str = ""
    """Reason for which no scenario can measure the claim; empty where one could."""
    fits: tuple[Fit, ...] = ()
    """All fits to numbers of the paper, from the head of the file."""
    measured_by: Recipe | None = None
    """Scenario and measure; None while no scenario measures the claim."""

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of the parts that are judged one by one; a single nameless part for a claim of one number."""
        return (self.measured_by.parts if self.measured_by is not None else ()) or ("",)

    @property
    def standing(self) -> Standing:
        """The standing of the claim: a claim with a part that is tested counts as tested."""
        if self.restates:
            return Standing.PART
        found = [self.standing_of(part) for part in self.parts]
        return Standing.TESTED if Standing.TESTED in found else found[0]

    def standing_of(self, part: str) -> Standing:
        """The standing of one part by itself."""
        if any(fit.is_to(self.id, part) for fit in self.fits):
            return Standing.CALIBRATED
        if self.by_construction is not None and part.startswith(self.by_construction.parts):
            return Standing.BY_CONSTRUCTION
        return Standing.TESTED

    @property
    def fitted(self) -> dict[str, Any]:
        """Values of the fields of its scenarios that were fitted to its own numbers."""
        own = set() if self.measured_by is None else set(self.measured_by.scenarios)
        return {
            field: value
            for fit in self.fits
            if own.intersection(fit.scenarios) and any(fit.is_to(self.id, part) for part in self.parts)
            for field, value in fit.parameters.items()
        }

    def is_share(self, part: str) -> bool:
        """True where a part is a share, which lies between 0 and 1."""
        shares = () if self.measured_by is None else self.measured_by.shares
        return shares == "all" or part in shares

    @property
    def numbers(self) -> tuple[float | None, ...]:
        """The published number of each part; None where only an order or a property was published."""
        if self.published is None and self.measured_by is not None and self.measured_by.in_words:
            return self.measured_by.in_words
        if self.published is None:
            return (None,) * len(self.parts)
        return tuple(leaves(self.published))


class Headline(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One statement of a paper's abstract, and the claims that test it."""

    says: str
    claims: tuple[str, ...]
    """Ids of the claims, of which the first one is nearest to the statement."""
    paper: str = ""
    """`Paper.id` of the file that holds the statement."""


class Claims(msgspec.Struct, frozen=True, kw_only=True):
    """Claims of one or several papers."""

    papers: dict[str, Paper]
    """Papers by their ids."""
    claims: tuple[Claim, ...]
    headlines: tuple[Headline, ...] = ()
    """Statements of the papers' abstracts, in the order of the files."""

    @property
    def measurable(self) -> tuple[Claim, ...]:
        """Claims with a recipe, in the order of the files."""
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
