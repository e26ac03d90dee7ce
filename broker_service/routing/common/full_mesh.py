"""Full meshes, in which any two servers are linked, as protocols prepare for them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from broker_service.messages import BrokerId
from broker_service.routing.options import PlannedMesh, Preparation


def require_full_mesh(preparation: Preparation) -> None:
    """Raises `ValueError` unless any two brokers are linked."""
    count = len(preparation.brokers)
    if len(preparation.links) < count * (count - 1) // 2:
        raise ValueError("it needs a link between any two brokers; use `overlay: full` or `kind: full`")


def round_trips(preparation: Preparation, numbers: Mapping[BrokerId, int]) -> NDArray[np.float32]:
    """Round trips in seconds between the brokers of a full mesh, a row and a column for each by its number."""
    links = preparation.links
    if isinstance(links, PlannedMesh):
        order = np.argsort([numbers[broker] for broker in links.brokers])
        return links.round_trips[order[:, None], order].astype(np.float32)
    matrix = np.zeros((len(numbers), len(numbers)), np.float32)
    for a, b, delay, reverse_delay in links:
        row, column = numbers[a], numbers[b]
        matrix[row, column] = matrix[column, row] = delay + reverse_delay
    return matrix
