"""`brokerlab topology multicast`: MEDYM's functions on distances from a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec
import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from broker_service.routing.common.distances import Distances, Servers
from broker_service.routing.medym.multicast.routing_functions import (
    Multicast,
    balanced_mst,
    close_mst,
    mst,
    multicast_tree,
)
from record.errors import BadInputError
from record.exit_codes import ExitCode
from record.wording import count_of
from scenario.sections.section import suggestion
from topology.link_properties import OverlayError
from topology.underlays.mesh_files import load_matrix

ALGORITHMS = ("mst", "close", "balanced")
ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class MulticastRequest:
    """A destination list to split, as named on the command line; names are texts of the form `A,B,...`."""

    file: Path
    server: str
    destinations: tuple[str, ...]
    algorithm: str
    candidates: int
    overloaded: tuple[str, ...]


class Split(msgspec.Struct, frozen=True):
    """The document that `--json` prints."""

    next_hops: Mapping[str, list[str]]
    """Destination list of each next hop, which is in it."""
    cost: float
    """Sum of the distances of all messages when every server that the event reaches applies the same algorithm.

    In the unit of the file; the distance of a pair is the mean of its two directions.
    """
    messages: int
    """Links of the multicast tree."""
    delivers_here: bool = False
    """True where the server itself is on the list, so that it notifies its own clients (section 3.1)."""


def show(request: MulticastRequest, print_split: Callable[[MulticastRequest, Split], None]) -> ExitCode:
    """Prints the next hops, their destination lists and the cost of the tree. Raises `BadInputError`."""
    print_split(request, split(request))
    return ExitCode.CORRECT


def split(request: MulticastRequest) -> Split:
    """Splits the destination list. Raises `BadInputError` for a file or a name that cannot be used."""
    names, distances = _distances(request.file)
    numbers = _Numbers({name: number for number, name in enumerate(names)}, request.file)
    server = numbers.of("--server", request.server)
    destinations = (
        numbers.all_but(server)
        if ALL in request.destinations
        else numbers.listed("--destinations", request.destinations)
    )
    delivers_here = server in destinations
    destinations = destinations[destinations != server]
    multicast = _function(request, numbers)
    hops = list(multicast_tree(distances, server, destinations, multicast))
    return Split(
        {
            names[hop]: [names[number] for number in branch]
            for hop, branch in (multicast(distances, server, destinations) if len(destinations) else ())
        },
        float(sum(distances.values[hop.sender, hop.receiver] for hop in hops)),
        len(hops),
        delivers_here,
    )


def as_json(_request: MulticastRequest, found: Split) -> None:
    typer.echo(msgspec.json.format(msgspec.json.encode(found), indent=1))


def as_table(request: MulticastRequest, found: Split) -> None:
    """A row for each next hop."""
    table = Table(box=None, pad_edge=False)
    table.add_column("next hop", style="bold", no_wrap=True)
    table.add_column("servers", justify="right")
    table.add_column("destination list", overflow="fold")
    if found.delivers_here:
        table.add_row("(delivers here)", "1", escape(request.server))
    for hop, listed in found.next_hops.items():
        table.add_row(escape(hop), f"{len(listed):,}", escape(" ".join(listed)))
    console = Console(highlight=False)
    console.print(table)
    console.print(
        f"cost of the tree from {request.server}: {found.cost:.6g} in the unit of {request.file.name}, "
        f"{count_of(found.messages, 'message')}",
        markup=False,
        soft_wrap=True,
    )


def _distances(file: Path) -> tuple[Sequence[str], Distances]:
    try:
        matrix = load_matrix(file)
    except OSError as error:
        raise BadInputError(f"{file}: {error.strerror}") from error
    except OverlayError as error:
        raise BadInputError(str(error)) from error
    numbers = matrix.numbers.copy()
    np.fill_diagonal(numbers, 0.0)
    unknown = np.argwhere(np.isnan(numbers))
    if len(unknown):
        row, column = unknown[0]
        source, target = matrix.names[row], matrix.names[column]
        raise BadInputError(f"{file}: the distance from {source} to {target} is missing; give one for each pair")
    return matrix.names, Distances(numbers)


@dataclass(frozen=True, slots=True)
class _Numbers:
    """Numbers of the servers, by the names in a file."""

    known: Mapping[str, int]
    file: Path

    def of(self, option: str, name: str) -> int:
        """Raises `BadInputError` for a name that the file does not have."""
        if name not in self.known:
            hint = suggestion(name, self.known)
            raise BadInputError(f"{option}: {self.file} has no server {name!r}{hint}")
        return self.known[name]

    def listed(self, option: str, texts: Sequence[str]) -> Servers:
        """The servers of some lists, in ascending order. Raises `BadInputError`."""
        names = [name.strip() for text in texts for name in text.split(",")]
        return np.array(sorted({self.of(option, name) for name in names if name}), np.uint16)

    def all_but(self, server: int) -> Servers:
        return np.array([number for number in self.known.values() if number != server], np.uint16)


def _function(request: MulticastRequest, numbers: _Numbers) -> Multicast:
    overloaded = np.zeros(len(numbers.known), bool)
    overloaded[numbers.listed("--overloaded", request.overloaded)] = True
    match request.algorithm:
        case "mst":
            return mst
        case "close":
            return partial(close_mst, candidates=request.candidates)
        case "balanced":
            return partial(balanced_mst, overloaded=overloaded, candidates=request.candidates)
        case other:
            raise BadInputError(f"--algorithm {other}: must be one of {', '.join(ALGORITHMS)}")
