"""The topologies of the papers, by name, each with its source and the choices that the paper leaves open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from scenario.sections.section import suggestion
from scenario.sections.topology.explicit import ExplicitTopology, LinkItem
from scenario.sections.topology.kind import TopologyKind
from scenario.sections.topology.meshes import MeshTopology, PlanetLabTopology, TransitStubTopology, refuse_delay
from scenario.sections.topology.shaped import CyclicTopology, FullTopology, RandomRegularTopology
from scenario.sections.topology.structured import RedundantTreeTopology, ScotTopology
from topology.model import LinkSource, Overlay
from topology.underlays.mesh import Mesh
from topology.underlays.underlay import Underlay


@dataclass(frozen=True, slots=True)
class PaperEntry:
    """One topology of one paper."""

    source: str
    """Paper and section."""
    topology: TopologyKind
    assumption: str = ""
    """Choices that the paper leaves open, and how they are made here."""


def _explicit(*links: tuple[str, str]) -> ExplicitTopology:
    return ExplicitTopology(kind="explicit", links=tuple(LinkItem(between=ends) for ends in links))


_S_E = (
    *(("F", "G"), ("G", "H"), ("H", "I")),
    *(("F", "A"), ("F", "B"), ("F", "C"), ("G", "D"), ("G", "E")),
    *(("H", "J"), ("H", "K"), ("I", "L"), ("I", "M"), ("I", "N")),
)
"""The acyclic factor of S_e."""

PAPERS: Mapping[str, PaperEntry] = {
    "tid-30": PaperEntry(
        "TID, section 5: 30 brokers of mean degree 4", CyclicTopology(kind="cyclic", brokers=30, degree=4)
    ),
    "tid-30-degree-2": PaperEntry(
        "TID, section 5, figure 5(b): 30 brokers of mean degree 2", CyclicTopology(kind="cyclic", brokers=30, degree=2)
    ),
    "tid-30-full": PaperEntry("TID, section 5: 30 brokers, fully connected", FullTopology(kind="full", brokers=30)),
    "tid-500": PaperEntry(
        "TID, section 1: 500 brokers of mean degree 10", CyclicTopology(kind="cyclic", brokers=500, degree=10)
    ),
    "tid-figure-3": PaperEntry(
        "TID, section 3.3, figure 3: two paths from broker 5 to broker 1",
        _explicit(("1", "3"), ("3", "5"), ("1", "2"), ("2", "4"), ("4", "3")),
    ),
    "tid-planetlab": PaperEntry(
        "TID, section 5, figure 5(f): 50 brokers on PlanetLab",
        PlanetLabTopology(kind="planetlab", brokers=50, overlay="cyclic", degree=4),
        "the sites and the degree are not given: 50 of the sites here, degree 4 as in the other experiments",
    ),
    "octopia-figure-1": PaperEntry(
        "OctopiA, section 2, figure 1: six brokers in three regions",
        _explicit(("1", "2"), ("2", "3"), ("4", "5"), ("5", "6"), ("1", "4"), ("2", "5"), ("3", "6")),
    ),
    "octopia-figure-3": PaperEntry(
        "OctopiA, section 3.2, figures 2 and 3: six regions in three clusters",
        ScotTopology(kind="scot", acyclic=(("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "f")), clusters=3),
        "of the acyclic factor the text says that d - e is a link, a an edge broker and e an inner one: a path",
    ),
    "octopia-figure-7": PaperEntry(
        "OctopiA, section 9, figure 7: the product of a path of three and a tetrahedron, 12 brokers",
        ScotTopology(kind="scot", acyclic=(("a", "b"), ("b", "c")), clusters=4),
    ),
    "octopia-s-e": PaperEntry(
        "OctopiA, section 10, figure 9: S_e, an acyclic factor of 14 (inner brokers F to I, the others edge) times 4",
        ScotTopology(kind="scot", acyclic=_S_E, clusters=4),
        "which inner broker an edge broker is linked to is not given: a path F G H I with 3, 2, 2 and 3 edge brokers; "
        "the paper counts 54 brokers, 14 times 4 is 56",
    ),
    "medym": PaperEntry(
        "MEDYM, section 5.1: 1000 servers on 2500 routers with 4469 links, the CBF tree laid over them",
        TransitStubTopology(kind="transit-stub", brokers=1000, router_links=4469, overlay="mst"),
        "the paper's 8938 links are read as directed arcs, two for each link; links between transit domains are not "
        "given: all domains are linked to each other, as slowly as transit routers of one domain; domains have the "
        "mean sizes given, from 1 to less than twice the mean",
    ),
    "medym-planetlab": PaperEntry(
        "MEDYM, section 6: servers at 56 PlanetLab sites, each talking to any other",
        PlanetLabTopology(kind="planetlab", overlay="full"),
        "the sites are not given: cities with universities",
    ),
    "gryphon-figure-1": PaperEntry(
        "Gryphon, section 2, figure 1: a redundant routing tree of 8 brokers",
        RedundantTreeTopology(
            kind="redundant-tree",
            tree=(("PB1", "N21"), ("PB1", "N22"), ("N21", "SB1"), ("N21", "SB2"), ("N22", "SB3")),
            replicas=2,
        ),
    ),
    "gryphon-load": PaperEntry(
        "Gryphon, section 5.2, figure 4(a): four publisher brokers that are also the intermediate node, one subscriber "
        "broker",
        FullTopology(kind="full", brokers=5),
        "logical brokers of one process are one broker here: B1 to B4 are pb1 to pb4, B5 is sb",
    ),
    "gryphon-scalability": PaperEntry(
        "Gryphon, section 5.2, figure 6: one publisher broker, one intermediate, seven subscriber brokers",
        _explicit(("pb", "ib"), *(("ib", f"sb{number}") for number in range(1, 8))),
    ),
    "gryphon-failure": PaperEntry(
        "Gryphon, section 5.2, figure 7: three parallel intermediate brokers between one publisher broker and two "
        "subscriber brokers",
        RedundantTreeTopology(kind="redundant-tree", tree=(("pb", "ib"), ("ib", "sb1"), ("ib", "sb2")), replicas=3),
    ),
    "semi-probabilistic": PaperEntry(
        "Semi-probabilistic routing, section 4, table 1: 300 dispatchers of degree 5",
        RandomRegularTopology(kind="random-regular", brokers=300, degree=5),
    ),
}


def _known(name: str) -> str:
    if name not in PAPERS:
        raise ValueError(f"there is no paper's topology {name!r}{suggestion(name, PAPERS)}")
    return name


class PaperTopology(TopologyKind):
    """A topology of one of the papers, by name; docs/topologies.md lists them."""

    kind: Literal["paper"]
    name: Annotated[str, Field(strict=True), AfterValidator(_known)]
    """Name of the overlay, such as `tid-30`, `octopia-s-e`, `medym` or `gryphon-failure`."""

    @model_validator(mode="after")
    def _has_delays(self) -> PaperTopology:
        if isinstance(PAPERS[self.name].topology, MeshTopology):
            refuse_delay(self.link)
        return self

    def build(self, name: str, seed: int) -> Overlay:
        return self._topology().build(name, seed)

    def mesh(self, name: str, seed: int) -> Mesh:
        return self._topology().mesh(name, seed)

    def link_source(self, name: str, seed: int) -> LinkSource:
        return self._topology().link_source(name, seed)

    def underlay(self, seed: int) -> Underlay | None:
        return self._topology().underlay(seed)

    def _topology(self) -> TopologyKind:
        return PAPERS[self.name].topology.model_copy(update={"link": self.link})
