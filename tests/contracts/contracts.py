"""The proofs of the contract of routing protocols, one for each router."""

from __future__ import annotations

from collections.abc import Mapping

from tests.contracts import mutants_of_reliable_flooding as flooding
from tests.contracts.contract import Catch, Contract
from tests.contracts.protocols import RELIABLE_FLOODING
from tests.contracts.running import scenario

_PUBLISHERS = ("P@B1", "Q@B4")
_SUBSCRIBERS = ("S1@B2", "S2@B3", "S3@B4", "T@B4")
_LINK = "link: {delay: 5ms}"


def _flooded(kind: str, dies: str) -> str:
    fault = f"{{at: run+3s, kill: {dies}, for: 2s}}"
    topology = f"{{kind: {kind}, brokers: 4, {_LINK}}}"
    return scenario(f"{{protocol: {RELIABLE_FLOODING}}}", topology, _PUBLISHERS, _SUBSCRIBERS, [fault])


_RELIABLE_FLOODING = Contract(
    protocol=RELIABLE_FLOODING,
    scenarios={
        "an inner broker of a ring crashes": _flooded("ring", "B3"),
        "an inner broker of a line crashes": _flooded("line", "B3"),
        "the publisher's broker crashes": _flooded("ring", "B1"),
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
        Catch(flooding.NumbersAnewAfterACrash, "the publisher's broker crashes", "lost"),
        Catch(flooding.NotifiesAsItComes, "an inner broker of a line crashes", "reordered"),
        Catch(flooding.NotifiesOfEveryAttempt, "reliable-publications-go-round-a-dead-broker", "surplus"),
        Catch(flooding.IsContentWithOneAcknowledgement, "an inner broker of a line crashes", "lost"),
        Catch(flooding.PassesOnTheFirstAttemptOnly, "an inner broker of a ring crashes", "lost"),
        Catch(flooding.AcknowledgesWhatItHoldsBack, "an inner broker of a ring crashes", "lost"),
    ),
)

CONTRACTS: Mapping[str, Contract] = {contract.protocol: contract for contract in (_RELIABLE_FLOODING,)}
