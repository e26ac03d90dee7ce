"""Running a plan."""

from emulation.run.directory import Outcome
from emulation.run.emulate import emulate

__all__ = ["Outcome", "emulate"]
