"""The audit of a run: its own logs, held against what was asked for. See `analysis.auditing.audit`."""

from analysis.auditing.audit import COMPLETENESS, audit
from analysis.auditing.evidence import Evidence

__all__ = ["COMPLETENESS", "Evidence", "audit"]
