"""Identifiers, against a regular expression that states their form."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from broker_service.routing.common.identifiers import Home, split_id
from broker_service.routing.interface import MalformedMessageError

FORM = re.compile(r"(.+)\.(0|[1-9][0-9]{0,17})\.(0|[1-9][0-9]{0,17})", re.DOTALL)

NAMES = st.text(alphabet="Ba1.\n", max_size=4)
NUMBERS = st.one_of(
    st.integers(-1, 10**19).map(str), st.sampled_from(["", "01", "+1", "1_0", " 1", "\u0664", "9" * 5000])
)


@given(st.one_of(st.text(alphabet="B019.-+_ \u0664", max_size=9), st.tuples(NAMES, NUMBERS, NUMBERS).map(".".join)))
@example("B1.1.0")
@example("a.b.1." + "9" * 18)
def test_an_identifier_is_divided_or_malformed(id: str) -> None:
    form = FORM.fullmatch(id)
    if form is None:
        with pytest.raises(MalformedMessageError, match="is not an identifier"):
            split_id(id)
    else:
        broker, incarnation, number = form.groups()
        assert split_id(id) == (Home(broker, int(incarnation)), int(number))
