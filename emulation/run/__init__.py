"""Running a plan."""

from emulation.run.directory import RunOutcome
from emulation.run.emulate import emulate

__all__ = ["RunOutcome", "emulate"]
