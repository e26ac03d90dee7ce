"""`python -m studies.reproduction`: records costs and verdicts of a reproduction, and renews the README's table.

It reads what `brokerlab reproduce` left in its directory, of all claims and seeds that it finds there. Of a quick
reproduction it records the costs of smaller forms, and no verdict.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from analysis.claims import Claim, Claims, load_claims
from analysis.claims.quick_forms import load_quick_forms
from emulation.host import provenance
from emulation.runtimes.ladder import SIMULATED
from record.files import replace_file
from studies.reproduction.plan import Experiment, measurable_on, plan_experiments
from studies.reproduction.recorded import Recorded, load_recorded, save_recorded, table_of_verdicts
from studies.reproduction.results import ResultStore, judgements, open_store, stored_runs

README = Path(__file__).parents[2] / "README.md"
_TABLE = re.compile(r"^\| system \| claims \|.*?(?=\n\n)", re.DOTALL | re.MULTILINE)
"""The table of the README."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m studies.reproduction", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("runs/reproduce"), help="directory of the reproduction")
    parser.add_argument(
        "--table", action="store_true", help="renew the table from what is recorded, and record nothing"
    )
    asked = parser.parse_args()
    claims, recorded = load_claims(), load_recorded()
    if not asked.table:
        recorded = outcome(claims, recorded, open_store(asked.out))
        save_recorded(recorded)
    text = README.read_text(encoding="utf-8")
    replace_file(README, with_table(text, table_of_verdicts(claims, recorded)).encode())


def outcome(claims: Claims, recorded: Recorded, store: ResultStore) -> Recorded:
    """The record after a reproduction on the simulator, a whole one or a quick one."""
    measurable, _ = measurable_on(SIMULATED, claims.measurable)
    planned = (*plan_experiments(measurable, None), *plan_quick_forms(measurable))
    found = stored_runs(planned, SIMULATED, store)
    host = provenance.host()
    return recorded.renewed(found, judgements(found), f"{host.cpus} CPUs, {host.processor}")


def plan_quick_forms(claims: Sequence[Claim]) -> Iterator[Experiment]:
    """Experiments in the smaller forms of scenarios, of which the costs alone are recorded."""
    forms = load_quick_forms()
    for experiment in plan_experiments(claims, 1, quick_forms=forms):
        if experiment.quick_form:
            yield replace(experiment, claims=())


def with_table(text: str, table: Sequence[str]) -> str:
    """The README with this table in place of its own."""
    return _TABLE.sub(lambda _: "\n".join(table), text, count=1)


if __name__ == "__main__":
    main()
