"""Moves of sites at a rate, drawn for the whole run before it begins.

1. Each site has a stream of random numbers of its own, so that another site more, or another rate, leaves its course
   through the brokers as it is.
2. A site stays at a broker for the least time and an exponential one behind it (a Poisson process that rests while the
   site is on its way), and goes to one of the possible brokers, each with the same probability.
3. Times are whole milliseconds.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from scenario.faults.planning import ROAMING
from scenario.faults.roles import Demand
from scenario.faults.target_words import TargetError
from scenario.faults.targets import Targets
from scenario.faults.times import Moment, Phase
from scenario.model import Scenario
from scenario.sections.faults import OVERLAP, FaultItem
from scenario.sections.roaming import ANY_BROKER, NEIGHBOURS, Roaming
from scenario.sections.units import DURATION
from scenario.workload.streams import stream
from topology.link_properties import BrokerId
from topology.links import Range
from topology.model import Overlay
from topology.sites import Site

MOST_MOVES = 10_000
"""Moves that may be drawn for a run."""


def drawn_moves(
    scenario: Scenario, overlay: Overlay, sites: Sequence[Site], demand: Demand | None = None
) -> tuple[FaultItem, ...]:
    """The moves of a scenario's sites in the order of time; none where they do not roam.

    `demand` is what the role `busiest` goes by. Raises `TargetError` with the field of the section.
    """
    roaming = None if scenario.clients is None else scenario.clients.roaming
    if roaming is None:
        return ()
    targets = Targets(overlay, scenario.seed, demand, sites=sites)
    targets.begin(ROAMING)
    roams, goals = _roaming_sites(roaming, targets, sites), _goals(roaming, targets)
    if not any(goals(site.broker) for site in roams):
        raise TargetError(f"{roams[0].name} is at {roams[0].broker}, and no site has another broker to go to", "to")
    run = scenario.timeline.foreseen.run
    moves: list[FaultItem] = []
    for site in roams:
        for move in _course(roaming, site, goals, stream(scenario.seed, f"roaming:{site.name}"), run):
            if len(moves) == MOST_MOVES:
                raise TargetError(f"makes more than {MOST_MOVES:,} moves of {len(roams):,} sites in {run:g} s", "rate")
            moves.append(move)
    return tuple(sorted(moves, key=_time))


def _roaming_sites(roaming: Roaming, targets: Targets, sites: Sequence[Site]) -> list[Site]:
    if roaming.sites is None:
        found = [site for site in sites if site.clients]
    else:
        try:
            named = {host.site for host in targets.of_sites.whole(roaming.sites)}
        except TargetError as error:
            raise TargetError(str(error), "sites") from error
        found = [site for site in sites if site.name in named]
    if not found:
        raise TargetError("no site has clients that could roam", "sites")
    return found


def _goals(roaming: Roaming, targets: Targets) -> Callable[[BrokerId], Sequence[BrokerId]]:
    """The brokers to which a site may go, by the broker at which it is."""
    overlay = targets.overlay
    try:
        named = targets.brokers(text for text in roaming.to if text not in (ANY_BROKER, NEIGHBOURS))
    except TargetError as error:
        raise TargetError(f"{error}; or {ANY_BROKER}, or {NEIGHBOURS}", "to") from error
    everywhere = [broker.id for broker in overlay.brokers] if ANY_BROKER in roaming.to else []

    def goals(at: BrokerId) -> list[BrokerId]:
        linked = overlay.neighbours(at) if NEIGHBOURS in roaming.to else ()
        return [broker for broker in dict.fromkeys((*named, *everywhere, *linked)) if broker != at]

    return goals


def _course(
    roaming: Roaming,
    site: Site,
    goals: Callable[[BrokerId], Sequence[BrokerId]],
    rng: random.Random,
    run: float,
) -> Iterator[FaultItem]:
    """The moves of one site in a run phase of `run` seconds."""
    at, broker = 0.0, site.broker
    while possible := goals(broker):
        at = round(at + roaming.stays + rng.expovariate(1.0) / roaming.rate, 3)
        if at >= run:
            return
        broker = rng.choice(possible)
        lasts = round(_duration(roaming).draw(rng), 3)
        soft = roaming.handover is not None and roaming.handover.is_soft
        time = {"overlap": lasts} if soft else {"away": lasts} if lasts else {}
        move = {"at": Moment(at, Phase.RUN), "move": (site.name,), "to": broker, "handover": roaming.handover}
        yield FaultItem.model_validate(move | {name: DURATION.format(value) for name, value in time.items()})
        at += lasts


def _duration(roaming: Roaming) -> Range:
    """The times from the begin of a move to its end."""
    if roaming.handover is not None and roaming.handover.is_soft:
        return roaming.overlap or Range.fixed(OVERLAP)
    return roaming.away or Range.fixed(0.0)


def _time(move: FaultItem) -> float:
    assert move.at is not None
    return move.at.seconds
