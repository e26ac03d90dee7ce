"""The page of a reproduction: every claim with its verdict, beside the paper's figures drawn from the runs."""

from studies.reproduction.report.page import ReproductionData, build_report

__all__ = ["ReproductionData", "build_report"]
