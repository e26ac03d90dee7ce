"""Full meshes: overlays with a link between every two brokers, whose links are drawn on demand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from topology.link_properties import BrokerId, Link, OverlayError
from topology.links import LinkTemplates
from topology.model import Broker, Delays, LinkSource, MeshLinks, Overlay
from topology.underlays.mesh import Mesh


@dataclass(frozen=True, slots=True)
class DrawnLinks(LinkSource):
    """Links drawn from templates, by the seed and their two ends."""

    templates: LinkTemplates
    seed: int
    mesh: Mesh | None = None
    """The delays of the links, if they are not the templates'."""

    def between(self, a: BrokerId, b: BrokerId) -> Link:
        delays = None if self.mesh is None else (self.mesh.delay(a, b), self.mesh.delay(b, a))
        return self.templates.draw(a, b, f"{self.seed}:link", delays)

    def delays(self, brokers: Sequence[BrokerId]) -> Delays:
        if self.mesh is not None and brokers == tuple(broker.id for broker in self.mesh.brokers):
            return self.mesh.delays
        return LinkSource.delays(self, brokers)

    def rates(self, brokers: Sequence[BrokerId]) -> tuple[float, float] | None:
        rate = self.templates.forward.rate
        return None if rate is None else (rate.low, rate.high)


def drawn_full_mesh(name: str, brokers: Sequence[Broker], templates: LinkTemplates, seed: int) -> Overlay:
    """A full mesh whose links draw all their properties. Raises `OverlayError`, also for what a link could draw."""
    templates.check()
    ids = [broker.id for broker in brokers]
    return Overlay(name, tuple(brokers), MeshLinks(ids, DrawnLinks(templates, seed)))


def full_mesh_on(name: str, mesh: Mesh, templates: LinkTemplates, seed: int) -> Overlay:
    """A full mesh with the delays of a mesh; all other properties are drawn.

    Raises `OverlayError` when a pair's delay is unknown.
    """
    unknown = np.isnan(mesh.delays)
    for row, column in mesh.pairs(unknown):
        raise OverlayError(
            f"the mesh does not know every delay ({unknown.sum()} missing, such as {mesh.brokers[row].id} to "
            f"{mesh.brokers[column].id}), which a full mesh needs: fill them in, or choose another overlay"
        )
    templates.check(float(mesh.delays.max()))
    ids = [broker.id for broker in mesh.brokers]
    return Overlay(name, mesh.brokers, MeshLinks(ids, DrawnLinks(templates, seed, mesh)))
