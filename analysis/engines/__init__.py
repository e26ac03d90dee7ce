"""Who runs the analysis: plain Python, or Spark."""

from analysis.engines.interface import Engine
from analysis.engines.plain import PlainEngine
from analysis.engines.spark import RunningSpark, SparkEngine

__all__ = ["Engine", "PlainEngine", "RunningSpark", "SparkEngine"]
