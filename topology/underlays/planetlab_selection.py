"""Selection of 56 sites from the measured round trips between PlanetLab nodes.

`python -m topology.underlays.planetlab_selection MATRIX DIRECTORY DRAW...` writes `planetlab-draw-N.csv` for each draw.
The matrix has a row for each of 490 nodes, without names. It is NetLatency-Data, the median of its 18 slices in ms, as
gzipped CSV. The rules:

1. Regions are groups by average linkage up to 90 ms. The largest has 215 nodes; it is Europe. The next has 191; it is
   the United States, because it alone falls apart at 70 ms into two large groups with 75 ms between them, its coasts.
   Any limit from 80 ms to 110 ms gives the same two but for four nodes.
2. A site is a group by complete linkage up to 2 ms: nodes of one university are nearer to each other than that.
3. A draw takes 44 sites in the United States and 12 elsewhere, as many as MEDYM used, and one node of each, all
   uniformly at random by the draw's number.
"""

from __future__ import annotations

import csv
import gzip
import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

RoundTrips = NDArray[np.float64]
"""Milliseconds between nodes, symmetric."""
Joined = Callable[[RoundTrips, RoundTrips, int, int], RoundTrips]
"""Distances of two joined groups, from the distances and the sizes of both."""

REGION_LIMIT, SITE_LIMIT = 90.0, 2.0
"""Largest round trips, in milliseconds, by which nodes are grouped into regions and into sites."""
IN_UNITED_STATES, ELSEWHERE = 44, 12
"""Sites of a draw. (MEDYM, section 6)"""


def average(first: RoundTrips, second: RoundTrips, size: int, other: int) -> RoundTrips:
    """Average linkage: the mean over all pairs of a node of one group and a node of the other."""
    return (size * first + other * second) / (size + other)


def complete(first: RoundTrips, second: RoundTrips, _size: int, _other: int) -> RoundTrips:
    """Complete linkage: the farthest pair."""
    return np.maximum(first, second)


def groups(distances: RoundTrips, limit: float, joined: Joined) -> list[list[int]]:
    """Nodes in groups, the largest first: the two nearest groups are joined as long as they are within the limit."""
    remaining = distances.copy()
    np.fill_diagonal(remaining, np.inf)
    members = {node: [node] for node in range(len(distances))}
    while True:
        first, second = divmod(int(remaining.argmin()), len(remaining))
        if remaining[first, second] > limit:
            return sorted(map(sorted, members.values()), key=len, reverse=True)
        row = joined(remaining[first], remaining[second], len(members[first]), len(members[second]))
        row[first] = np.inf
        remaining[first], remaining[:, first] = row, row
        remaining[second], remaining[:, second] = np.inf, np.inf
        members[first] += members.pop(second)


def draw(distances: RoundTrips, number: int) -> tuple[list[str], RoundTrips]:
    """The names of 56 sites, those in the United States first, and the round trips between them."""
    rng = random.Random(f"planetlab:{number}")
    regions = {node: region for region, nodes in enumerate(groups(distances, REGION_LIMIT, average)) for node in nodes}
    sites = sorted(groups(distances, SITE_LIMIT, complete))
    inside, outside = _split(sites, regions)
    chosen = [rng.choice(site) for site in [*rng.sample(inside, IN_UNITED_STATES), *rng.sample(outside, ELSEWHERE)]]
    places = [{0: "europe", 1: "us"}.get(regions[node], "far") for node in chosen]
    names = [f"{place}-{places[: index + 1].count(place)}" for index, place in enumerate(places)]
    return names, distances[np.ix_(chosen, chosen)]


def read(path: Path) -> RoundTrips:
    """The matrix of all nodes; lines that begin with # are comments, and an empty cell is on the diagonal."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = list(csv.reader(line for line in file if not line.startswith("#")))
    return np.array([[float(cell or 0) for cell in row] for row in rows])


def main(matrix: Path, directory: Path, numbers: Sequence[int]) -> None:
    """Writes the files of these draws."""
    distances = read(matrix)
    for number in numbers:
        names, round_trips = draw(distances, number)
        with (directory / f"planetlab-draw-{number}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["rtt_ms", *names])
            for index, (name, row) in enumerate(zip(names, round_trips, strict=True)):
                writer.writerow([name, *("" if index == column else f"{ms:.2f}" for column, ms in enumerate(row))])


def _split(sites: list[list[int]], regions: dict[int, int]) -> tuple[list[list[int]], list[list[int]]]:
    """Sites in the United States, and the others. A site is where its first node is."""
    inside = [site for site in sites if regions[site[0]] == 1]
    return inside, [site for site in sites if regions[site[0]] != 1]


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), [int(number) for number in sys.argv[3:]])
