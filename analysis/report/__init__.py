"""The report of an analysed run: one HTML page that opens without a network."""

from analysis.report.page import build_report

__all__ = ["build_report"]
