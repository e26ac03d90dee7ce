"""Claims of the OctopiA paper."""

from analysis.claims.papers.octopia.figures import QUANTITIES
from analysis.claims.papers.octopia.measures import MEASURES, TIMED

__all__ = ["MEASURES", "QUANTITIES", "TIMED"]
