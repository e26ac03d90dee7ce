"""The extent of proofs: `make test` tries some examples of a property, `make proof` sixteen times as many.

A property that asks for a number of its own has that number in both, unless it asks by `tried`."""

from __future__ import annotations

import os

IS_WHOLE = bool(os.environ.get("BROKERLAB_PROOF"))
"""True under `make proof`."""
_TIMES = 16
EXAMPLES = 25
"""Examples of a property that asks for no number of its own."""


def tried(usual: int) -> int:
    """The number of examples, seeds or files to try, of which `make test` tries `usual`."""
    return usual * _TIMES if IS_WHOLE else usual
