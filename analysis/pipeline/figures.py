"""The verdict on each figure of a variant's delays, from the budget and the replay without contention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec import UNSET, UnsetType

from analysis.auditing.finding import shown
from analysis.tables.budget import Budget
from analysis.tables.summary import Delay
from record.contract import UNKNOWN_WORK
from record.fidelity import FidelityVerdict, ProcessorUse
from record.figures import LIMITS, Contention, Figure, FigureVerdict, judge_figure, share_of, whose
from record.manifest import VariantRecord
from record.slower_run import estimated_dilation, others_are_in_the_way

_BEYOND: Mapping[Figure, float] = {Figure.MEAN: 1.0, Figure.P50: 0.5, Figure.P95: 0.05, Figure.P99: 0.01}
"""Share of the notifications that take longer than the figure; all of them make up the mean."""
_MISSING = 0.1
"""Largest share of these whose ways may be missing from the log: the others still tell what contention did."""

_NO_WAYS = "the log does not hold the ways of enough notifications"
_NO_WAITS = "nobody counted how long processes waited for a processor"
_NO_REPLAY = "the log could not be replayed without contention"


@dataclass(frozen=True, kw_only=True)
class JudgedDelays:
    """The delays of one variant, and what its figures are judged by."""

    variant: VariantRecord
    delay: Delay
    by_delay: Sequence[Budget]
    """The variant's budget by size of the delay; empty without one."""
    simulated: bool
    processors: ProcessorUse | None
    """The use of the host's processors; None where it was not measured."""
    unsampled: Sequence[str] = ()
    """The hosts, of several, on which waits for processors were not counted."""
    host: str | UnsetType = UNSET
    """The owner of contention, as in `FigureVerdict.host`."""

    def figures(self) -> list[FigureVerdict]:
        """A verdict on each figure; none without notifications."""
        values = [(figure, getattr(self.delay, f"{figure}_ms")) for figure in Figure]
        present = [(figure, value) for figure, value in values if value is not None]
        if self.simulated:
            return [self._of_simulated(figure, value) for figure, value in present]
        if self.variant.foreign is not UNSET:
            return [self._of_foreign(figure, value) for figure, value in present]
        found = [
            _Found(figure, value, self._contention(figure, value), self._unexplained(figure, value))
            for figure, value in present
        ]
        excess = [one.excess for one in found if one.is_of_host and one.contention.least > 0]
        remedy = self._remedy(max(excess)) if excess else ""
        return [self._of_real(one, remedy) for one in found]

    def _of_simulated(self, figure: Figure, value: float) -> FigureVerdict:
        return FigureVerdict(
            figure=figure, value_ms=value, contention_ms=0.0, unexplained_ms=self._unexplained(figure, value),
            verdict=FidelityVerdict.VALID, counts=self._counts(figure),
        )  # fmt: skip

    def _of_foreign(self, figure: Figure, value: float) -> FigureVerdict:
        """A figure of brokers whose own work nobody has calibrated, so that it cannot be told from the host's share."""
        return FigureVerdict(
            figure=figure, value_ms=value, contention_ms=None, unexplained_ms=None, verdict=None,
            counts=figure in (self.variant.expected_valid or ()), reason=UNKNOWN_WORK, host=self.host,
        )  # fmt: skip

    def _of_real(self, found: _Found, remedy: str) -> FigureVerdict:
        verdict = judge_figure(found.figure, found.value, found.contention, found.unexplained)
        return FigureVerdict(
            figure=found.figure,
            value_ms=found.value,
            contention_ms=None if found.contention.unknown else found.contention.least,
            unexplained_ms=found.unexplained,
            verdict=verdict,
            counts=self._counts(found.figure),
            reason="" if verdict is FidelityVerdict.VALID else self._reason(found),
            remedy=remedy if found.is_of_host else "",
            host=self.host,
        )

    def _counts(self, figure: Figure) -> bool:
        return figure is Figure.MEAN or figure in (self.variant.expected_valid or ())

    def _contention(self, figure: Figure, value: float) -> Contention:
        budget, replayed = self.delay.budget, self.delay.without_contention
        longer = _BEYOND[figure] * self.delay.notifications
        if budget is UNSET or self.delay.notifications - budget.notifications > _MISSING * longer:
            return Contention(0.0, value, _NO_WAYS)
        if replayed is not UNSET:
            without = getattr(replayed, f"{figure}_ms")
            if figure is Figure.MEAN and budget.parts.delay_ms > 0.0:
                # The replay knows only the notifications whose ways are in the log, whose mean may be another one.
                without *= value / budget.parts.delay_ms
            return Contention.known(value - without)
        parts = budget.parts
        why = self._no_waits if parts.contention_ms is None else _NO_REPLAY
        if figure is not Figure.MEAN:
            return Contention(0.0, value, why)
        least = parts.contention_ms or 0.0
        hidden = parts.unexplained_absolute_ms if parts.contention_ms is None else 0.0
        # Contention makes a backlog besides, which is a part of the waiting at brokers.
        return Contention(least, least + hidden + parts.waiting_at_brokers_ms, why)

    @property
    def _no_waits(self) -> str:
        return f"{_NO_WAITS}{f' on {shown(self.unsampled)}' if self.unsampled else ''}"

    def _unexplained(self, figure: Figure, value: float) -> float | None:
        if self.delay.budget is UNSET:
            return None
        if figure is Figure.MEAN:
            return self.delay.budget.parts.unexplained_absolute_ms
        near = [row for row in self.by_delay if row.lower_ms <= value] or list(self.by_delay[:1])
        return near[-1].parts.unexplained_absolute_ms if near else None

    def _reason(self, found: _Found) -> str:
        reasons = []
        if found.contention.unknown and found.is_of_host:
            at_least = f"at least {found.shown(found.contention.least)} are {whose(self.host)}"
            reasons.append(f"{at_least}, and no more is known, because {found.contention.unknown}")
        elif found.contention.unknown:
            reasons.append(f"it is not known what {self._hosts} did to it, because {found.contention.unknown}")
        elif found.is_of_host and found.contention.least < 0:
            longer = f"{-found.contention.least:,.1f} ms longer without contention"
            reasons.append(f"it would take {longer}, so the replay does not describe this run")
        elif found.is_of_host:
            reasons.append(f"{found.shown(found.contention.least)} are {whose(self.host)}{self._where(found.figure)}")
        if found.unexplained is not None and found.is_beyond(found.unexplained):
            at = None if self.delay.budget is UNSET else self.delay.budget.unexplained_at
            reasons.append(f"nothing explains {found.shown(found.unexplained)}{f', most of it at {at}' if at else ''}")
        return "; ".join(reasons)

    def _where(self, figure: Figure) -> str:
        """The node with most contention, and the doubt about routers that saw the load of hosts."""
        node = None if self.delay.budget is UNSET else self.delay.budget.contention_at
        at = "" if node is None or figure is not Figure.MEAN else f", most of it at {node}"
        load = "; routing decides by load, so without this it might have decided otherwise"
        return at + (load if self.variant.follows_load is True else "")

    def _remedy(self, excess: float) -> str:
        if self._is_of_no_processor:
            return "see what stops or slows the processes of the run: a time dilation gives them no more time"
        if self.processors is not None and others_are_in_the_way(self.processors):
            taken = f"{self.processors.others:.0%} of {'its' if self.host is UNSET else 'their'} processors"
            return f"end the other programs on {self._hosts}, which took {taken}"
        wanted = estimated_dilation(self.processors, excess, self.variant.time_dilation)
        return f"`--set time_dilation={wanted}`"

    @property
    def _hosts(self) -> str:
        return "this host" if self.host is UNSET else "the hosts"

    @property
    def _is_of_no_processor(self) -> bool:
        """True where nothing explains more of the delay than all that waiting for processors and its backlog can be."""
        if self.delay.budget is UNSET:
            return False
        parts = self.delay.budget.parts
        waited = parts.contention_ms
        return waited is not None and parts.unexplained_ms > waited + parts.waiting_at_brokers_ms


@dataclass(frozen=True, slots=True)
class _Found:
    """A figure of real brokers, with its contention and what nothing explains. Milliseconds."""

    figure: Figure
    value: float
    contention: Contention
    unexplained: float | None

    def is_beyond(self, part: float) -> bool:
        """True where a part of the figure is beyond the figure's limits."""
        return LIMITS[self.figure].verdict(share_of(abs(part), self.value)) is not FidelityVerdict.VALID

    @property
    def is_of_host(self) -> bool:
        """True where contention is known to be beyond the figure's limits."""
        return self.is_beyond(self.contention.least)

    @property
    def excess(self) -> float:
        """The factor by which contention is too long, given that the figure shrinks with it."""
        rest, limit = self.value - self.contention.least, LIMITS[self.figure].degraded
        return self.contention.least * (1 - limit) / (limit * rest) if rest > 0 else 1.0

    def shown(self, part: float) -> str:
        return f"{part:,.1f} of {self.value:,.1f} ms"
