"""Programs that are routers, in Python, which every host has: flooding, right and wrong."""

from __future__ import annotations

import sys
from pathlib import Path

SOURCE = """\
import base64, json, random, sys
clients, seen, count = {}, set(), 0

def say(said):
    print(json.dumps(said), flush=True)

def match():
    say({"ask": {"for": "match"}})
    return json.loads(sys.stdin.readline())["keys"]

def spread(number, message, source):
    seen.add(number)
    header, hops = base64.b64encode(number.encode()).decode(), message.get("hops", 0) + 1
    sends = [{"do": "send", "neighbour": one, "message": {"same": 0, "header": header, "hops": hops}}
             for one in me["neighbours"] if one != source]
    notified = sorted({clients[key] for key in match()})
    return [{"do": "deliver", "clients": notified, "message": {"same": 0, "header": header}}, *sends]

for line in sys.stdin:
    call = json.loads(line)
    name, actions = call["call"], []
    if name == "declare":
        say({"declaration": {"contract": 1, "calls": []}})
        continue
    if name == "init":
        me = call
    elif name == "subscribe":
        clients[call["id"]] = call["client"]
        say({"tell": {"of": "index", "key": call["id"], "predicates": call["subscription"]}})
    elif name == "unsubscribe":
        del clients[call["id"]]
        say({"tell": {"of": "unindex", "key": call["id"]}})
    elif name == "publish":
        count += 1
        number = count
        actions = spread(f"{me['broker']}.{me['incarnation']}.{number}", call["message"], None)
    elif name == "receive":
        number = base64.b64decode(call["message"]["header"]).decode()
        actions = [] if number in seen else spread(number, call["message"], call["neighbour"])
    say({"actions": actions})
"""


def written(directory: Path, former: str = "", new: str = "") -> Path:
    """An executable program, with a mistake in place of a part of it."""
    assert former in SOURCE
    path = directory / "spread"
    path.write_text(f"#!{sys.executable}\n{SOURCE.replace(former, new) if former else SOURCE}")
    path.chmod(0o755)
    return path
