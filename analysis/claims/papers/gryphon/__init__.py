"""Claims of the Gryphon paper."""

from analysis.claims.papers.gryphon.measures import MEASURES

__all__ = ["MEASURES"]
