"""Rows of behaviour: the protocol-neutral cases of tests/conformance, read and run by the kit's own code.

A case is an overlay, steps of clients and faults, and the notifications that must result; docs/conformance.md has its
fields.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from broker_service.generated import broker_pb2 as pb
from record.installation import FILES
from studies.broker_kit.bench import Bench
from studies.broker_kit.canaries import is_canary
from studies.broker_kit.case_session import CaseSession
from studies.broker_kit.content import predicates, publication
from studies.broker_kit.failures import NotApplicable, RowFailure, listed
from studies.broker_kit.overlay import KitLink, KitOverlay
from studies.broker_kit.raw_stream import NOTIFIED, REJECTED, Operation
from studies.broker_kit.rows import Rows, Suite

ROWS = Rows(Suite.BEHAVIOUR)

FILES_OF_CASES = (
    "single-broker", "lines", "trees", "cycles", "meshes", "withdrawals", "strings-and-numbers", "covering",
    "overlapping-advertisements", "mobility", "sessions", "many-publications", "long-links", "failures",
)  # fmt: skip
"""Files with cases for every routing protocol. Those of composite subscriptions are not among them: no broker need
offer these (S-17)."""
_FAULTS = ("kill", "restart", "link_down", "link_up")
_STATEMENTS = {
    "mobility": "S-12",
    "sessions": "A-1",
    "failures": "A-7",
    "withdrawals": "S-15",
    "strings-and-numbers": "V-2",
}
_WITHIN = 120.0
_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0}

_OPERATIONS = {
    "advertise": Operation.OPERATION_ADVERTISE,
    "unadvertise": Operation.OPERATION_UNADVERTISE,
    "subscribe": Operation.OPERATION_SUBSCRIBE,
    "unsubscribe": Operation.OPERATION_UNSUBSCRIBE,
    "publish": Operation.OPERATION_PUBLISH,
}


@dataclass(frozen=True, slots=True)
class KitCase:
    """A test case as its file states it: brokers, links, steps, and the notifications that clients must receive."""

    id: str
    brokers: tuple[str, ...]
    links: tuple[KitLink, ...]
    steps: tuple[Mapping[str, Any], ...]
    expect: Mapping[str, tuple[str, ...]]
    ordered: bool
    survives: tuple[str, ...]

    @property
    def faulty(self) -> bool:
        """True when a step of the case makes a broker or a link fail."""
        return any(step["op"] in _FAULTS for step in self.steps)


def read_cases(path: Path) -> list[KitCase]:
    """The cases of a file that are for every routing protocol."""
    read = json.loads(path.read_text(encoding="utf-8"))
    return [_case(fields) for fields in read if "steps" in fields and not fields.get("protocols")]


def _case(fields: Mapping[str, Any]) -> KitCase:
    counts = {step["id"]: step["count"] for step in fields["steps"] if step.get("count")}
    expect = {
        client: tuple(
            one for id in ids for one in ([f"{id}.{n}" for n in range(1, counts[id] + 1)] if id in counts else [id])
        )
        for client, ids in fields["expect"].items()
    }
    return KitCase(
        fields["id"], tuple(fields["brokers"]), tuple(map(_link, fields.get("links", ()))), tuple(fields["steps"]),
        expect, fields.get("ordered", False), tuple(fields.get("survives", ())),
    )  # fmt: skip


def _link(link: Any) -> KitLink:
    if isinstance(link, list):
        return KitLink(link[0], link[1])
    a, b = link["between"]
    return KitLink(a, b, seconds(link.get("delay", 0)))


def seconds(value: str | float) -> float:
    """A time in a case: seconds, or a number with a unit."""
    if not isinstance(value, str):
        return float(value)
    number = value.rstrip("abcdefghijklmnopqrstuvwxyz")
    return float(number) * _UNITS[value[len(number) :].strip() or "s"]


class _Course:
    """The course of one case."""

    def __init__(self, case: KitCase, overlay: KitOverlay) -> None:
        self._case = case
        self._overlay = overlay
        self._got: dict[str, list[str]] = defaultdict(list)
        self._refused: list[str] = []
        self._places: dict[str, str] = {}
        self._sessions: dict[str, CaseSession] = {}

    async def follow(self) -> None:
        """Carries out all steps and compares. Raises `RowFailure`."""
        brokers = {step["broker"] for step in self._case.steps if step["op"] in _OPERATIONS}
        self._sessions = {
            name: CaseSession(self._overlay.running[name].address, self._receive) for name in sorted(brokers)
        }
        try:
            for number, step in enumerate(self._case.steps):
                try:
                    await self._perform(step)
                    if "wait" in step:
                        await asyncio.sleep(seconds(step["wait"]))
                    else:
                        await self._settle()
                except RowFailure as failure:
                    raise RowFailure(f"steps[{number}] ({step['op']}): {failure}") from None
            await self._settle()
        finally:
            await asyncio.gather(*(session.close() for session in self._sessions.values()))
        self._compare()

    async def _perform(self, step: Mapping[str, Any]) -> None:
        overlay, op = self._overlay, step["op"]
        if op == "kill":
            await overlay.kill(step["broker"])
        elif op == "restart":
            await overlay.restart(step["broker"])
        elif op == "break_session":
            self._sessions[step["broker"]].break_stream()
        elif op == "link_down":
            overlay.cut(*step["link"])
        elif op == "link_up":
            overlay.restore(*step["link"])
        else:
            await self._place(step["client"], step["broker"])
            self._submit(step)

    def _submit(self, step: Mapping[str, Any]) -> None:
        op, count = step["op"], step.get("count")
        text = step.get("text", "")
        body = b"" if not text else publication(text) if op == "publish" else predicates(text)
        for id in [step["id"]] if count is None else [f"{step['id']}.{n}" for n in range(1, count + 1)]:
            self._sessions[step["broker"]].submit(step["client"], _OPERATIONS[op], id, body)

    async def _place(self, client: str, broker: str) -> None:
        """Attaches a client where its step is; one that was elsewhere moves."""
        former = self._places.get(client)
        if former == broker:
            return
        if former is not None:
            self._sessions[former].submit(client, Operation.OPERATION_DETACH)
            await self._hand_over()
        self._sessions[broker].submit(client, Operation.OPERATION_ATTACH)
        self._places[client] = broker

    async def _settle(self) -> None:
        await self._hand_over()
        await self._overlay.settle()
        await self._hand_over()

    async def _hand_over(self) -> None:
        running = [session for name, session in self._sessions.items() if name in self._overlay.running]
        await asyncio.gather(*(session.hand_over() for session in running))

    def _receive(self, event: pb.ClientEvent) -> None:
        if event.outcome == NOTIFIED and not is_canary(event.id):
            for client in event.clients:
                self._got[client].append(event.id)
        elif event.outcome == REJECTED:
            self._refused.append(event.reason)

    def _compare(self) -> None:
        refused = f"; the broker rejected: {self._refused[0]}" if self._refused else ""
        for client in dict.fromkeys((*self._case.expect, *sorted(self._got))):
            wanted, got = list(self._case.expect.get(client, ())), self._got.get(client, [])
            missing, surplus = Counter(wanted) - Counter(got), Counter(got) - Counter(wanted)
            if missing:
                raise RowFailure(f"{client} was not notified of {listed(_all(missing))}{refused}")
            if surplus:
                raise RowFailure(
                    f"{client} was notified of {listed(_all(surplus))} too often or without reason{refused}"
                )
            if self._case.ordered and wanted != got:
                raise RowFailure(f"{client} was notified in the order {listed(got)}, and should be in {listed(wanted)}")


def _all(found: Counter[str]) -> list[str]:
    return list(found.elements())


def _add(file: str, case: KitCase) -> None:
    async def check(bench: Bench) -> None:
        if case.survives:
            raise NotApplicable(f"it is for brokers that promise to lose nothing by {listed(case.survives)}")
        overlay = await bench.overlay(case.brokers, case.links)
        await _Course(case, overlay).follow()

    check.__name__ = case.id
    check.__doc__ = f"Case {case.id} of {file}.json."
    ROWS.must(_STATEMENTS.get(file, "S-24"), within=_WITHIN)(check)


def _in_company(cases: Iterable[tuple[str, KitCase]]) -> list[tuple[str, KitCase]]:
    """Cases of one overlay one after another, those with faults last: brokers that were hit are not used again."""
    cases = list(cases)
    overlays: dict[object, int] = {}
    for _, case in cases:
        overlays.setdefault((case.brokers, case.links), len(overlays))
    return sorted(cases, key=lambda each: (overlays[each[1].brokers, each[1].links], each[1].faulty))


for _file, _each in _in_company(
    (file, case) for file in FILES_OF_CASES for case in read_cases(FILES / "tests" / "conformance" / f"{file}.json")
):
    _add(_file, _each)
