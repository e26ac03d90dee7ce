"""The files to which a command writes its verdicts beside what it prints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from studies.junit import JunitSuite, require_writable, write_junit
from studies.markdown_summary import write_markdown


@dataclass(frozen=True, slots=True)
class VerdictFiles:
    """The files that the user asked for; by default none."""

    junit: Path | None = None
    """File for the verdicts as JUnit XML."""
    markdown: Path | None = None
    """File for a summary in Markdown."""

    def require_writable(self) -> None:
        """Checks before a run that the files can be written. Raises `BadInputError` if one cannot."""
        require_writable(self.junit, "--junit")
        require_writable(self.markdown, "--summary-md")

    def write(self, suites: Sequence[JunitSuite]) -> None:
        """Writes the files. Raises `BadInputError` if that fails."""
        if self.junit is not None:
            write_junit(suites, self.junit)
        if self.markdown is not None:
            write_markdown(suites, self.markdown)


NO_FILES = VerdictFiles()
"""No file: verdicts are printed alone."""
