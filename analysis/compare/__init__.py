"""Two analysed runs side by side: the same scenario on two runtimes, or before and after a change."""

from analysis.compare.limits import DifferenceLimits, parse_limits, violations
from analysis.compare.model import RunComparison
from analysis.compare.run import compare_runs

__all__ = ["DifferenceLimits", "RunComparison", "compare_runs", "parse_limits", "violations"]
