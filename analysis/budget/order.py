"""The order of numbers, most of which are different, as keys of messages are."""

from __future__ import annotations

import numpy as np

from analysis.auditing.hops.table import Numbers


def order_of(keys: Numbers) -> Numbers:
    """The places of keys in ascending order, equal ones in the order in which they are.

    To sort without regard to equal keys takes a quarter of the time, so that is tried first.
    """
    order = np.argsort(keys)
    ascending = keys[order]
    return np.argsort(keys, kind="stable") if (ascending[1:] == ascending[:-1]).any() else order
