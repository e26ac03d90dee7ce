"""The report of an analysed run: one HTML page that opens without a network."""

from analysis.report.building import build_joint_report, build_report

__all__ = ["build_joint_report", "build_report"]
