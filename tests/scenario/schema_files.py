"""Hostile scenario files, generated from the schema that editors get, each tried in a process of its own.

`python -m tests.scenario.schema_files FIRST COUNT` tries those with the seeds from FIRST on, and prints a line of JSON
for each: what came of it, and the memory and the time that it took. A value is mostly one that the schema allows,
because a file whose first field is wrong tests nothing else, and sometimes any other.
"""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr
from io import StringIO
from itertools import islice
from typing import Any

import msgspec
import yaml

from emulation.planning.plan import make_plan
from record.errors import UserError
from scenario.json_schema import schema_of
from scenario.loading import load_text
from scenario.model import Scenario
from scenario.sections.protocol_references import PROGRAM_SCHEMA

PATIENCE = 60
"""Seconds of processor time after which a file counts as one that hangs."""
LARGEST = 1 << 30
"""Bytes of memory that a file may cost."""
_DEEPEST = 6
_HOSTILE = (
    None, True, -1, 0, 1, 2**31, 2**63, -(2**63), 10**40, 0.0, -0.0, 1e-320, 1e308, float("inf"), float("nan"), "",
    "\0", "x" * 10_000, "1e308s", "1e-300s", "0s", "1h..2h", "5s..1s", "..", "999999999999GB", "1e9/s", "100.1%", "-5%",
    "random(999999)", "random-link(7)", "B1-B1", "B1->B2", "run+1e9s", "../../etc/passwd", "/dev/zero", [], {}, [[]],
    {"kind": "none"}, {"": ""}, ["B1"] * 1000, "[class,eq,'x']", "[x,1]", "{{x}}", "!!python/object:os.system",
)  # fmt: skip
_QUANTITIES = (
    "1s",
    "50ms",
    "10ms..20ms",
    "1mbit",
    "10/s",
    "60/min",
    "1MB",
    "64KiB",
    "5%",
    "0.5",
    "10m",
    "2m/s",
    "run+1s",
)
_WORDS = ("tid", "B1", "B2", "B1-B2", "a", "hub", "rest", "random", "stocks", "fixed", "dynamic", "[class,'STOCK']")
_UNDRAWN = PROGRAM_SCHEMA
"""Form that is not drawn, because the program would be started."""


class Outcome(msgspec.Struct):
    """Result of trying one file."""

    seed: int
    end: str
    """`accepted`, `refused`, `stack trace`, or the signal that ended the process."""
    megabytes: int
    """The largest memory of the process, of which some 100 are the program's."""
    seconds: float
    text: str = ""
    """The stack trace, or the message of a refusal that is no single line."""


