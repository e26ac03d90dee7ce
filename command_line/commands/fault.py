"""`brokerlab fault`: has a fault befall the brokers or links of a held run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from emulation.held.held_runs import held_run
from emulation.held.requests import FaultRequest, Fields
from record.errors import BadInputError
from record.exit_codes import ExitCode

_SHORT = {"cut": "link_down"}
"""Verbs as people say them."""


def inject_fault(
    name: str | None, verb: str, targets: Sequence[str], lasts: str | None, settings: Mapping[str, str]
) -> ExitCode:
    """Injects a fault, with the fields of a scenario's entry in `faults`. Raises `UserError`s."""
    verb = _SHORT.get(verb, verb)
    if verb in {"heal", "at", "after"}:
        raise BadInputError(f"{verb}: is no fault; `brokerlab heal` ends faults")
    fields: Fields = {verb: list(targets), **settings}
    if lasts is not None:
        fields["for"] = lasts
    print(held_run(name).done(FaultRequest(fields)).text)
    return ExitCode.CORRECT
