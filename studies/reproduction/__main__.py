"""`python -m studies.reproduction`: records the outcome of a reproduction, and renews the README and the pages.

It reads what `brokerlab reproduce` left in its directory, of all claims and seeds that it finds there. Of a quick
reproduction it records the costs of smaller forms, and no verdict. `--stale` names the recorded claims that were
measured by another program or in another scenario than today's.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from analysis.claims import Claim, Claims, load_claims
from analysis.claims.quick_forms import load_quick_forms
from emulation.host import provenance
from emulation.runtimes.ladder import SIMULATED
from record.files import replace_file
from studies.reproduction.pages import written
from studies.reproduction.plan import Experiment, first_seeds, measurable_on, plan_experiments
from studies.reproduction.recorded import Recorded, load_recorded, save_recorded
from studies.reproduction.results import ResultStore, judgements, open_store, stored_runs
from studies.reproduction.stale import stale

_REAL = "container"
"""Runtime of the recorded runs that the simulator cannot stand in for."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m studies.reproduction", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("runs/reproduce"), help="directory of the reproduction")
    parser.add_argument(
        "--table", action="store_true", help="renew README and pages from what is recorded, and record nothing"
    )
    parser.add_argument("--stale", action="store_true", help="name the recorded claims that are of another program")
    asked = parser.parse_args()
    claims, recorded = load_claims(), load_recorded()
    if asked.stale:
        print("\n".join(stale_lines(claims, recorded)))
        return
    if not asked.table:
        recorded = outcome(claims, recorded, open_store(asked.out))
        save_recorded(recorded)
    for file, text in written(claims, recorded).items():
        replace_file(file, text.encode())


def stale_lines(claims: Claims, recorded: Recorded) -> Iterator[str]:
    """Lines for people: the number of stale records, then each reason with the claims that are stale for it."""
    by_reason: dict[str, list[str]] = {}
    for found in stale(recorded.claims, plan_experiments(claims.measurable, None)):
        by_reason.setdefault(found.reason, []).append(found.claim)
    yield f"{sum(map(len, by_reason.values()))} of {len(recorded.claims)} recorded claims are stale"
    for reason, ids in by_reason.items():
        yield f"{reason}: {', '.join(ids)}"


def outcome(claims: Claims, recorded: Recorded, store: ResultStore) -> Recorded:
    """The record after a reproduction, a whole one or a quick one.

    Claims that the simulator cannot measure, such as those about brokers' processes, are of brokers in containers.
    """
    simulated, real = measurable_on(SIMULATED, claims.measurable)
    planned = (*plan_experiments(simulated, None), *plan_quick_forms(simulated))
    found = [
        *stored_runs(planned, SIMULATED, store),
        *stored_runs(plan_experiments(real, None), _REAL, store),
    ]
    host = provenance.host()
    return recorded.renewed(found, judgements(found), f"{host.cpus} CPUs, {host.processor}")


def plan_quick_forms(claims: Sequence[Claim]) -> Iterator[Experiment]:
    """Experiments in the smaller forms of scenarios, of which the costs alone are recorded."""
    forms = load_quick_forms()
    for experiment in plan_experiments(claims, first_seeds(1), quick_forms=forms):
        if experiment.quick_form:
            yield replace(experiment, claims=())


if __name__ == "__main__":
    main()
