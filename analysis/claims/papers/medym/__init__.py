"""Claims of the MEDYM paper."""

from analysis.claims.papers.medym.figures import CURVES, QUANTITIES
from analysis.claims.papers.medym.measures import MEASURES

__all__ = ["CURVES", "MEASURES", "QUANTITIES"]
