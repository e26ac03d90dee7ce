"""Proves verdicts on real brokers: runs whose verdict is known beforehand, repeated, with a table of what came out.

Brokers are containers on this host, which has two processors and does nothing else. A repeat takes about 18 minutes,
most of it for the calm variants of six shipped scenarios. The exit code is 1 where a run came to another verdict.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.table import Table

from analysis.tables.summary import VariantSummary, read_summary
from record.figures import Figure
from tests.fidelity_proof.proofs import DILATED, PROOFS, Proof, no_wrong_tail

_EXAMPLES = """\
examples:
  python -m tests.fidelity_proof --repeats 5
  python -m tests.fidelity_proof --only smoke "calm quickstart"
  python -m tests.fidelity_proof --only 10/s 80/s 120/s --runtime process
"""
_BUSY = "while True: pass"


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    chosen = [proof for proof in PROOFS if not options.only or any(word in proof.name for word in options.only)]
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 140)
    table = Table(
        "proof", "repeat", "variant", "mean, ms", "99%, ms", "run", "99%", "wanted", "holds", title="verdicts"
    )
    dilated, missed = 0.0, 0
    if any(proof.holds is no_wrong_tail for proof in chosen):
        (reference,) = run_once(DILATED, options.runtime)
        dilated = reference.delay.p99_ms or 0.0
        table.add_row(*_measured(DILATED.name, "", reference), "", "")
    for repeat in range(options.repeats):
        for proof in chosen:
            for variant in run_once(proof, options.runtime):
                holds = proof.holds(variant, dilated)
                missed += not holds
                row = _measured(proof.name, f"{repeat + 1}", variant)
                table.add_row(*row, proof.wanted, "yes" if holds else "NO")
                console.print(*row, proof.wanted, "holds" if holds else "DOES NOT HOLD", sep="  ")
    console.print(table)
    return 1 if missed else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.fidelity_proof",
        description=__doc__,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--repeats", type=int, default=1, metavar="N", help="runs of each proof (default: 1)")
    parser.add_argument("--only", nargs="+", default=(), metavar="NAME", help="proofs whose name contains a NAME")
    parser.add_argument("--runtime", default="container", choices=("container", "process"))
    return parser.parse_args(arguments)


def run_once(proof: Proof, runtime: str) -> list[VariantSummary]:
    """Runs and analyses a proof's scenario. Raises `SystemExit` with the run's own output where it left no results."""
    with tempfile.TemporaryDirectory(prefix="fidelity-proof-") as name, busy(proof.busy_programs):
        Path(name).chmod(0o755)  # brokers without root enter it
        command = [sys.executable, "-m", "command_line", "emulate", proof.scenario, "--runtime", runtime]
        command += ["--out", name, "--no-report", "--no-spark", "--events", "none"]
        command += [f"--set={path}={value}" for path, value in proof.settings.items()]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        summaries = list(Path(name).glob("*/summary.json"))
        if not summaries:
            raise SystemExit(f"{proof.name} left no results (exit code {done.returncode}):\n{done.stdout}{done.stderr}")
        return list(read_summary(summaries[0].parent).variants)


@contextmanager
def busy(programs: int) -> Iterator[None]:
    """Lets so many programs want a processor all the time while it is entered."""
    running = [subprocess.Popen([sys.executable, "-c", _BUSY]) for _ in range(programs)]
    try:
        yield
    finally:
        for program in running:
            program.kill()
            program.wait()


def _measured(proof: str, repeat: str, variant: VariantSummary) -> tuple[str, ...]:
    mean, tail = ("none" if time is None else f"{time:.1f}" for time in (variant.delay.mean_ms, variant.delay.p99_ms))
    judged = variant.delay.of(Figure.P99)
    verdict = "not known" if judged is None or judged.verdict is None else judged.verdict.name
    return proof, repeat, variant.name, mean, tail, variant.fidelity, verdict


if __name__ == "__main__":
    sys.exit(main())
