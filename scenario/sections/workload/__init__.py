"""The `workload` section: clients and their operations, of one of several kinds."""

from scenario.sections.workload.course import Churn, Day, PaceBurst, PaceStep, Profile, Ramp, SubscriberChurn
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
from scenario.sections.workload.topics import SubscriberGroup, TopicPublications, TopicsWorkload

__all__ = [
    "KINDS",
    "Burst",
    "Churn",
    "Day",
    "FileColumns",
    "FileWorkload",
    "Followers",
    "IndividualPublisher",
    "IntegerPublications",
    "IntegerSubscriptions",
    "IntegersWorkload",
    "OperationItem",
    "PaceBurst",
    "PaceStep",
    "PatternPublications",
    "PatternSubscriptions",
    "PatternsWorkload",
    "Profile",
    "QuoteFile",
    "QuotePublications",
    "QuoteSubscriptions",
    "QuotesWorkload",
    "Ramp",
    "SubscriberChurn",
    "SubscriberGroup",
    "TopicPublications",
    "TopicsWorkload",
    "WorkloadKind",
    "WorkloadSection",
]
