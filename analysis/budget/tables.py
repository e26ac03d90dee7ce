"""The tables of the budget of delays, and its figures for the summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from msgspec import UNSET, UnsetType

from analysis.budget.tally import BesideSlowReaders, BudgetTally, Grouping, Sums
from analysis.budget.variant import BudgetedVariant
from analysis.tables.budget import Budget, BudgetAtNode, BudgetOverTime, DelayParts
from analysis.tables.histogram import lower_ms
from analysis.tables.summary import DelayBudget
from record.time_units import MILLISECOND


@dataclass(frozen=True, slots=True)
class BudgetTables:
    """Rows of the tables of delays' parts, made from the tally of a run."""

    tally: BudgetTally
    variants: Sequence[BudgetedVariant]
    names: Sequence[str]

    def by_delay(self) -> list[Budget]:
        """The table `budget`."""
        return [
            Budget(
                variant=self.names[sums.variant],
                lower_ms=lower_ms(sums.number),
                upper_ms=lower_ms(sums.number + 1),
                notifications=sums.notifications,
                parts=self._parts(sums),
            )
            for sums in self._of(Grouping.DELAY)
        ]

    def over_time(self) -> list[BudgetOverTime]:
        """The table `budget_over_time`."""
        return [
            BudgetOverTime(
                variant=self.names[sums.variant],
                second=sums.number,
                notifications=sums.notifications,
                parts=self._parts(sums),
            )
            for sums in self._of(Grouping.SECOND)
        ]

    def at_nodes(self) -> list[BudgetAtNode]:
        """The table `budget_at_nodes`."""
        notifications = {sums.variant: sums.notifications for sums in self._of(Grouping.ALL)}
        return [
            BudgetAtNode(
                variant=self.names[sums.variant],
                node=sums.node,
                contention_ms=self._contention(sums.variant, _mean(sums.contention, notifications[sums.variant])),
                unexplained_ms=_mean(sums.unexplained, notifications[sums.variant]),
                unexplained_absolute_ms=_mean(sums.unexplained_absolute, notifications[sums.variant]),
            )
            for sums in self.tally.nodes
        ]

    def busiest_host(self, variant: int) -> str | UnsetType:
        """The host, of several, whose nodes have the most contention; empty where none has any, and not set where one
        host had all of the run."""
        hosts = self.variants[variant].asked.hosts
        if not hosts:
            return UNSET
        found: Counter[str] = Counter()
        for sums in self.tally.nodes:
            if sums.variant == variant and sums.node in hosts:
                found[hosts[sums.node]] += sums.contention
        return next((host for host, contention in found.most_common(1) if contention), "")

    def of_all(self, variant: int) -> DelayBudget | None:
        """The figures of one variant; None where the log holds no way of its notifications."""
        sums = next((sums for sums in self._of(Grouping.ALL) if sums.variant == variant), None)
        if sums is None:
            return None
        nodes = [node for node in self.at_nodes() if node.variant == self.names[variant]]
        return DelayBudget(
            notifications=sums.notifications,
            parts=self._parts(sums),
            contention_at=_most(nodes, [node.contention_ms or 0.0 for node in nodes]),
            unexplained_at=_most(nodes, [node.unexplained_absolute_ms for node in nodes]),
            stolen_at_most_ms=self._stolen(sums),
            access_ms=_mean(sums.access, sums.notifications) if self.variants[variant].asked.sites else UNSET,
            cost_factor=self.variants[variant].rest.factor,
            cost_factors=self._cost_factors(variant),
        )

    def beside_slow(self, variant: int) -> list[BesideSlowReaders]:
        """The sums of a variant's notifications beside slow readers."""
        return [sums for sums in self.tally.beside_slow if sums.variant == variant]

    def _cost_factors(self, variant: int) -> dict[str, float] | UnsetType:
        factors = {host: rest.factor for host, rest in self.variants[variant].rest_on.items()}
        return {host: factor for host, factor in factors.items() if factor is not UNSET} or UNSET

    def _of(self, grouping: Grouping) -> Iterator[Sums]:
        return (sums for sums in self.tally.sums if sums.grouping is grouping)

    def _parts(self, sums: Sums) -> DelayParts:
        count = sums.notifications
        return DelayParts(
            links_ms=_mean(sums.links + sums.access, count),
            waiting_for_links_ms=_mean(sums.waiting_for_links, count),
            waiting_at_brokers_ms=_mean(sums.waiting_at_brokers, count),
            work_ms=_mean(sums.work, count),
            platform_ms=_mean(sums.platform, count) if self.variants[sums.variant].modelled else None,
            contention_ms=self._contention(sums.variant, _mean(sums.contention, count)),
            unexplained_ms=_mean(sums.unexplained, count),
            unexplained_absolute_ms=_mean(sums.unexplained_absolute, count),
        )

    def _stolen(self, sums: Sums) -> float | UnsetType:
        if self.variants[sums.variant].asked.stolen is None:
            return UNSET
        return _mean(self.tally.stolen.of(sums.variant).at_most, sums.notifications)

    def _contention(self, variant: int, mean: float) -> float | None:
        return mean if self.variants[variant].contention_known else None


def _mean(total: int, count: int) -> float:
    return total / count / MILLISECOND


def _most(nodes: Sequence[BudgetAtNode], numbers: Sequence[float]) -> str | None:
    """The node with the largest number; None where all are 0."""
    largest = max(numbers, default=0.0)
    return nodes[numbers.index(largest)].node if largest else None
