"""Claims of the Gryphon paper."""

from analysis.claims.papers.gryphon.figures import CURVES
from analysis.claims.papers.gryphon.measures import MEASURES

__all__ = ["CURVES", "MEASURES"]
