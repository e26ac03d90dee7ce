"""Whole runs of Gryphon under faults, in the simulator, judged by the delivery oracle."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast
from unittest import mock

from broker_service.routing.declaration import Protocol
from broker_service.routing.gryphon import GryphonOptions, GryphonRouter
from broker_service.routing.registry import PROTOCOLS
from tests.contracts.running import judged, scenario

TREE = "{kind: redundant-tree, tree: [[pb, A], [A, B], [B, s1], [B, s2], [A, s3]], replicas: 2, link: {delay: 8ms}}"
LONG = "{delay: 1ms..400ms, jitter: 20%}"
"""Links on which answers take up to 4 s, and no two paths as long as each other."""
INNER = ("A1", "A2", "B1", "B2")
EDGES = ("pb", "s1", "s2", "s3")
PUBLISHERS = ("P@pb", "Q@s1", "O@A2")
SUBSCRIBERS = ("S1@s1", "T1@s1", "S2@s2", "T2@s3", "S3@pb", "S4@B1", "T4@A1")
_PUBLICATIONS = 40
_SECONDS = _PUBLICATIONS / 8
_NEIGHBOURS = {"A": ("pb", "s3", "B1", "B2"), "B": ("s1", "s2", "A1", "A2")}


def faulty(seed: int, kinds: Sequence[str], options: str = "", *, limits: str = "resume: false") -> str:
    """A scenario with faults of some kinds, and clients that subscribe and unsubscribe all the time."""
    rng = random.Random(seed)
    faults = []
    at = 1.0
    while kinds and at < _SECONDS - 1:
        lasts, fault = _fault(rng.choice(kinds), rng)
        faults.append(f"{{at: run+{at:.2f}s, {fault}}}")
        at += lasts + 0.1
    text = scenario(
        f"{{protocol: gryphon{options}}}",
        TREE,
        PUBLISHERS,
        SUBSCRIBERS,
        faults,
        limits=limits,
        publications=_PUBLICATIONS,
    )
    return _with_churn(text, rng, seed)


def on_long_links(text: str) -> str:
    """A scenario on links of 1 to 400 ms, and with the time that all of it may take there."""
    return text.replace("{delay: 8ms}", LONG, 1).replace("drain: 5s", "drain: 30s", 1)


def restarted(seed: int, options: str = "") -> str:
    """A scenario in which each broker with publishers is restarted while links lose messages. Its clients publish for
    seconds after that.

    The first publication of a restarted broker tells leaves that the positions before it, back to those of the former
    incarnation, hold nothing. Where it is lost, leaves ask for all of them.
    """
    rng = random.Random(seed)
    faults = ["{at: run+0.5s, disturb: links-between(node), lose: 5%, repeat: 5%, hold: 10% by 50ms, for: 5s}"]
    at = 1.0
    for publisher in rng.sample(PUBLISHERS, len(PUBLISHERS)):
        faults.append(f"{{at: run+{at:.2f}s, kill: {publisher.partition('@')[2]}, for: 500ms}}")
        at += 0.7 + rng.random()
    text = scenario(
        f"{{protocol: gryphon{options}}}",
        TREE,
        PUBLISHERS,
        SUBSCRIBERS,
        faults,
        limits="resume: false",
        publications=2 * _PUBLICATIONS,
    )
    return _with_churn(text, rng, seed)


def with_composites(text: str, seed: int) -> str:
    """A scenario of `faulty` with composite subscriptions, too: at brokers where no subscription that stands covers
    their parts, and made just before something is published. Others like them come and go later."""
    rng = random.Random(seed)
    pattern = "{[class,eq,'STOCK'],[odd,=,1]} & {[class,eq,'STOCK'],[odd,=,0]}"
    operations = []
    for number, broker in enumerate(("A2", "B2", "s3") * 3):
        client = f"client: D{number}, broker: {broker}"
        begin = 2 + number // 3 + rng.randrange(1, 8) / 8 - 0.012
        operations.append(f'    - {{at: {begin:.3f}s, {client}, id: c, composite: "{pattern}", within: 200ms}}')
        if number >= 3:
            operations.append(f"    - {{at: {begin + 1:.3f}s, {client}, unsubscribe: c}}")
    return text.replace("\nbrokers:", "\n" + "\n".join(operations) + "\nbrokers:", 1)


def findings(text: str, directory: Path, router: type[GryphonRouter] = GryphonRouter) -> list[str]:
    """The oracle's verdicts on a scenario when all brokers run a router."""
    broken = {"gryphon": Protocol(router, GryphonOptions)}
    with mock.patch.dict(cast(dict[str, Any], PROTOCOLS), broken):
        return judged(text, directory).verdicts


def _with_churn(text: str, rng: random.Random, seed: int) -> str:
    """A scenario with further clients that subscribe and unsubscribe."""
    return text.replace("\nbrokers:", "\n" + "\n".join(_churn(rng)) + "\nbrokers:", 1) + f"\nseed: {seed}\n"


def _fault(kind: str, rng: random.Random) -> tuple[float, str]:
    """Seconds that a fault lasts, and the fault."""
    inner = rng.choice(INNER)
    link = f"{inner}-{rng.choice(_NEIGHBOURS[inner[0]])}"
    match kind:
        case "kill":
            return 1.2, f"kill: {inner}, for: 1.2s"
        case "kill edge":
            return 1.2, f"kill: {rng.choice(EDGES)}, for: 1.2s"
        case "reset":
            return 0.1, f"reset: {link}"
        case "cut":
            return 1.0, f"link_down: {link}, for: 1s"
        case "flap":
            return 2.0, f"flap: {link}, down: 0.7s, up: 0.3s, times: 2"
        case "partition":
            return 1.2, f"partition: [[{rng.choice(('A1', 'B2', 'A1, B1', 'A2, pb', 'B1, s1'))}], rest], for: 1.2s"
        case "one way":
            return 1.2, f"partition: {{from: {inner}, to: rest}}, for: 1.2s"
        case "disturb":
            return 1.0, f"disturb: [{link}], lose: 15%, repeat: 10%, hold: 20% by 100ms, for: 1s"
    raise ValueError(kind)


def _churn(rng: random.Random) -> list[str]:
    operations = []
    for number in range(15):
        broker, begin = rng.choice((*EDGES, "B2")), 2 + rng.random() * (_SECONDS - 1)
        wanted = f"[class,eq,'STOCK'],{rng.choice(('[odd,=,1]', '[odd,=,0]', '[odd,>=,0]'))}"
        client = f"client: C{number}, broker: {broker}"
        operations.append(f'    - {{at: {begin:.3f}s, {client}, id: s, subscribe: "{wanted}"}}')
        if number % 2:
            end = min(begin + 1, 2 + _SECONDS)
            operations.append(f"    - {{at: {end:.3f}s, {client}, unsubscribe: s}}")
    return operations
