"""The status with which a gRPC call ends, and its form in HTTP/2 trailers (gRPC over HTTP/2, "Responses")."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import IntEnum
from urllib.parse import unquote

_UNSAFE = re.compile(rb"[^\x20-\x24\x26-\x7e]")
"""Bytes of a status message that are sent as `%XX`."""


class StatusCode(IntEnum):
    """The codes that brokers send, by their names and numbers in gRPC."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14


class RpcError(Exception):
    """A call ended, or is to be ended, with another status than OK; the text is for the user of the other end."""

    def __init__(self, code: int, details: str) -> None:
        """`code` is a `StatusCode`, or any other number that the other end sent."""
        super().__init__(details)
        self.code = code
        self.details = details


def status_trailers(code: int, details: str) -> list[tuple[str, str]]:
    """The trailers that state a status."""
    trailers = [("grpc-status", str(int(code)))]
    if details:
        escaped = _UNSAFE.sub(lambda byte: b"%%%02X" % byte[0][0], details.encode())
        trailers.append(("grpc-message", escaped.decode("ascii")))
    return trailers


def status_error(trailers: Mapping[str, str]) -> RpcError | None:
    """The error that trailers state; None when they state OK."""
    code = trailers.get("grpc-status", "")
    if not code.isdecimal():
        http_status = trailers.get(":status", "unknown")
        return RpcError(StatusCode.UNKNOWN, f"the call ended without a status, HTTP status {http_status}")
    if int(code) == StatusCode.OK:
        return None
    return RpcError(int(code), unquote(trailers.get("grpc-message", "")))
