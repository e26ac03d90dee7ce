"""The pages of docs/ that list all fields of a scenario, generated from the models: `python -m scenario.reference`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from broker_service.routing import PROTOCOLS
from broker_service.routing.systems import SYSTEMS
from scenario.field_meanings import meanings
from scenario.model import Routing, Scenario
from scenario.sections import faults, logs, motion, service_time, topology, workload
from scenario.sections.brokers import BrokerLimits, Brokers, OneBroker
from scenario.sections.clients import Clients, EveryBroker, ProgramSection, SiteSection
from scenario.sections.expect import Expect, Faster, Fewer
from scenario.sections.roaming import Roaming
from scenario.sections.search import HoldsWhile, Search
from scenario.sections.section import Section
from scenario.sections.timeline import Timeline

DOCS = Path(__file__).parents[1] / "docs"


@dataclass(frozen=True, slots=True)
class Page:
    """A page of fields, by subject."""

    file: str
    title: str
    parts: tuple[str, ...]
    """The first words of the places of its sections."""


PAGES = (
    Page("fields-run.md", "Fields of a scenario", ("the", "timeline", "brokers", "faults", "logs", "expect", "search")),
    Page("fields-overlay.md", "Fields of topology and motion", ("topology", "motion")),
    Page("fields-workload.md", "Fields of workload and clients", ("workload", "clients")),
    Page("fields-routing.md", "Options of routing protocols", ("routing",)),
)
_HEAD = """\
# {title}

<!-- Written by `python -m scenario.reference` from the models. -->

Sections of a scenario, each with its fields, their units and defaults. See [how to write one](scenarios.md), and the
other pages of fields: {others}.
"""

SECTIONS: Mapping[str, type[Section]] = {
    "the whole scenario": Scenario,
    **{f"topology, kind: {kind}": section for kind, section in topology.KINDS.items()},
    "topology.link": topology.LinkSection,
    "topology.link.backward": topology.LinkDirectionSection,
    "topology.links[]": topology.LinkItem,
    **{f"motion, kind: {kind}": section for kind, section in motion.MOTIONS.items()},
    "motion.changes[]": motion.ScriptedChange,
    "routing": Routing,
    "workload, kind: quotes": workload.QuotesWorkload,
    "workload.publications, kind: quotes": workload.QuotePublications,
    "workload.publications.source": workload.QuoteFile,
    "workload.publications.individually.*": workload.IndividualPublisher,
    "workload.publications.individually.*.bursts[]": workload.Burst,
    "workload.subscriptions, kind: quotes": workload.QuoteSubscriptions,
    "workload.subscriptions.followers[]": workload.Followers,
    "workload, kind: integers": workload.IntegersWorkload,
    "workload.publications, kind: integers": workload.IntegerPublications,
    "workload.subscriptions, kind: integers": workload.IntegerSubscriptions,
    "workload, kind: topics": workload.TopicsWorkload,
    "workload.publications, kind: topics": workload.TopicPublications,
    "workload.subscriptions[], kind: topics": workload.SubscriberGroup,
    "workload.subscriptions[].churn": workload.Churn,
    "workload, kind: patterns": workload.PatternsWorkload,
    "workload.publications, kind: patterns": workload.PatternPublications,
    "workload.subscriptions, kind: patterns": workload.PatternSubscriptions,
    "workload.profile": workload.Profile,
    "workload.profile.steps[]": workload.PaceStep,
    "workload.profile.ramp": workload.Ramp,
    "workload.profile.day": workload.Day,
    "workload.profile.bursts[]": workload.PaceBurst,
    "workload.churn": workload.SubscriberChurn,
    "workload, kind: file": workload.FileWorkload,
    "workload.columns": workload.FileColumns,
    "workload.operations[]": workload.OperationItem,
    "clients": Clients,
    "clients.sites.*": SiteSection,
    "clients.sites.*.to_clients": topology.WireSection,
    "clients.every_broker": EveryBroker,
    "clients.programs.*": ProgramSection,
    "clients.roaming": Roaming,
    "timeline": Timeline,
    "brokers": Brokers,
    "brokers.service_time": service_time.ServiceTimeDistribution,
    "brokers.individually.*": OneBroker,
    "brokers.limits": BrokerLimits,
    "faults[]": faults.FaultItem,
    "faults[].partition": faults.OneWay,
    "logs": logs.Logs,
    "expect": Expect,
    "expect.faster.*": Faster,
    "expect.fewer.*": Fewer,
    "search": Search,
    "search.while": HoldsWhile,
}
"""The model of each section, by its place in a scenario."""

_SIMPLE = {
    "integer": "whole number",
    "number": "number",
    "string": "text",
    "object": "mapping",
    "array": "list",
    "boolean": "`true` or `false`",
}


def page(shown: Page) -> str:
    """Markdown: a table of fields for each section of the page."""
    others = ", ".join(f"[{other.title}]({other.file})" for other in PAGES if other is not shown)
    head = _HEAD.format(title=shown.title, others=others.replace("[Fields of ", "[").replace("[Options", "[options"))
    sections = [_section(place, model) for place, model in SECTIONS.items() if _first_word(place) in shown.parts]
    return "\n".join([head, "\n\n".join([*sections, *(_protocols() if "routing" in shown.parts else ())])]) + "\n"


def _first_word(place: str) -> str:
    return re.split(r"\W", place, maxsplit=1)[0]


def fields_table(model: type[Section]) -> Iterator[tuple[str, str, str, str]]:
    """A section's fields in Markdown: name, accepted values, default and meaning."""
    schema = model.model_json_schema()
    defaults = model.model_construct().model_dump(mode="json", warnings="none")
    required = set(schema.get("required", ()))
    told = meanings(model)
    for name, field in schema["properties"].items():
        if name == "kind":
            continue  # the heading names it
        default = "required" if name in required else _default(defaults.get(name))
        yield f"`{name}`", _takes(field), default, told.get(name, field.get("description", ""))


