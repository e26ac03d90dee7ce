"""The language of predicates and patterns, evaluated by the judge alone: nothing here is shared with brokers.

Written from its definition in docs/judge.md, with another structure than the brokers' own, so that a mistake of theirs
is not repeated: whole columns of publications are compared with each distinct predicate at once. Properties in
tests/analysis/judging/language hold the two against each other and against the written relations.
"""

from analysis.judging.language.columns import Columns
from analysis.judging.language.conditions import (
    Condition,
    Conjunction,
    Relation,
    advertised,
    condition_of,
    related,
    subscribed,
)
from analysis.judging.language.matching import AdvertisementMatcher, Conformance, Matcher, Matches
from analysis.judging.language.notation import composed
from analysis.judging.language.patterns import (
    AllOf,
    AnyOf,
    Composite,
    Part,
    Pattern,
    Variable,
    VariableRelation,
    bound_by,
    parts_of,
    without_variables,
)
from analysis.judging.language.values import OutsideLanguageError
from analysis.reading.publication_events import Value

__all__ = [
    "AdvertisementMatcher",
    "AllOf",
    "AnyOf",
    "Columns",
    "Composite",
    "Condition",
    "Conformance",
    "Conjunction",
    "Matcher",
    "Matches",
    "OutsideLanguageError",
    "Part",
    "Pattern",
    "Relation",
    "Value",
    "Variable",
    "VariableRelation",
    "advertised",
    "bound_by",
    "composed",
    "condition_of",
    "parts_of",
    "related",
    "subscribed",
    "without_variables",
]
