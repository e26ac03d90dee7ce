"""The analysis as a whole: a run directory in, tables and summary out."""

from analysis.pipeline.run import analyze

__all__ = ["analyze"]