class Files:
    """Generates files; each is a function of its seed."""

    def __init__(self) -> None:
        self._schema: Mapping[str, Any] = schema_of(Scenario, "a scenario")

    def text(self, seed: int) -> str:
        """One file as text."""
        return yaml.safe_dump(self.content(seed), allow_unicode=True)

    def content(self, seed: int) -> dict[str, Any]:
        """The content of one file. Most are a sound scenario with two sections replaced, because these reach deeper."""
        source = random.Random(seed)
        made = self._object(self._schema, source, 0)
        if source.random() < 0.6:
            made = _SOUND | {key: made[key] for key in source.sample(sorted(made), min(len(made), 2)) if key in made}
        return made

    def _value(self, schema: Mapping[str, Any], source: random.Random, depth: int) -> Any:
        if source.random() < 0.04 or depth > _DEEPEST:
            return source.choice(_HOSTILE)
        if "$ref" in schema:
            return self._value(self._schema["$defs"][schema["$ref"].rpartition("/")[2]], source, depth)
        if "const" in schema:
            return schema["const"]
        for choice in ("enum", "examples"):
            if choice in schema and source.random() < 0.8:
                return source.choice(schema[choice])
        for several in ("anyOf", "oneOf"):
            if several in schema:
                return self._value(source.choice([each for each in schema[several] if each != _UNDRAWN]), source, depth)
        return self._typed(schema, source, depth)

    def _typed(self, schema: Mapping[str, Any], source: random.Random, depth: int) -> Any:
        kinds = schema.get("type")
        match source.choice(kinds) if isinstance(kinds, list) else kinds:
            case "object":
                return self._object(schema, source, depth)
            case "array":
                items = schema.get("items", {})
                return [self._value(items, source, depth + 1) for _ in range(source.choice((0, 1, 1, 2, 5)))]
            case "integer":
                low = schema.get("minimum", schema.get("exclusiveMinimum", 0))
                return source.choice((low, low + 1, low + 3, 10, schema.get("maximum", 50), 100))
            case "number":
                return source.choice((schema.get("minimum", 0), 0.5, 1, 1.5, 3, 100))
            case "boolean":
                return source.random() < 0.5
            case "null":
                return None
            case "string":
                return source.choice(_QUANTITIES + _WORDS)
        return source.choice((*_QUANTITIES, *_WORDS, 1, 2, 0.5, True))

    def _object(self, schema: Mapping[str, Any], source: random.Random, depth: int) -> dict[str, Any]:
        required = schema.get("required", ())
        made = {
            name: self._value(inner, source, depth + 1)
            for name, inner in schema.get("properties", {}).items()
            if (source.random() < 0.97 if name in required else source.random() < 0.35)
        }
        for part in schema.get("allOf", ()):  # of `routing`, the options of the protocol chosen
            if part["if"]["properties"]["protocol"]["const"] == made.get("protocol"):
                made |= self._object(part["then"], source, depth)
        further = schema.get("additionalProperties")
        if further and source.random() < 0.5:
            inner = further if isinstance(further, dict) else {}
            made[source.choice(_WORDS)] = self._value(inner, source, depth + 1)
        return made


_SOUND = {
    "name": "sound",
    "topology": {"kind": "line", "brokers": 4, "link": {"delay": "2ms", "bandwidth": "10mbit"}},
    "routing": {"protocol": "tid"},
    "workload": {
        "publications": {"source": "stocks", "publishers": 2, "rate": "5/s"},
        "subscriptions": {"subscribers": 4, "selectivity": "20%"},
    },
    "timeline": {"join": "2s", "run": "3s"},
}


def tried(text: str) -> str:
    """Loads and plans a scenario as `brokerlab emulate` does. Returns what came of it; raises what is a defect."""
    try:
        for variant in make_plan(load_text(text, "hostile.yaml")).variants:
            variant.schedule()
            variant.broker_settings  # noqa: B018 - computed when asked for
            variant.workload.estimate()
            list(islice(variant.workload.operations(), 1000))
    except UserError as error:
        if error.exit_code not in (2, 4):
            raise
        return "refused"
    return "accepted"


def outcome(files: Files, seed: int) -> Outcome:
    """Tries one file in a child process."""
    begin = time.monotonic()
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        _run_child(files.text(seed), writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        told = pipe.read()
    _, status, used = os.wait4(child, 0)
    code = os.waitstatus_to_exitcode(status)
    end, text = json.loads(told) if code == 0 else (signal.Signals(-code).name if code < 0 else f"exit {code}", "")
    return Outcome(seed, end, used.ru_maxrss >> 10, round(time.monotonic() - begin, 2), text)


def _run_child(text: str, writing: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (PATIENCE, PATIENCE + 5))
    resource.setrlimit(resource.RLIMIT_AS, (4 * LARGEST, 4 * LARGEST))
    try:
        with redirect_stderr(StringIO()):
            told = (tried(text), "")
    except BaseException:
        told = ("stack trace", traceback.format_exc()[-3000:])
    os.write(writing, json.dumps(told).encode())
    os._exit(0)


def main(arguments: Sequence[str]) -> None:
    first, count = map(int, arguments)
    files = Files()
    tried(yaml.safe_dump(_SOUND))  # so that children find everything loaded
    for seed in range(first, first + count):
        print(msgspec.json.encode(outcome(files, seed)).decode(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
