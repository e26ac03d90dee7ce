"""The stage that reads link directions and brokers' work, by bucket of receiving brokers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from analysis.auditing.hops.asked import AskedVariant
from analysis.auditing.hops.links import link_reading
from analysis.auditing.hops.readings import HopTally
from analysis.auditing.hops.services import service_reading
from analysis.auditing.hops.table import HopTable, Numbers, paired
from analysis.auditing.hops.turns import TURNS, turns_of
from analysis.engines.arrays import keyed_lists


@dataclass(frozen=True, slots=True)
class HopStage:
    """Reads the link directions and brokers' work of one bucket."""

    variants: Sequence[AskedVariant]
    nodes: Sequence[str]
    """Brokers and drivers, by number."""

    def __call__(self, table: HopTable) -> tuple[HopTally, pa.Table]:
        """The readings, and rows of `TURNS` of the variants whose processors were sampled."""
        tally, turns = HopTally(), defaultdict[int, list[Numbers]](list)
        numbers = {node: number for number, node in enumerate(self.nodes)}
        for direction, sent, received in table.directions():
            asked = self.variants[direction.variant]
            link = asked.wires.get((direction.source, direction.target))
            if link is None:  # the overlay did not have it at the start
                continue
            hops = paired(sent, received)
            tally.links.add(link_reading(direction, len(sent), hops, asked))
            if asked.processors and asked.whole_log and (direction.source, direction.target) in asked.links:
                turns[direction.variant].append(turns_of(numbers[direction.target], hops, link))
        for variant, broker, of_broker in table.brokers():
            if self.variants[variant].whole_log:
                tally.services.add(service_reading(variant, broker, of_broker, self.variants[variant]))
        return tally, keyed_lists(TURNS, [*turns], turns=[np.concatenate(rows) for rows in turns.values()])
