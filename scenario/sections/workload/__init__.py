"""The `workload` section: clients and their operations, of one of several kinds."""

from scenario.sections.workload.file import FileColumns, FileWorkload
from scenario.sections.workload.integers import IntegerPublications, IntegerSubscriptions, IntegersWorkload
from scenario.sections.workload.kind import WorkloadKind
from scenario.sections.workload.kinds import KINDS, WorkloadSection
from scenario.sections.workload.operations import OperationItem
from scenario.sections.workload.patterns import PatternPublications, PatternSubscriptions, PatternsWorkload
from scenario.sections.workload.quotes import (
    Burst,
    Followers,
    IndividualPublisher,
    QuoteFile,
    QuotePublications,
    QuoteSubscriptions,
    QuotesWorkload,
)
from scenario.sections.workload.topics import Churn, SubscriberGroup, TopicPublications, TopicsWorkload

__all__ = [
    "KINDS",
    "Burst",
    "Churn",
    "FileColumns",
    "FileWorkload",
    "Followers",
    "IndividualPublisher",
    "IntegerPublications",
    "IntegerSubscriptions",
    "IntegersWorkload",
    "OperationItem",
    "PatternPublications",
    "PatternSubscriptions",
    "PatternsWorkload",
    "QuoteFile",
    "QuotePublications",
    "QuoteSubscriptions",
    "QuotesWorkload",
    "SubscriberGroup",
    "TopicPublications",
    "TopicsWorkload",
    "WorkloadKind",
    "WorkloadSection",
]
