"""The judge's reading of patterns against the brokers' parser, which is made of a grammar."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.judging.language import OutsideLanguageError, Pattern, composed, parts_of
from broker_service.language import ContentError
from broker_service.language.composite import Composite
from broker_service.language.composite_subscription import CompositeSubscription, relaxed
from broker_service.language.composite_subscription import parts_of as broker_parts_of
from broker_service.language.notation import format_composite, parse_composite
from tests.analysis.judging.language.translation import conjunction_of, pattern_of
from tests.broker_service.language import strategies as language

WINDOW = 5
FRAGMENTS = [
    "[class,eq,'A']", "[x,=,$I$X]", "[x,<,$F$X]", "[s,isPresent,$S$y]", "[s,eq,'$S$y']", "{", "}", "(", ")", "&", "&&",
    "||", "|", ",", " ", "\u2003", "[", "]", "'", "''", '"', '""', "a", "[x,=,1]", "[x,=,+1]", "[x,<,-.5]", "[x,=,1.]",
    "[x,=,1e5]", "[x,=,1e400]", "[x,=,1_0]", "[x,=,0x1]", "[x,=,nan]", "[x,=,inf]", "[x,=,\u0663]", "[a,eq,:x]",
    "[a,eq,/x]", "[a,eq,_]", "[a,eq,$]", "[a,eq,$S$]", "[a,eq,$S$a$]", "[a,=,$I$9]", "[a,'eq',1]", "['a b',eq,'c''d']",
    '["a""b",eq,"c"]', "[\u00e9,eq,\u00e9]", "[,eq,a]", "['',eq,a]", "[a,eq,\ud800]", "[a\n,eq,\ta]", "[a,eq,b,c]",
]  # fmt: skip


def by_brokers(text: str, window: int = WINDOW) -> Pattern | None:
    try:
        return pattern_of(CompositeSubscription(parse_composite(text), window).pattern)
    except ContentError:
        return None


def by_judge(text: str, window: int = WINDOW) -> Pattern | None:
    try:
        return composed(text, window).pattern
    except OutsideLanguageError:
        return None


@settings(deadline=None, max_examples=300)
@given(language.composites | language.small_patterns)
def test_a_pattern_is_read_as_the_brokers_read_it(pattern: Composite) -> None:
    """Patterns that test a variable which nothing binds are refused by both."""
    text = format_composite(pattern)
    assert by_judge(text) == by_brokers(text)


@settings(deadline=None, max_examples=1000)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=7).map("".join))
def test_any_text_is_read_or_refused_as_by_the_brokers(text: str) -> None:
    assert by_judge(text) == by_brokers(text)


@settings(deadline=None, max_examples=200)
@given(language.small_patterns)
def test_a_part_is_matched_as_it_is_routed(pattern: Composite) -> None:
    routed = [relaxed(part).predicates for part in broker_parts_of(pattern)]
    read = [part.conjunction for part in parts_of(pattern_of(pattern))]
    assert [set(conjunction) for conjunction in read] == [set(conjunction_of(predicates)) for predicates in routed]


@pytest.mark.parametrize("levels", [30, 31, 32, 33])
def test_patterns_are_nested_32_levels_deep_at_most(levels: int) -> None:
    text = "[class,eq,'A']"
    for level in range(levels):
        text = f"{{{text}}}{'&' if level % 2 else '||'}[x,=,1]"
    assert by_judge(text) == by_brokers(text)
    assert (by_judge(text) is None) == (levels > 31)


def test_braces_do_not_exhaust_the_stack() -> None:
    text = "{" * 20_000 + "[class,eq,'A']" + "}" * 20_000
    assert by_judge(text) == by_brokers(text) is not None


@pytest.mark.parametrize("parts", [64, 65])
def test_a_pattern_has_64_parts_at_most(parts: int) -> None:
    text = "&".join(["{[class,eq,'A']}"] * parts)
    assert (by_judge(text) is None) == (by_brokers(text) is None) == (parts > 64)


@pytest.mark.parametrize("variables", [16, 17])
def test_a_pattern_has_16_variables_at_most(variables: int) -> None:
    text = ",".join(f"[a{number},=,$I$v{number}]" for number in range(variables))
    assert (by_judge(text) is None) == (by_brokers(text) is None) == (variables > 16)


@pytest.mark.parametrize("window", [-1, 0, 2**63 - 1, 2**63])
def test_a_window_has_64_bits(window: int) -> None:
    text = "[class,eq,'A']"
    assert (by_judge(text, window) is None) == (by_brokers(text, window) is None) == (not 0 <= window < 2**63)


def test_a_text_has_a_length() -> None:
    text = "[class,eq,'A']" + " " * 65_536
    assert by_judge(text) is by_brokers(text) is None
