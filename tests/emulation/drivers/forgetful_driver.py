"""A driver with a defect: its client S2 forgets what it has subscribed to when it moves."""

from __future__ import annotations

import sys

from broker_service.client_library.client_requests import ClientRequests
from emulation.drivers.driver import main

_succeed = ClientRequests.succeed


def _succeed_forgetfully(requests: ClientRequests, former: ClientRequests) -> None:
    _succeed(requests, former)
    requests._declared.pop("S2", None)


if __name__ == "__main__":
    ClientRequests.succeed = _succeed_forgetfully  # type: ignore[method-assign]
    sys.exit(main())
