"""Changes of sums that are made together."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from broker_service.language import Operator, Predicate
from broker_service.language.content import encode_predicates
from broker_service.routing.medym.sums import EMPTY, SumChange, joint

CONTENTS = [encode_predicates((Predicate("class", Operator.STRING_EQUAL, name),)) for name in "abcd"]
SOME = st.lists(st.sampled_from(CONTENTS), max_size=3).map(tuple)


@given(SOME, st.lists(st.builds(SumChange, SOME, SOME), max_size=6))
def test_several_changes_have_the_effect_of_their_joint_one(held: tuple[bytes, ...], changes: list[SumChange]) -> None:
    before = after = EMPTY.after(SumChange(held))
    for change in changes:
        after = after.after(change)
    assert before.after(joint(changes)) is after
