"""The union of all kinds of topology."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, get_args

from pydantic import Field

from scenario.sections.topology.explicit import ExplicitTopology, FileTopology
from scenario.sections.topology.kind import TopologyKind
from scenario.sections.topology.meshes import LatencyMatrixTopology, PlanetLabTopology, TransitStubTopology
from scenario.sections.topology.papers import PaperTopology
from scenario.sections.topology.shaped import (
    CyclicTopology,
    FullTopology,
    GridTopology,
    LayeredTopology,
    LineTopology,
    RandomRegularTopology,
    RandomTreeTopology,
    RingTopology,
    StarTopology,
    TreeTopology,
)
from scenario.sections.topology.structured import RedundantTreeTopology, ScotTopology
from scenario.sections.topology.unit_disk import UnitDiskTopology

AnyKind = (
    CyclicTopology
    | RandomRegularTopology
    | LayeredTopology
    | LineTopology
    | RingTopology
    | GridTopology
    | StarTopology
    | FullTopology
    | TreeTopology
    | RandomTreeTopology
    | ScotTopology
    | RedundantTreeTopology
    | PlanetLabTopology
    | TransitStubTopology
    | LatencyMatrixTopology
    | UnitDiskTopology
    | PaperTopology
    | ExplicitTopology
    | FileTopology
)
TopologySection = Annotated[AnyKind, Field(discriminator="kind")]

KINDS: Mapping[str, type[TopologyKind]] = {
    get_args(model.model_fields["kind"].annotation)[0]: model for model in get_args(AnyKind)
}
"""The section of each kind, by its name."""
