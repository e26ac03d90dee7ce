"""The summary of a run that still goes on."""

from analysis.live.following import Follower
from analysis.live.summary import LIVE_SUMMARY, LiveSummary, LiveVariant

__all__ = ["LIVE_SUMMARY", "Follower", "LiveSummary", "LiveVariant"]
