"""Wide-area meshes of PlanetLab: 56 sites, 44 in the United States and 12 elsewhere (MEDYM, section 6).

The paper lists neither its sites nor their round trips. Two substitutes are here:

- A model. Its sites are cities with universities, at public coordinates. A round trip is that of light in fibre along
  the great circle, longer by the inflation of Internet paths and by a seeded factor of each pair, plus the access delay
  of both sites.
- Draws from measured round trips between PlanetLab nodes, which have no names and no coordinates.
"""

from __future__ import annotations

import csv
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from itertools import combinations

import numpy as np

from topology.link_properties import OverlayError
from topology.model import Broker
from topology.underlays.mesh import Mesh
from topology.underlays.mesh_files import from_csv

EARTH_RADIUS = 6371.0
"""Kilometres, mean."""
FIBRE_SPEED = 200_000.0
"""Kilometres a second: two thirds of the speed of light."""
DRAWS = 4
"""Draws of 56 sites from measured round trips, numbered from 0; `topology/data/README.md` has their source."""

_DATA = resources.files("topology").joinpath("data")


@dataclass(frozen=True, slots=True)
class Site:
    """A place with a broker. Degrees north and east."""

    name: str
    city: str
    country: str
    """Two letters (ISO 3166-1)."""
    latitude: float
    longitude: float


@dataclass(frozen=True, slots=True)
class WideArea:
    """Model of a wide-area network's delays: what comes on top of light's time in fibre along the great circle."""

    inflation: float = 2.5
    """Mean ratio of a path's length to the great circle's."""
    noise: float = 0.12
    """Standard deviation of the logarithm of each pair's own factor; no path gets shorter than the great circle."""
    access: float = 0.0005
    """One-way delay between a site and the network, in seconds."""

    def __post_init__(self) -> None:
        if not 1 <= self.inflation < math.inf:
            raise OverlayError(f"path inflation is 1 or more, not {self.inflation}")
        if not (0 <= self.noise < math.inf and 0 <= self.access < math.inf):
            raise OverlayError("the noise and the access delay of a wide-area network cannot be negative")

    def round_trip(self, a: Site, b: Site, rng: random.Random) -> float:
        """Seconds between two sites; the noise has a mean of 1."""
        factor = self.inflation * rng.lognormvariate(-(self.noise**2) / 2, self.noise)
        return 2 * (great_circle(a, b) / FIBRE_SPEED * max(1.0, factor) + 2 * self.access)


def sites() -> tuple[Site, ...]:
    """The 56 sites, those in the United States first."""
    text = _DATA.joinpath("planetlab-sites.csv").read_text(encoding="utf-8")
    return tuple(
        Site(row["name"], row["city"], row["country"], float(row["latitude"]), float(row["longitude"]))
        for row in csv.DictReader(text.splitlines())
    )


def planetlab(brokers: int, wide_area: WideArea, seed: int) -> Mesh:
    """A mesh of brokers at `brokers` sites, drawn at random unless all are used. Raises `OverlayError`.

    Brokers are named after their sites and carry `city`, `country`, `latitude` and `longitude`. A pair's round trip
    depends on the seed and the two sites only.
    """
    every = sites()
    return wide_area_mesh("planetlab", [every[index] for index in _chosen(brokers, len(every), seed)], wide_area, seed)


def measured(brokers: int, draw: int, seed: int) -> Mesh:
    """A mesh of brokers at `brokers` sites of a draw, chosen at random unless all are used. Raises `OverlayError`.

    Brokers are named after their regions: `us-1`, `europe-1`, `far-1`, and so on.
    """
    if not 0 <= draw < DRAWS:
        raise OverlayError(f"there are {DRAWS} draws of measured round trips, numbered from 0; there is no draw {draw}")
    mesh = from_csv(_DATA.joinpath(f"planetlab-draw-{draw}.csv").read_text(encoding="utf-8"), f"planetlab-{draw}")
    chosen = _chosen(brokers, len(mesh.brokers), seed)
    return Mesh("planetlab", tuple(mesh.brokers[index] for index in chosen), mesh.delays[np.ix_(chosen, chosen)])


def wide_area_mesh(name: str, chosen: Sequence[Site], wide_area: WideArea, seed: int) -> Mesh:
    """A broker at each of these sites; half a round trip is the delay of each direction."""
    delays = np.zeros((len(chosen), len(chosen)))
    for (row, a), (column, b) in combinations(enumerate(chosen), 2):
        rng = random.Random(f"{seed}:round trip:{min(a.name, b.name)}:{max(a.name, b.name)}")
        delays[row, column] = delays[column, row] = wide_area.round_trip(a, b, rng) / 2
    return Mesh(name, tuple(_broker(site) for site in chosen), delays)


def great_circle(a: Site, b: Site) -> float:
    """Kilometres between two sites along the surface (the haversine formula)."""
    north_a, north_b = math.radians(a.latitude), math.radians(b.latitude)
    north, east = north_b - north_a, math.radians(b.longitude - a.longitude)
    chord = math.sin(north / 2) ** 2 + math.cos(north_a) * math.cos(north_b) * math.sin(east / 2) ** 2
    return 2 * EARTH_RADIUS * math.asin(math.sqrt(chord))


def _chosen(brokers: int, among: int, seed: int) -> list[int]:
    """The indexes of the sites with a broker, in order. Raises `OverlayError`."""
    if not 1 <= brokers <= among:
        raise OverlayError(f"there are {among} sites; {brokers} brokers cannot have one each")
    return sorted(random.Random(f"{seed}:sites").sample(range(among), brokers))


def _broker(site: Site) -> Broker:
    return Broker(
        site.name,
        {"city": site.city, "country": site.country, "latitude": site.latitude, "longitude": site.longitude},
    )
