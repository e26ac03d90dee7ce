"""Running a plan."""

from emulation.run.emulate import Outcome, emulate

__all__ = ["Outcome", "emulate"]
