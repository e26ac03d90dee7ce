"""The stage that reads link directions and brokers' work, by bucket of receiving brokers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.auditing.hops.asked import AskedVariant
from analysis.auditing.hops.links import link_reading
from analysis.auditing.hops.readings import HopTally
from analysis.auditing.hops.services import service_reading
from analysis.auditing.hops.table import HopTable


@dataclass(frozen=True, slots=True)
class HopStage:
    """Reads the link directions and brokers' work of one bucket."""

    variants: Sequence[AskedVariant]

    def __call__(self, table: HopTable) -> HopTally:
        tally = HopTally()
        for of in table.directions():
            if (reading := link_reading(*of, self.variants[of[0].variant])) is not None:
                tally.links.add(reading)
        for variant, broker, turns in table.brokers():
            if self.variants[variant].whole_log:
                tally.services.add(service_reading(variant, broker, turns, self.variants[variant]))
        return tally
