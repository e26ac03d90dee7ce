"""`brokerlab topology`: makes, shows, draws and checks overlays; each function returns the exit code."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from itertools import chain, groupby
from pathlib import Path
from statistics import median

import msgspec
from rich.console import Console
from rich.table import Table

from command_line.commands.answers import Answer
from command_line.commands.topology_source import Source, TopologyRequest, resolve
from record.errors import DISK_IS_FULL, BadInputError, HostError
from record.exit_codes import ExitCode
from record.files import replace_file
from record.wording import count_of
from scenario.reference import fields_table
from scenario.sections.section import suggestion
from scenario.sections.topology import KINDS, PAPERS
from scenario.sections.topology.meshes import LatencyMatrixTopology
from topology.drawings.drawing import to_html, to_svg
from topology.evolutions.evolution import Appears, Evolution
from topology.evolutions.evolution_files import to_json_lines
from topology.files import to_graphml, to_json
from topology.inspection import Finding, Severity, inspect_mesh, inspect_overlay
from topology.metrics import Metrics, metrics
from topology.structures.declared import descriptions, listed
from topology.underlays.mesh_files import to_csv

LARGEST_DRAWING = 2000
"""Brokers; a larger drawing shows nothing, and forces take minutes to lay it out."""


def make(request: TopologyRequest, out: Path | None) -> ExitCode:
    """An overlay as JSON or GraphML, its delays as a CSV matrix, or its changes as JSON lines.

    Raises `BadInputError`.
    """
    source = resolve(request)
    if out is None:
        sys.stdout.write(to_json(source.overlay()).decode())
        return ExitCode.CORRECT
    match out.suffix.lower():
        case ".json":
            content = to_json(source.overlay())
        case ".graphml":
            content = to_graphml(source.overlay())
        case ".csv":
            content = to_csv(source.mesh()).encode()
        case ".jsonl":
            content = to_json_lines(_changes(source))
        case suffix:
            raise BadInputError(f"--out {out}: the name must end in .json, .graphml, .csv or .jsonl, not {suffix!r}")
    _write(out, content)
    return ExitCode.CORRECT


def draw(request: TopologyRequest, out: Path | None) -> ExitCode:
    """A picture of an overlay. Raises `BadInputError`."""
    suffix = ".svg" if out is None else out.suffix.lower()
    if suffix not in (".svg", ".html"):
        raise BadInputError(f"--out {out}: the name must end in .svg or .html, not {suffix!r}")
    source = resolve(request)
    overlay = source.overlay()
    if len(overlay.brokers) > LARGEST_DRAWING:
        brokers = count_of(len(overlay.brokers), "broker")
        raise BadInputError(f"{source.title}: {brokers}; a drawing has at most {LARGEST_DRAWING}")
    text = to_svg(overlay) if suffix == ".svg" else to_html(overlay)
    _write(out or Path(f"{source.name}.svg"), text.encode())
    return ExitCode.CORRECT


def show(request: TopologyRequest) -> ExitCode:
    """The measures of an overlay, for reading. Raises `BadInputError`."""
    source = resolve(request)
    overlay, evolution = source.overlay(), source.evolution()
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    lines = [_rows(metrics(overlay)), *(structure.lines for structure in descriptions(overlay).values())]
    if evolution is not None and source.scenario is not None:
        lines.append(_evolution_rows(evolution, source.scenario.timeline.duration))
    for name, value in chain.from_iterable(rows.items() for rows in lines):
        table.add_row(name, value)
    console = Console(highlight=False)
    console.print(overlay.name, style="bold", markup=False)
    console.print(table)
    return ExitCode.CORRECT


def show_json(request: TopologyRequest) -> ExitCode:
    """The measures of an overlay, for scripts. Raises `BadInputError`."""
    source = resolve(request)
    overlay, evolution = source.overlay(), source.evolution()
    described = {"name": overlay.name, **msgspec.to_builtins(metrics(overlay), str_keys=True)}
    described |= {name: structure.data for name, structure in descriptions(overlay).items()}
    if evolution is not None and source.scenario is not None:
        connectivity = evolution.connectivity(source.scenario.timeline.duration)
        described |= {"changes": len(evolution.changes), "connectivity": msgspec.to_builtins(connectivity)}
    content = msgspec.json.encode(described)
    sys.stdout.write(msgspec.json.format(content, indent=1).decode() + "\n")
    return ExitCode.CORRECT


def check(request: TopologyRequest, refused: frozenset[Severity], limit: int, answer: Answer) -> ExitCode:
    """Answers with findings; the exit code is bad input if one has a refused severity. Raises `BadInputError`."""
    source = resolve(request)
    matrix = isinstance(source.topology, LatencyMatrixTopology)
    findings = list(inspect_mesh(source.mesh()) if matrix else inspect_overlay(source.overlay()))
    console = answer.console
    _print_findings(console, source.title, findings, limit)
    errors = sum(finding.severity is Severity.ERROR for finding in findings)
    found = f"errors: {errors}, warnings: {len(findings) - errors}" if findings else "nothing odd"
    console.print(f"{source.title}: {found}", markup=False, soft_wrap=True)
    answer.document({"source": source.title, "findings": findings})
    return ExitCode.BAD_INPUT if any(finding.severity in refused for finding in findings) else ExitCode.CORRECT


def list_kinds(kind: str | None, answer: Answer) -> ExitCode:
    """All kinds and the papers' topologies, or the fields of one kind. Raises `BadInputError`."""
    console = answer.console
    if kind is None:
        kinds = {name: section.__doc__ or "" for name, section in KINDS.items()}
        papers = {name: entry.source for name, entry in PAPERS.items()}
        _print_table(console, "kinds", kinds)
        _print_table(console, "topologies of the papers", papers)
        answer.document({"kinds": kinds, "papers": papers})
    elif kind in KINDS:
        titles = ("field", "takes", "default", "meaning")
        table = Table(*titles, box=None, pad_edge=False)
        rows = [[cell.replace("`", "") for cell in row] for row in fields_table(KINDS[kind])]
        for row in rows:
            table.add_row(*row)
        console.print(KINDS[kind].__doc__, markup=False)
        console.print(table)
        answer.document({"kind": kind, "fields": [dict(zip(titles, row, strict=True)) for row in rows]})
    elif kind in PAPERS:
        entry = PAPERS[kind]
        section = entry.topology.model_dump(mode="json", exclude_unset=True)
        fields = {
            "source": entry.source,
            "assumption": entry.assumption or "none",
            "same as": msgspec.json.encode(section).decode(),
        }
        _print_table(console, kind, fields)
        answer.document({"topology": kind, **fields})
    else:
        raise BadInputError(f"{kind}: not a kind of topology{suggestion(kind, [*KINDS, *PAPERS])}")
    return ExitCode.CORRECT


