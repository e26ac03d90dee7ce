"""`brokerlab protocol`: writes the files of a new protocol, and tries one on conformance cases."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from command_line.commands.answers import Answer
from record.exit_codes import ExitCode
from studies.conformance import CaseVerdict
from studies.conformance.display import explanation
from studies.protocol_kit.skeleton import write_skeleton
from studies.protocol_kit.trial import WITH_FAULTS, WITHOUT_FAULTS, trial

_MOST_EXPLAINED = 5
"""Failed cases that are explained: the first ones are the simplest."""


def make_protocol(name: str, language: str) -> None:
    """Writes the files of a new protocol. Raises `BadInputError`."""
    console = Console(highlight=False)
    skeleton = write_skeleton(name, Path(name), language)
    for path in skeleton.files:
        console.print(f"wrote {path}", markup=False, soft_wrap=True)
    console.print(f"next: cd {name}", markup=False)
    for command in skeleton.next_steps:
        console.print(f"then: {command}", markup=False, soft_wrap=True)


def check_protocol(protocol: str, answer: Answer, *, faults: bool) -> ExitCode:
    """Tries a protocol of one's own, a file's or a program, and answers with what failed. Raises `UserError`s."""
    console = answer.console
    named = str(Path(protocol).absolute()) if Path(protocol).exists() else protocol
    counts = dict.fromkeys(CaseVerdict, 0)
    results = []
    for result in trial(named, (*WITHOUT_FAULTS, *(WITH_FAULTS if faults else ()))):
        counts[result.verdict] += 1
        results.append(result)
        if result.defect:
            console.print(f"case {result.case}: {result.defect}", markup=False, soft_wrap=True)
            answer.document({"protocol": protocol, "results": results})
            return ExitCode.BROKER_DEFECT
        if result.verdict is CaseVerdict.FAILED and counts[CaseVerdict.FAILED] <= _MOST_EXPLAINED:
            console.print(f"case {result.case} failed:", markup=False, soft_wrap=True)
            for line in explanation(result):
                console.print(f"  {line}", markup=False, soft_wrap=True)
    words = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    console.print(f"{protocol}: {words}", markup=False, soft_wrap=True)
    answer.document({"protocol": protocol, "results": results})
    return ExitCode.VIOLATED if counts[CaseVerdict.FAILED] else ExitCode.CORRECT
