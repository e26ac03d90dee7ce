"""Selection of cases and protocols, and their order."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from broker_service.routing import PROTOCOLS as BUILT_IN
from broker_service.routing import found_protocol
from record.errors import BadInputError
from studies.conformance.model import AnyCase, Case, Relation
from studies.conformance.protocols import PROTOCOLS, ConformanceProtocol, rows_of
from studies.named_protocol import reference_named


@dataclass(frozen=True, slots=True)
class Trial:
    """A case under a protocol."""

    case: Case
    protocol: ConformanceProtocol


@dataclass(frozen=True, slots=True)
class Unknown:
    """A case under a protocol that only other versions have."""

    case: Case
    protocol: str


@dataclass(frozen=True, slots=True)
class Selection:
    """Cases that one call of the command runs on each runtime, and relations, which it runs once."""

    trials: tuple[Trial, ...]
    unknown: tuple[Unknown, ...]
    relations: tuple[Relation, ...]

    def first_from_outside(self) -> tuple[Trial, ...]:
        """The first trial of each protocol that the product does not have."""
        first: dict[str, Trial] = {}
        for trial in self.trials:
            if trial.protocol.name not in PROTOCOLS:
                first.setdefault(trial.protocol.name, trial)
        return tuple(first.values())


def select(cases: Sequence[AnyCase], ids: Sequence[str] = (), protocols: Sequence[str] = ()) -> Selection:
    """The cases of these ids, under these of the protocols they allow; all where none are given.

    Raises `BadInputError` for an id or a protocol that there is not, and when nothing is left to run.
    """
    outside = {name: _from_outside(name) for name in protocols if name not in PROTOCOLS}
    rows = {**PROTOCOLS, **{row.name: row for found in outside.values() for row in found}}
    _require("protocol", [name for name in protocols if not outside.get(name)], PROTOCOLS)
    protocols = [row for name in protocols for row in (map(_name, outside[name]) if name in outside else [name])]
    _require("case", ids, [case.id for case in cases])
    chosen = [case for case in cases if not ids or case.id in ids]
    trials: list[Trial] = []
    unknown: list[Unknown] = []
    for case in chosen:
        if isinstance(case, Relation):
            continue
        for name in rows if case.protocols is None else dict.fromkeys(case.protocols):
            if protocols and name not in protocols:
                continue
            if name in rows:
                trials.append(Trial(case, rows[name]))
            else:
                unknown.append(Unknown(case, name))
    relations = tuple(case for case in chosen if isinstance(case, Relation))
    if not (trials or relations):
        raise BadInputError(f"none of these cases allows {', '.join(protocols)}; leave --protocol out, or name another")
    return Selection(tuple(trials), tuple(unknown), relations)


def in_company(trials: Iterable[Trial]) -> list[Trial]:
    """Trials of the same overlay one after another, and of those the ones under the same protocol.

    Among these, cases with faults come last, because brokers that were hit are not used again.
    """
    trials = list(trials)
    overlays: dict[object, int] = {}
    for trial in trials:
        overlays.setdefault((trial.case.brokers, trial.case.links), len(overlays))
    return sorted(
        trials,
        key=lambda trial: (
            overlays[trial.case.brokers, trial.case.links],
            trial.protocol.name,
            trial.case.seed,
            trial.case.faulty,
        ),
    )


def _from_outside(name: str) -> list[ConformanceProtocol]:
    """The rows of a protocol from outside, by its path from the working directory or by another reference; none where
    there is no such protocol. Raises `BadInputError` for one that cannot be loaded."""
    if name in BUILT_IN:
        return []  # its rows have names of their own
    reference = reference_named(name)
    try:
        return list(rows_of(reference)) if found_protocol(reference) is not None else []
    except ValueError as error:
        raise BadInputError(f"--protocol {name}: {error}") from error


def _name(row: ConformanceProtocol) -> str:
    return row.name


def _require(what: str, wanted: Sequence[str], known: Iterable[str]) -> None:
    known = list(known)
    for name in wanted:
        if name not in known:
            nearest = difflib.get_close_matches(name, known, n=1)
            listed = ", ".join(known[:10]) + (", ..." if len(known) > 10 else "")
            remedy = f"did you mean {nearest[0]!r}?" if nearest else f"there are {listed}"
            raise BadInputError(f"there is no {what} {name!r}; {remedy}")
