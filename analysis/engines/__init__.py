"""The engines that run the analysis: plain Python and Spark."""

from analysis.engines.frames import Engine
from analysis.engines.plain import PlainEngine
from analysis.engines.spark import RunningSpark, SparkEngine

__all__ = ["Engine", "PlainEngine", "RunningSpark", "SparkEngine"]
