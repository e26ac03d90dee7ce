"""Findings in an overlay or a mesh that deserve a second look before a run."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass

from topology.link_properties import OverlayError
from topology.model import Overlay
from topology.structures.declared import STRUCTURES, Structure
from topology.underlays.mesh import ASYMMETRY, TRIANGLE_TOLERANCE, Mesh, examine, mesh_of


class Severity(enum.StrEnum):
    """Severity of a finding."""

    ERROR = "error"
    """A run on it is impossible."""
    WARNING = "warning"
    """A run is possible, but the value may be a mistake."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding."""

    severity: Severity
    subject: str
    """The kind of finding, in few words."""
    element: str
    """The broker, link or pair of brokers."""
    message: str


def inspect_mesh(mesh: Mesh) -> Iterator[Finding]:
    """Missing delays, asymmetric pairs (largest difference first) and triangle violations (greatest gain first)."""
    examination = examine(mesh)
    for a, b in examination.missing:
        yield Finding(Severity.ERROR, "missing delay", f"{a} to {b}", "the delay is unknown")
    for pair in examination.asymmetric:
        yield _asymmetric(f"{pair.a} - {pair.b}", pair.forward, pair.backward)
    for violation in examination.violations:
        way = f"{_ms(violation.direct)} directly, {_ms(violation.detour)} by way of {violation.via}"
        yield Finding(Severity.WARNING, "triangle violation", f"{violation.a} to {violation.b}", way)


def inspect_overlay(overlay: Overlay) -> Iterator[Finding]:
    """Structures that are declared and do not hold, links slower than a path around them, and links whose directions
    differ in delay.

    An `Overlay` has checked its connectedness and bounds itself.
    """
    for structure in STRUCTURES:
        if structure.declared_by(overlay):
            yield from _inspect_structure(overlay, structure)
    mesh = mesh_of(overlay)
    for link in overlay.links:
        element = f"link {link.a} - {link.b}"
        forward, backward = link.forward.delay, link.backward.delay
        if abs(forward - backward) > ASYMMETRY * max(forward, backward):
            yield _asymmetric(element, forward, backward)
        for a, b, delay in ((link.a, link.b, forward), (link.b, link.a, backward)):
            fastest = mesh.delay(a, b)
            if fastest < delay * (1 - TRIANGLE_TOLERANCE):
                way = f"{_ms(delay)} from {a} to {b}, {_ms(fastest)} over other links"
                yield Finding(Severity.WARNING, "triangle violation", element, way)


def _inspect_structure(overlay: Overlay, structure: Structure) -> Iterator[Finding]:
    try:
        structure.check(overlay)
    except OverlayError as error:
        subject, _, message = str(error).partition(": ")
        yield Finding(Severity.WARNING, subject, f"attributes {' and '.join(structure.attributes)}", message)


def _asymmetric(element: str, forward: float, backward: float) -> Finding:
    return Finding(Severity.WARNING, "asymmetric delay", element, f"{_ms(forward)} there, {_ms(backward)} back")


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.4g} ms"
