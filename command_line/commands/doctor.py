"""`brokerlab doctor`: what this host can do, and what it lacks."""

from __future__ import annotations

from command_line.commands.answers import Answer
from emulation.upkeep.doctor import examine, report
from record.exit_codes import ExitCode


def examine_host(answer: Answer) -> ExitCode:
    """Examines this host. The exit code is 0 on any, because simulated runs at least work there."""
    examination = examine()
    report(examination, answer.console)
    answer.document(
        {
            "findings": [
                {
                    "subject": finding.subject, "status": finding.status.name.lower(), "found": finding.found,
                    "cost": finding.cost, "remedy": finding.remedy,
                }
                for finding in examination.findings
            ],
            "runtime": examination.runtime,
            "links": examination.links,
        }
    )  # fmt: skip
    return ExitCode.CORRECT
