"""One self-contained HTML page that tells what a run showed."""

from analysis.report.page import build_report

__all__ = ["build_report"]
