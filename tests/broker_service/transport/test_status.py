"""The status of a call, in trailers and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_service.transport.status import StatusCode, status_error, status_trailers


@given(
    code=st.sampled_from([code for code in StatusCode if code is not StatusCode.OK]),
    details=st.text(st.characters(exclude_categories=["Cs"])),
)
def test_a_status_survives_its_trailers(code: StatusCode, details: str) -> None:
    trailers = dict(status_trailers(code, details))
    assert all(value.isascii() and value.isprintable() for value in trailers.values())
    error = status_error(trailers)
    assert error is not None
    assert (error.code, error.details) == (code, details)


def test_ok_is_no_error() -> None:
    assert status_error(dict(status_trailers(StatusCode.OK, ""))) is None


@pytest.mark.parametrize("trailers", [{}, {"grpc-status": "x"}, {":status": "404"}])
def test_a_missing_status_is_an_error(trailers: dict[str, str]) -> None:
    error = status_error(trailers)
    assert error is not None
    assert error.code == StatusCode.UNKNOWN
