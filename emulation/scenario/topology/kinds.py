"""The union of all kinds of topology."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, get_args

from pydantic import Field

from emulation.scenario.topology.explicit import ExplicitTopology, FileTopology
from emulation.scenario.topology.kind import TopologyKind
from emulation.scenario.topology.meshes import LatencyMatrixTopology, PlanetLabTopology, TransitStubTopology
from emulation.scenario.topology.papers import PaperTopology
from emulation.scenario.topology.shaped import (
    CyclicTopology,
    FullTopology,
    GridTopology,
    LineTopology,
    RandomRegularTopology,
    RandomTreeTopology,
    RingTopology,
    StarTopology,
    TreeTopology,
)
from emulation.scenario.topology.structured import RedundantTreeTopology, ScotTopology

AnyKind = (
    CyclicTopology
    | RandomRegularTopology
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
    | PaperTopology
    | ExplicitTopology
    | FileTopology
)
TopologySection = Annotated[AnyKind, Field(discriminator="kind")]

KINDS: Mapping[str, type[TopologyKind]] = {
    get_args(model.model_fields["kind"].annotation)[0]: model for model in get_args(AnyKind)
}
"""The section of each kind, by its name."""
