"""Claims of the OctopiA paper."""

from analysis.claims.papers.octopia.measures import MEASURES, TIMED

__all__ = ["MEASURES", "TIMED"]
