"""Doubts: faults that may cost a client what it is owed, wherever the publication was."""

from __future__ import annotations

from enum import StrEnum


class Doubt(StrEnum):
    """The reasons why a fault may have cost a client a publication that it is owed, whatever way the publication took.

    Evidence of faults on the way is found afterwards (`analysis.judging.evidence`).
    """

    CUT_SHORT = "the run was interrupted while it was on its way"
    """It is not judged then."""
    OWN_BROKER = "its publisher's broker failed before it had accepted it"
    SESSION = "its publisher's session was down"
    SUBSCRIBER = "its subscriber's session or broker, or every way to it, was down"
