"""Rows of the content model: each relation between a publication and a subscription, as one of either at a broker."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from record.installation import FILES
from studies.broker_kit.actor import Actor, Numbers
from studies.broker_kit.bench import Bench
from studies.broker_kit.content import advertisement_for, predicates, publication
from studies.broker_kit.failures import require
from studies.broker_kit.raw_stream import Operation
from studies.broker_kit.rows import Rows, Suite

ROWS = Rows(Suite.CONTENT)
CASES = FILES / "tests" / "conformance"


@dataclass(frozen=True, slots=True)
class _Relation:
    """A publication, a subscription, and whether the one matches the other."""

    id: str
    published: str
    subscribed: str
    expect: bool


def _relations(file: Path) -> list[_Relation]:
    found = []
    for number, case in enumerate(json.loads(file.read_text(encoding="utf-8")), 1):
        sides = sorted((case["left"], case["right"]), key=_is_subscription)
        found.append(_Relation(case.get("id") or f"relation-{number}", sides[0], sides[1], case["expect"]))
    return found


def _is_subscription(text: str) -> bool:
    """True for predicates, which have three fields each."""
    try:
        publication(text)
    except ValueError:
        return True
    return False


def _statement(relation: _Relation) -> str:
    """The statement that a relation is about, as far as its text tells."""
    if re.search(r"[^\x00-\x7f]", relation.published + relation.subscribed):
        return "V-3"
    return "V-4" if "type" in relation.id or "other" in relation.id else "V-6"


def _add(relation: _Relation) -> None:
    async def check(bench: Bench) -> None:
        stream, numbers = await bench.stream(), Numbers()
        watcher = Actor(stream, bench.name("watcher-"), numbers)
        await watcher.attach()
        subscribed = await watcher.do(Operation.OPERATION_SUBSCRIBE, "s", predicates(relation.subscribed))
        await stream.confirmed(subscribed)
        publisher = Actor(stream, bench.name("publisher-"), numbers)
        body = publication(relation.published)
        await publisher.attach(
            advertised="[class,eq,'end of the relation']", subscribed="[class,eq,'end of the relation']"
        )
        await stream.confirmed(await publisher.do(Operation.OPERATION_ADVERTISE, "all", advertisement_for(body)))
        await publisher.do(Operation.OPERATION_PUBLISH, "p", body)
        await publisher.publish("end", "[class,'end of the relation']")
        got = (watcher.name, "p") in await stream.notified_until("end")
        verb = "should match" if relation.expect else "should not match"
        require(got == relation.expect, f"{relation.subscribed} {verb} {relation.published}")

    check.__name__ = relation.id.replace("-", "_")
    wording = "matches" if relation.expect else "does not match"
    check.__doc__ = f"{relation.subscribed} {wording} {relation.published}"
    ROWS.must(_statement(relation))(check)


for _each in _relations(CASES / "relations-matches.json"):
    _add(_each)


@ROWS.must("V-4")
async def compares_no_number_with_a_string(bench: Bench) -> None:
    """A predicate holds for values of its own type only, and for no attribute that is missing, `<>` and `neq` too."""
    actor = Actor(await bench.stream(), bench.name("v4-"))
    advertised = {"a1": "[class,eq,'types'],[x,isPresent,0]", "a2": "[class,eq,'types'],[x,isPresent,'']"}
    await actor.attach(subscribed={"s1": "[class,eq,'types'],[x,<>,1]", "s2": "[class,eq,'types'],[x,neq,'a']"})
    for id, text in advertised.items():
        await actor.advertise(id, text)
    for id, text in (("p1", ",[x,1]"), ("p2", ",[x,'a']"), ("p3", ""), ("p4", ",[x,2]")):
        await actor.publish(id, f"[class,'types']{text}")
    got = [id for _, id in await actor.stream.notified_until("p4")]
    require(got == ["p4"], f"the client should be notified of p4 alone, and got {got}")


@ROWS.must("V-3")
async def orders_strings_by_code_point(bench: Bench) -> None:
    """U+FFEE comes before U+1F600, though not by UTF-16 units."""
    actor = Actor(await bench.stream(), bench.name("v3-"))
    await actor.attach(
        advertised="[class,eq,'order'],[name,isPresent,'']",
        subscribed={"s": "[class,eq,'order'],[name,str-gt,'\uffee']"},
    )
    await actor.publish("p1", "[class,'order'],[name,'\U0001f600']")
    await actor.publish("p2", "[class,'order'],[name,'\uffed']")
    await actor.publish("p3", "[class,'order'],[name,'\U0001f601']")
    got = [id for _, id in await actor.stream.notified_until("p3")]
    require(
        got == ["p1", "p3"],
        f"U+1F600 and U+1F601 lie behind U+FFEE, and U+FFED before it; the client was notified of {got}",
    )


@ROWS.must("V-2")
async def compares_great_integers_exactly(bench: Bench) -> None:
    """2^53 and 2^53 + 1 differ, and an integer beyond 64 bits is compared with a decimal as mathematics does."""
    actor = Actor(await bench.stream(), bench.name("v2-"))
    great = 10**30
    await actor.attach(
        advertised="[class,eq,'great'],[x,isPresent,0]",
        subscribed={"s1": f"[class,eq,'great'],[x,=,{2**53 + 1}]", "s2": f"[class,eq,'great'],[x,>,{great}]"},
    )
    for id, value in (
        ("p1", 2**53),
        ("p2", 2**53 + 1),
        ("p3", great),
        ("p4", great + 1),
        ("p5", "1e30"),
        ("p6", "1.5e30"),
    ):
        await actor.publish(id, f"[class,'great'],[x,{value}]")
    got = [id for _, id in await actor.stream.notified_until("p6")]
    wanted = ["p2", "p4", *(["p5"] if int(1e30) > great else []), "p6"]
    require(got == wanted, f"the client should be notified of {wanted}, and got {got}")
