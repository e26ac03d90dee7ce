"""The engines that run the analysis: plain Python, in memory for small runs, and Spark."""

from analysis.engines.frames import Engine
from analysis.engines.in_memory import MemoryEngine
from analysis.engines.plain import PlainEngine
from analysis.engines.spark import RunningSpark, SparkEngine

__all__ = ["Engine", "MemoryEngine", "PlainEngine", "RunningSpark", "SparkEngine"]
