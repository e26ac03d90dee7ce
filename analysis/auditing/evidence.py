"""The facts that were read of one variant of a run, from which its audit is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from msgspec import UNSET, UnsetType

from analysis.auditing.hops.asked import Costs
from analysis.auditing.hops.readings import HopTally
from analysis.auditing.way_sums import WaysOnHost, WaySums
from analysis.judging.journeys.causes import Lead
from analysis.judging.journeys.issued import Issued
from analysis.reading.log_tally import LogTally
from analysis.run_files.processor_times import NodeTimes
from analysis.tables.budget import Budget, BudgetAtNode, BudgetOverTime
from analysis.tables.delays import DelayDistribution
from analysis.tables.summary import Delay
from analysis.tables.totals import Rows
from record.host_speed import HostSpeed
from record.manifest import ChargedCosts, VariantRecord
from record.service_time import ServiceTime
from topology.model import Overlay
from topology.sites import Site


@dataclass(frozen=True, kw_only=True)
class BudgetRows:
    """The rows of one variant in the tables of the budget of delays, and what was measured without it."""

    delay: Delay
    by_delay: Sequence[Budget]
    over_time: Sequence[BudgetOverTime]
    at_nodes: Sequence[BudgetAtNode]
    ways: WaySums
    on_hosts: Sequence[WaysOnHost] = ()
    backlog: int = 0
    """Nanoseconds of backlog that waits for a processor made on these ways."""
    distribution: Sequence[DelayDistribution] = ()
    """The classes of the delays as they were measured."""


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Facts about one variant, in the scenario's time."""

    number: int
    """Number of the variant in the manifest, by which tallies name it."""
    variant: VariantRecord
    scenario: Mapping[str, object]
    """The resolved scenario, before the variant's settings."""
    overlay: Overlay
    """The overlay that was asked for, as it was at the start."""
    sites: Sequence[Site] = ()
    """The sites of the variant's clients."""
    logs: LogTally
    """Contents of the logs of all variants."""
    causes: Rows[Lead] = field(default_factory=partial(Rows, Lead))
    issued: Rows[Issued] = field(default_factory=partial(Rows, Issued))
    """Operations that clients of all variants issued."""
    hops: HopTally = field(default_factory=HopTally)
    modelled: bool = False
    """True for simulated brokers, whose links and work are exact."""
    program: str | None = None
    """The digest of the program that brokers and drivers were to run; None where the manifest does not state it."""
    service_time: ServiceTime | None = None
    """The service time that was asked for; None where the manifest does not state it."""
    costs: Costs = field(default_factory=Costs)
    """The costs that a simulated run charges by its calibration."""
    budget: BudgetRows | None = None
    at_rest: ChargedCosts | UnsetType = UNSET
    """The calibration that explains the delays of a run on real brokers."""
    host_speeds: Mapping[str, HostSpeed] = field(default_factory=dict)
    """The speeds of hosts, by name, which is empty for one that ran all of the run."""
    processors: NodeTimes = field(default_factory=dict)
    """The times for which nodes waited for a processor; empty where they were not sampled."""
    hosts: Sequence[str] = ()
    """The hosts that shared the run; none where one host had all of it."""
    unsampled: Mapping[str, str] = field(default_factory=dict)
    """Hosts on which no node was sampled, with the reason that each states; empty for one that states none."""
    clock_error: int = 0
    """The largest possible error of times between hosts, in nanoseconds."""
