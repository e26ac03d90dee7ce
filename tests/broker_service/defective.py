"""TID routing with a defect, `a, b = (1, 2, 3)`, in the method that an option names, for brokers of any runtime.

`python -m tests.broker_service.defective CONFIG.json` runs a broker process that knows this protocol.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import cast
from unittest import mock

from broker_service.grpc_shell.server import main
from broker_service.routing.declaration import Protocol
from broker_service.routing.interface import RouterContext
from broker_service.routing.registry import PROTOCOLS
from broker_service.routing.tid import TidOptions, TidRouter

DEFECTIVE = "defective"
"""The protocol's name."""


class DefectiveOptions(TidOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    fails_in: str = "receive"
    """The method that fails; with another name, none does."""


class DefectiveRouter(TidRouter):
    """TID routing, but for one method."""

    def __init__(self, context: RouterContext[DefectiveOptions]) -> None:
        super().__init__(cast(RouterContext[TidOptions], context))
        if hasattr(TidRouter, context.options.fails_in):
            setattr(self, context.options.fails_in, _fail)


def _fail(*_arguments: object) -> int:
    a, b = (1, 2, 3)  # type: ignore[misc]
    return a + b


@contextlib.contextmanager
def registered() -> Iterator[None]:
    """Makes the protocol known."""
    protocol = Protocol(DefectiveRouter, DefectiveOptions)
    with mock.patch.dict(cast(dict[str, Protocol], PROTOCOLS), {DEFECTIVE: protocol}):
        yield


if __name__ == "__main__":
    with registered():
        sys.exit(main())
