"""Matching: the index from the content of a publication to the subscriptions that match it."""

from broker_service.matching.index import MatchIndex
from broker_service.matching.naive import NaiveIndex
from broker_service.matching.tuning import Tuning

__all__ = ["MatchIndex", "NaiveIndex", "Tuning"]
