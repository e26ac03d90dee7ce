"""Claims of the paper on semi-probabilistic routing."""

from analysis.claims.papers.semi_probabilistic.figures import QUANTITIES
from analysis.claims.papers.semi_probabilistic.measures import MEASURES

__all__ = ["MEASURES", "QUANTITIES"]
