"""Claims of the OctopiA paper."""

from analysis.claims.papers.octopia.measures import MEASURES

__all__ = ["MEASURES"]