def _rows(numbers: Metrics) -> Mapping[str, str]:
    delay = numbers.delay
    return {
        "brokers": str(numbers.brokers),
        "links": str(numbers.links),
        "degree": f"mean {numbers.degree.mean:.3g}, from {numbers.degree.least:g} to {numbers.degree.greatest:g}",
        "degrees": ", ".join(f"{brokers} x {degree}" for degree, brokers in numbers.degrees.items()),
        "diameter": f"{count_of(numbers.diameter, 'link')}",
        "mean path": f"{numbers.mean_path:.3f} links",
        **({"parts": f"{numbers.parts}, with no path from one to another"} if numbers.parts > 1 else {}),
        "articulation points": listed(numbers.articulation_points),
        "bridges": listed(f"{a} - {b}" for a, b in numbers.bridges),
        "link delay": "no links"
        if delay is None
        else f"mean {delay.mean * 1e3:.4g} ms, from {delay.least * 1e3:.4g} to {delay.greatest * 1e3:.4g} ms",
    }


def _changes(source: Source) -> Evolution:
    evolution = source.evolution()
    if evolution is None:
        raise BadInputError(f"{source.title}: its overlay stays as it is; only a scenario with `motion` has changes")
    return evolution


def _evolution_rows(evolution: Evolution, end: float) -> Mapping[str, str]:
    """The measures of a whole evolution that lasts until `end` seconds after its start."""
    appeared = sum(isinstance(change, Appears) for change in evolution.changes)
    connectivity = evolution.connectivity(end)
    durations = evolution.durations()
    vanishing = count_of(len(durations), "vanishing link")
    lifetime = f"median {median(durations):.3g} s, of {vanishing}" if durations else "no link vanishes"
    changes = f"{count_of(appeared, 'link')} to appear, {len(evolution.changes) - appeared} to vanish"
    return {
        "changes": f"{changes} in {end:g} s",
        "connected": f"{connectivity.time:.1%} of the time; {connectivity.pairs:.1%} of all pairs on average",
        "lifetime": lifetime,
    }


def _print_findings(console: Console, title: str, findings: list[Finding], limit: int) -> None:
    for (severity, subject), group in groupby(
        sorted(findings, key=lambda finding: (finding.severity, finding.subject)),
        key=lambda finding: (finding.severity, finding.subject),
    ):
        alike = list(group)
        for finding in alike[:limit]:
            text = f"{title}: {severity}: {finding.element}: {subject}: {finding.message}"
            console.print(text, markup=False, soft_wrap=True, style="red" if severity is Severity.ERROR else None)
        if len(alike) > limit:
            console.print(f"{title}: ... and {len(alike) - limit} more of {subject}", markup=False, soft_wrap=True)


def _print_table(console: Console, title: str, rows: Mapping[str, str]) -> None:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in rows.items():
        table.add_row(name, text)
    console.print(table)


def _write(path: Path, content: bytes) -> None:
    try:
        replace_file(path, content)
    except OSError as error:
        if error.errno in DISK_IS_FULL:
            raise HostError(
                f"{path}: cannot be written: {error.strerror}; make room, or choose another place"
            ) from error
        raise BadInputError(f"{path}: cannot be written: {error.strerror}") from error
    Console(stderr=True, highlight=False).print(f"written: {path}", markup=False, soft_wrap=True)
