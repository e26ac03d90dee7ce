"""The page of a campaign: its matrix, in the style of a run's report, readable without a network."""

from studies.campaign.report.page import build_report

__all__ = ["build_report"]
