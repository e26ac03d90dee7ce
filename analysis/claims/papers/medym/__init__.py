"""Claims of the MEDYM paper."""

from analysis.claims.papers.medym.measures import MEASURES

__all__ = ["MEASURES"]