def _section(place: str, model: type[Section]) -> str:
    rows = ["| field | takes | default | meaning |", "|---|---|---|---|"]
    rows += [f"| {' | '.join(cells)} |" for cells in fields_table(model)]
    return f"## {place}\n\n{model.model_json_schema().get('description', '')}\n\n" + "\n".join(rows)


def _protocols() -> Iterator[str]:
    pages = {"protocol": "routing-protocols.md", "system": "deployed-systems.md"}
    named = [("protocol", *found) for found in PROTOCOLS.items()] + [("system", *found) for found in SYSTEMS.items()]
    for kind, name, protocol in named:
        rows = ["| field | takes | default |", "|---|---|---|"]
        times = protocol.options.times
        schema = msgspec.json.schema_components([protocol.options])[1][protocol.options.__name__]
        for option in msgspec.structs.fields(protocol.options):
            default = "required" if option.default is msgspec.NODEFAULT else f"`{json.dumps(option.default)}`"
            word = option.encode_name
            takes = "duration: `50ms`; or seconds" if word in times else _takes(schema["properties"][word])
            rows.append(f"| `{word}` | {takes} | {default} |")
        meaning = f"Options of this {kind}; what they mean: [{pages[kind]}]({pages[kind]})."
        yield f"## routing, {kind}: {name}\n\n{meaning}\n\n" + "\n".join(rows)


def _takes(field: Mapping[str, Any]) -> str:
    if "examples" in field:
        return f"{field['title']}: {', '.join(f'`{_shown(example)}`' for example in field['examples'])}"
    if members := field.get("anyOf") or field.get("oneOf"):
        alternatives = [_takes(member) for member in members if member.get("type") != "null"]
        return " or ".join(dict.fromkeys(alternatives))
    if "$ref" in field:
        return "a mapping, see below"
    if "enum" in field or "const" in field:
        return " or ".join(f"`{word}`" for word in field.get("enum", [field.get("const")]))
    return _SIMPLE[field["type"]]


def _shown(example: Any) -> str:
    """An example as a scenario has it."""
    return f"[{', '.join(map(_shown, example))}]" if isinstance(example, list) else str(example)


def _default(value: Any) -> str:
    if value is None or value == "":
        return "none"
    if isinstance(value, dict):
        return "as below" if value else "none"
    if isinstance(value, list):
        return f"`{json.dumps(value)}`" if value else "none"
    return f"`{value}`"


if __name__ == "__main__":
    for made in PAGES:
        (DOCS / made.file).write_text(page(made), encoding="utf-8")
