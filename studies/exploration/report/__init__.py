"""The page of an exploration: what was explored, and a picture of each finding."""

from studies.exploration.report.page import build_page

__all__ = ["build_page"]
