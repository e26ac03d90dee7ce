"""The sources of `brokerlab topology`: a kind, a paper's topology, a scenario, an overlay's file, a latency matrix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from record.errors import BadInputError
from scenario.loading import load_to_view
from scenario.model import Scenario
from scenario.sections.messages import describe
from scenario.sections.section import suggestion
from scenario.sections.topology import KINDS, PAPERS, TopologyKind, TopologySection
from scenario.yaml_files.fields import dotted, set_field
from scenario.yaml_files.scalars import shortened
from scenario.yaml_files.source import parse_setting
from topology.evolutions.evolution import Evolution
from topology.link_properties import OverlayError
from topology.model import Overlay
from topology.underlays.mesh import Mesh

_SCENARIOS = frozenset((".yaml", ".yml"))
_FILE_KINDS = {".json": "file", ".graphml": "file", ".csv": "latencies"}


@dataclass(frozen=True, slots=True)
class TopologyRequest:
    """A topology as named on the command line."""

    source: str
    settings: tuple[str, ...] = ()
    """Texts of the form `FIELD=VALUE`, for fields of the topology's section."""
    seed: int | None = None
    name: str | None = None
    variant: str | None = None
    """The variant of a scenario whose variants differ in topology."""
    at: float | None = None
    """The time of a changing overlay, in seconds since the start of the join phase; its start when None."""


@dataclass(frozen=True, slots=True)
class Source:
    """A topology with its seed, which makes the same overlay every time."""

    title: str
    """The topology's name in errors."""
    topology: TopologyKind
    name: str
    seed: int
    scenario: Scenario | None = None
    """The scenario that the topology is from, if its overlay changes."""
    at: float = 0.0
    """The time at which a changing overlay is looked at, in seconds since the start of the join phase."""

    def overlay(self) -> Overlay:
        """The overlay, at its time if it changes. Raises `BadInputError`."""
        try:
            if self.scenario is not None:
                return replace(self.scenario.moment(self.at), name=self.name)
            return self.topology.build(self.name, self.seed)
        except OverlayError as error:
            raise self._bad(error) from error

    def mesh(self) -> Mesh:
        """Raises `BadInputError`."""
        try:
            return self.topology.mesh(self.name, self.seed)
        except OverlayError as error:
            raise self._bad(error) from error

    def evolution(self) -> Evolution | None:
        """All changes of an overlay that changes; None for another one. Raises `BadInputError`."""
        try:
            return None if self.scenario is None else self.scenario.evolution()
        except OverlayError as error:
            raise self._bad(error) from error

    def _bad(self, error: OverlayError) -> BadInputError:
        text = str(error)
        return BadInputError(text if self.title in text else f"{self.title}: {text}")


def resolve(request: TopologyRequest) -> Source:
    """The topology with its settings. Raises `BadInputError`s that name the file or kind, and the field."""
    settings = _settings(request.settings)
    source = _source(request, settings)
    if request.at is not None and source.scenario is None:
        raise BadInputError(f"--at {request.at:g}: {request.source} stays as it is; a scenario with `motion` changes")
    return source


def _source(request: TopologyRequest, settings: Mapping[str, str]) -> Source:
    suffix = Path(request.source).suffix.lower()
    if suffix in _SCENARIOS:
        return _from_scenario(request, settings)
    if request.variant is not None:
        raise BadInputError(
            f"--variant {request.variant}: only a scenario has variants, and {request.source} is not one"
        )
    if suffix in _FILE_KINDS:
        title, name = request.source, Path(request.source).stem
        data: dict[str, Any] = {"kind": _FILE_KINDS[suffix], "path": request.source}
    elif request.source in PAPERS:
        title = name = request.source
        data = {"kind": "paper", "name": request.source}
    elif request.source in KINDS:
        title = name = request.source
        data = {"kind": request.source}
    else:
        raise BadInputError(
            f"{request.source}: neither a kind of topology nor a file (.yaml, .json, .graphml, .csv)"
            f"{suggestion(request.source, [*KINDS, *PAPERS])}"
        )
    return Source(title, _section(title, data, settings), request.name or name, request.seed or 0)


def _settings(texts: tuple[str, ...]) -> dict[str, str]:
    pairs = [text.partition("=") for text in texts]
    for field, equals, value in pairs:
        if not (field and equals):
            raise BadInputError(f"{field}{equals}{value}: write FIELD=VALUE, such as brokers=30 or link.delay=5ms")
    return {field.strip(): value for field, _, value in pairs}


def _from_scenario(request: TopologyRequest, settings: Mapping[str, str]) -> Source:
    overrides = {f"topology.{field}": value for field, value in settings.items()}
    if request.seed is not None:
        overrides["seed"] = str(request.seed)
    variants = {variant.name: variant.scenario for variant in load_to_view(Path(request.source), overrides).variants()}
    if request.variant is not None and request.variant not in variants:
        raise BadInputError(
            f"{request.source}: there is no variant {request.variant!r}{suggestion(request.variant, variants)}"
        )
    chosen = variants[request.variant or next(iter(variants))]
    if request.variant is None and any(
        (variant.topology, variant.motion, variant.seed) != (chosen.topology, chosen.motion, chosen.seed)
        for variant in variants.values()
    ):
        raise BadInputError(
            f"{request.source}: its variants differ in topology; choose one with --variant: {', '.join(variants)}"
        )
    changing = None if chosen.motion is None else chosen
    return Source(
        request.source, chosen.topology, request.name or chosen.name, chosen.seed, changing, request.at or 0.0
    )


def _network(scenario: Scenario) -> tuple[object, ...]:
    """The fields of a scenario that determine its overlay."""
    return scenario.topology, scenario.motion, scenario.seed


def _section(title: str, data: dict[str, Any], settings: Mapping[str, str]) -> TopologyKind:
    """The topology section of a scenario with these settings, whose values are YAML."""
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
