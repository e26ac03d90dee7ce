"""The proofs of the contract of routing protocols, one for each router."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial

from studies.conformance.protocols import ConformanceProtocol
from tests.contracts import gossip_properties
from tests.contracts import mutants_of_gossip as gossip
from tests.contracts import mutants_of_mesh_unicast as mesh
from tests.contracts import mutants_of_reliable_flooding as flooding
from tests.contracts.contract import Catch, Contract
from tests.contracts.properties import no_broker_receives_in_vain, on_full_meshes, searched
from tests.contracts.protocols import GOSSIP, MESH_UNICAST, RELIABLE_FLOODING
from tests.contracts.running import PUBLICATIONS, scenario
from tests.properties import checks

_PUBLISHERS = ("P@B1", "Q@B4")
_SUBSCRIBERS = ("S1@B2", "S2@B3", "S3@B4", "T@B4")
_LINK = "link: {delay: 5ms}"


def _flooded(
    kind: str,
    *faults: str,
    delay: str = "5ms",
    kept: int = 1_000,
    limits: str = "",
    large: Collection[int] = (),
) -> str:
    routing = f"{{protocol: {RELIABLE_FLOODING}, kept: {kept}}}"
    topology = f"{{kind: {kind}, brokers: 4, link: {{delay: {delay}}}}}"
    return scenario(routing, topology, _PUBLISHERS, _SUBSCRIBERS, faults, limits=limits, large=large)


def _crash(broker: str, at: str = "3s") -> str:
    return f"{{at: run+{at}, kill: {broker}, for: 2s}}"


_DISTURBED = "{at: run+1s, disturb: [B1-B2, B2-B3, B3-B4], lose: 10%, repeat: 10%, hold: 20% by 200ms, for: 10s}"
_RESETS = [f"{{at: run+{second}s, reset: [B1-B2, B2-B3, B3-B4]}}" for second in range(2, 11)]

_SMALL_STORE = "stored_bytes: 1kB"

_RELIABLE_FLOODING = Contract(
    protocol=RELIABLE_FLOODING,
    scenarios={
        "an inner broker of a ring crashes": _flooded("ring", _crash("B3")),
        "an inner broker of a line crashes": _flooded("line", _crash("B3")),
        "the publisher's broker crashes": _flooded("ring", _crash("B1")),
        "links lose, repeat and hold back messages": _flooded("line", _DISTURBED),
        "streams break and lose what they held": _flooded("line", *_RESETS, delay="60ms", limits="resume: false"),
        "publishers wait while the store is full": _flooded("line", _crash("B3"), kept=8, limits=_SMALL_STORE),
        "a publication does not fit in the store": _flooded("line", kept=8, limits=_SMALL_STORE, large={10, 11, 40}),
        "a publisher's broker crashes before it acknowledges": _flooded("ring", _crash("B1", at="3.27s")),
    },
    file="reliable_flooding.json",
    real=(
        "reliable-publications-go-round-a-dead-broker",
        "reliable-the-publishers-broker-remembers-what-it-accepted",
    ),
    shipped=("cycles.json", "lines.json", "meshes.json", "mobility.json", "single-broker.json", "withdrawals.json"),
    catches=(
        Catch(flooding.NeverRetransmits, "an inner broker of a ring crashes", "lost"),
        Catch(
            flooding.DoesNotAwaitItsTimers, "reliable-what-was-lost-with-a-broker-arrives-once-it-is-back", "missing"
        ),
        Catch(flooding.StoresNoPublications, "reliable-the-publishers-broker-remembers-what-it-accepted", "unsettled"),
        Catch(flooding.AcknowledgesBeforeItStores, "the publisher's broker crashes", "lost"),
        Catch(flooding.NumbersAnewAfterACrash, "the publisher's broker crashes", "lost"),
        Catch(flooding.NotifiesAsItComes, "an inner broker of a line crashes", "lost, reordered"),
        Catch(flooding.NotifiesOfEveryAttempt, "reliable-publications-go-round-a-dead-broker", "surplus"),
        Catch(flooding.IsContentWithOneAcknowledgement, "an inner broker of a line crashes", "lost"),
        Catch(flooding.PassesOnTheFirstAttemptOnly, "an inner broker of a ring crashes", "lost"),
        Catch(flooding.RetransmitsWhenALinkIsUp, "links lose, repeat and hold back messages", "lost"),
        Catch(flooding.RetransmitsToNewIncarnations, "streams break and lose what they held", "lost"),
        Catch(flooding.CountsPositionsAnew, "an inner broker of a line crashes", "reordered"),
        Catch(flooding.HoldsNoPublishers, "publishers wait while the store is full", "broker defect"),
        Catch(flooding.ReleasesNoPublishers, "publishers wait while the store is full", "lost"),
        Catch(flooding.AcknowledgesWhatItHoldsBack, "an inner broker of a ring crashes", "lost"),
        Catch(flooding.DropsWhatDoesNotFit, "a publication does not fit in the store", "lost"),
        Catch(flooding.NumbersWhatItRefuses, "a publication does not fit in the store", "lost"),
        Catch(flooding.RecognisesNoRepeats, "a publisher's broker crashes before it acknowledges", "duplicated"),
        Catch(
            flooding.RecognisesRepeatsInMemoryOnly, "a publisher's broker crashes before it acknowledges", "duplicated"
        ),
        Catch(flooding.TakesOneTooManyForARepeat, "a publisher's broker crashes before it acknowledges", "lost"),
    ),
)


_ON_DEMAND = "eager_mesh: 1, idle_close: 50ms"
"""Links of meshes rest between publications."""


def _meshed(fault: str, limits: str = "") -> str:
    topology = f"{{kind: full, brokers: 4, {_LINK}}}"
    return scenario(f"{{protocol: {MESH_UNICAST}}}", topology, _PUBLISHERS, _SUBSCRIBERS, [fault], limits=limits)


def congested_mesh(publications: int = PUBLICATIONS) -> str:
    """A mesh with one link whose long delay and small window let half of the publications pass in a second."""
    slow = "{between: [B1, B3], delay: 60ms}"
    links = f"[{slow}, [B1, B2], [B1, B4], [B2, B3], [B2, B4], [B3, B4]]"
    topology = f"{{kind: explicit, links: {links}, {_LINK}}}"
    return scenario(
        f"{{protocol: {MESH_UNICAST}}}",
        topology,
        (*_PUBLISHERS, "R@B1"),
        _SUBSCRIBERS,
        heartbeat="500ms",  # because brokers expect the first message within three of them
        limits="window: 1",
        publications=publications,
    )


_MESH_ROW = ConformanceProtocol(MESH_UNICAST, MESH_UNICAST)
_MESH_UNICAST = Contract(
    protocol=MESH_UNICAST,
    scenarios={
        "a link of a mesh is down": _meshed("{at: run+3s, link_down: B1-B4, for: 2s}"),
        "a link of a mesh is down while clients subscribe": _meshed("{at: 0.5s, link_down: B1-B4, for: 4s}"),
        "a link of a mesh is congested": congested_mesh(),
        "a broker of a mesh crashes": _meshed("{at: run+3s, kill: B3, for: 2s}"),
        "a link on demand is down": _meshed("{at: run+3s, link_down: B1-B4, for: 2s}", _ON_DEMAND),
        "a broker of a mesh on demand crashes": _meshed("{at: run+3s, kill: B3, for: 2s}", _ON_DEMAND),
        "a broker of a mesh on demand is frozen": _meshed("{at: run+3s, pause: B3, for: 3s}", _ON_DEMAND),
    },
    file="mesh_unicast.json",
    real=(
        "mesh-unicast-goes-round-a-link-that-stays-down",
        "mesh-unicast-announces-to-a-restarted-broker",
        "mesh-unicast-takes-the-nearest-detour",
    ),
    shipped=("cycles.json", "lines.json", "meshes.json", "octopia-clusters.json", "single-broker.json"),
    properties={
        "each client is notified once": searched(checks.delivered_exactly_once, _MESH_ROW, on_full_meshes()),
        "no broker receives in vain": searched(no_broker_receives_in_vain, _MESH_ROW, on_full_meshes(settled=True)),
    },
    catches=(
        Catch(mesh.LeavesPublicationsToTheQueue, "mesh-unicast-goes-round-a-link-that-stays-down", "missing"),
        Catch(mesh.LosesWhatIsHandedBack, "a link of a mesh is down", "lost"),
        Catch(mesh.LosesAnnouncementsHandedBack, "a link of a mesh is down while clients subscribe", "lost"),
        Catch(mesh.RecognisesNoCopies, "mesh-unicast-hands-back-what-may-have-arrived", "surplus"),
        Catch(mesh.DetoursForEver, "mesh-unicast-takes-one-detour-to-a-dead-broker", "unsettled"),
        Catch(mesh.TakesTheFarthestDetour, "mesh-unicast-takes-the-nearest-detour", "missing"),
        Catch(mesh.WaitsInLongQueues, "a link of a mesh is congested", "lost"),
        Catch(mesh.DoesNotRelay, "a link of a mesh is down", "lost, duplicated"),
        Catch(mesh.AnnouncesToNewcomersNothing, "mesh-unicast-announces-to-a-restarted-broker", "missing"),
        Catch(mesh.AnnouncesNoEnds, "no broker receives in vain", "broken"),
        Catch(mesh.SendsToEveryBroker, "no broker receives in vain", "broken"),
    ),
)

_TO_ALL = {"fanout": 64}
"""More than any broker has neighbours, so that no publication is left to chance."""
_GOSSIP_ROW = ConformanceProtocol(GOSSIP, GOSSIP, _TO_ALL)
_GOSSIP = Contract(
    protocol=GOSSIP,
    options=_TO_ALL,
    scenarios={
        "gossip in a mesh": scenario(
            f"{{protocol: {GOSSIP}, fanout: 2}}",
            f"{{kind: full, brokers: 6, {_LINK}}}",
            _PUBLISHERS,
            ("S1@B2", "S2@B2", "T@B2", "S3@B3", "S4@B5", "S5@B6"),
        )
    },
    file="gossip.json",
    real=("gossip-reaches-every-broker-of-a-ring", "gossip-goes-round-a-dead-broker"),
    shipped=("cycles.json", "lines.json", "meshes.json", "mobility.json", "single-broker.json", "withdrawals.json"),
    properties={
        "everyone is notified though links change": partial(
            gossip_properties.everyone_is_notified_though_links_change, _GOSSIP_ROW
        ),
        "few publications are remembered": partial(gossip_properties.few_publications_are_remembered, _GOSSIP_ROW),
        "few copies are sent": partial(gossip_properties.few_copies_are_sent, _GOSSIP_ROW),
    },
    catches=(
        Catch(gossip.NotifiesOfEveryCopy, "gossip in a mesh", "duplicated"),
        Catch(gossip.NotifiesOneClient, "gossip in a mesh", "lost"),
        Catch(gossip.NotifiesAllClients, "gossip in a mesh", "spurious"),
        Catch(gossip.KeepsVanishedNeighbours, "everyone is notified though links change", "defect"),
        Catch(gossip.IgnoresNewNeighbours, "everyone is notified though links change", "missing"),
        Catch(gossip.RemembersEverything, "few publications are remembered", "unbounded"),
        Catch(gossip.SendsToAllNeighbours, "few copies are sent", "too many"),
    ),
)

CONTRACTS: Mapping[str, Contract] = {
    contract.protocol: contract for contract in (_RELIABLE_FLOODING, _MESH_UNICAST, _GOSSIP)
}
