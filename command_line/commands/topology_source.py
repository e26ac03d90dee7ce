"""What `brokerlab topology` works on: a kind or a paper's topology, a scenario, an overlay's file, a latency matrix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from emulation.scenario import load
from emulation.scenario.fields import dotted, set_field
from emulation.scenario.messages import describe
from emulation.scenario.section import suggestion
from emulation.scenario.topology import KINDS, PAPERS, TopologyKind, TopologySection
from emulation.scenario.yaml_scalars import shortened
from emulation.scenario.yaml_source import parse_setting
from record.errors import BadInputError
from topology import Mesh, Overlay, OverlayError

_SCENARIOS = frozenset((".yaml", ".yml"))
_FILE_KINDS = {".json": "file", ".graphml": "file", ".csv": "latencies"}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the user named, as it stands on the command line."""

    source: str
    settings: tuple[str, ...] = ()
    """`FIELD=VALUE` each, of the topology's section."""
    seed: int | None = None
    name: str | None = None
    variant: str | None = None
    """Of a scenario whose variants differ in topology."""


@dataclass(frozen=True, slots=True)
class Source:
    """A topology that can be made, again and again the same."""

    title: str
    """What errors call it."""
    topology: TopologyKind
    name: str
    seed: int

    def overlay(self) -> Overlay:
        """Raises `BadInputError`."""
        try:
            return self.topology.build(self.name, self.seed)
        except OverlayError as error:
            raise self._bad(error) from error

    def mesh(self) -> Mesh:
        """Raises `BadInputError`."""
        try:
            return self.topology.mesh(self.name, self.seed)
        except OverlayError as error:
            raise self._bad(error) from error

    def _bad(self, error: OverlayError) -> BadInputError:
        text = str(error)
        return BadInputError(text if self.title in text else f"{self.title}: {text}")


def resolve(wanted: Wanted) -> Source:
    """Raises `BadInputError`s that name the file or kind, and the field."""
    settings = _settings(wanted.settings)
    suffix = Path(wanted.source).suffix.lower()
    if suffix in _SCENARIOS:
        return _from_scenario(wanted, settings)
    if wanted.variant is not None:
        raise BadInputError(f"--variant {wanted.variant}: only a scenario has variants; {wanted.source} is none")
    if suffix in _FILE_KINDS:
        title, name = wanted.source, Path(wanted.source).stem
        data: dict[str, Any] = {"kind": _FILE_KINDS[suffix], "path": wanted.source}
    elif wanted.source in PAPERS:
        title = name = wanted.source
        data = {"kind": "paper", "name": wanted.source}
    elif wanted.source in KINDS:
        title = name = wanted.source
        data = {"kind": wanted.source}
    else:
        raise BadInputError(
            f"{wanted.source}: neither a kind of topology nor a file (.yaml, .json, .graphml, .csv)"
            f"{suggestion(wanted.source, [*KINDS, *PAPERS])}"
        )
    return Source(title, _section(title, data, settings), wanted.name or name, wanted.seed or 0)


def _settings(texts: tuple[str, ...]) -> dict[str, str]:
    pairs = [text.partition("=") for text in texts]
    for field, equals, value in pairs:
        if not (field and equals):
            raise BadInputError(f"{field}{equals}{value}: write FIELD=VALUE, such as brokers=30 or link.delay=5ms")
    return {field.strip(): value for field, _, value in pairs}


def _from_scenario(wanted: Wanted, settings: Mapping[str, str]) -> Source:
    overrides = {f"topology.{field}": value for field, value in settings.items()}
    if wanted.seed is not None:
        overrides["seed"] = str(wanted.seed)
    variants = {variant.name: variant.scenario for variant in load(Path(wanted.source), overrides).variants()}
    if wanted.variant is not None and wanted.variant not in variants:
        raise BadInputError(
            f"{wanted.source}: there is no variant {wanted.variant!r}{suggestion(wanted.variant, variants)}"
        )
    chosen = variants[wanted.variant or next(iter(variants))]
    if wanted.variant is None and any(
        (one.topology, one.seed) != (chosen.topology, chosen.seed) for one in variants.values()
    ):
        raise BadInputError(
            f"{wanted.source}: its variants differ in topology; choose one with --variant: {', '.join(variants)}"
        )
    return Source(wanted.source, chosen.topology, wanted.name or chosen.name, chosen.seed)


def _section(title: str, data: dict[str, Any], settings: Mapping[str, str]) -> TopologyKind:
    """The section that a scenario would have. A setting is YAML, as in a scenario."""
    for field, text in settings.items():
        try:
            set_field(data, field, parse_setting(field, text))
        except ValueError as error:
            raise BadInputError(f"{shortened(field)}={shortened(text)}: {error}") from error
    adapter: TypeAdapter[TopologyKind] = TypeAdapter(TopologySection)
    try:
        return adapter.validate_python(data, context={"directory": Path()})
    except ValidationError as error:
        problems = [(title, dotted(problem.path), problem.message) for problem in describe(error, data)]
        raise BadInputError("\n".join(": ".join(filter(None, problem)) for problem in problems)) from error
