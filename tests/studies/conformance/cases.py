"""Cases made for tests, by what differs from a line of three brokers with a publisher and a subscriber at its ends."""

from __future__ import annotations

import json
from typing import Any

from studies.conformance import Case, parse_cases

STOCKS, DEAR = "[class,eq,'STOCK'],[price,>,0]", "[class,eq,'STOCK'],[price,>,80]"


def step(op: str, client: str, broker: str, id: str, text: str = "", **more: Any) -> dict[str, Any]:
    return {"op": op, "client": client, "broker": broker, "id": id, **({"text": text} if text else {}), **more}


ADVERTISE = step("advertise", "P", "B1", "a1", STOCKS)
SUBSCRIBE = step("subscribe", "S", "B3", "s1", DEAR)


def publish(id: str, price: float = 100, broker: str = "B1", **more: Any) -> dict[str, Any]:
    return step("publish", "P", broker, id, f"[class,'STOCK'],[price,{price}]", **more)


def line(*steps: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "id": "line",
        "brokers": ["B1", "B2", "B3"],
        "links": [["B1", "B2"], ["B2", "B3"]],
        "steps": list(steps),
        "expect": {},
        **fields,
    }


def case(*steps: dict[str, Any], **fields: Any) -> Case:
    (made,) = parse_cases(json.dumps(line(*steps, **fields)), "test", json_only=True)
    assert isinstance(made, Case)
    return made
