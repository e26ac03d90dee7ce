"""Measures on this host what a real broker's own work costs, for simulated ones."""

from studies.calibration.measure import calibrate

__all__ = ["calibrate"]
