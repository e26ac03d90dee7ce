"""Sites of clients in the drawing of the overlay: small squares beside their broker.

Pointing at one shows its clients, its access link, the faults that struck it, and what its clients left unread. Where
there is no room for all, a broker has one square for its sites, with their number.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement

from analysis.live.frames import ShownSite, ShownVariant
from record.wording import count_of
from topology.drawings.layout import Position
from topology.model import Overlay

MOST_NODES = 70
"""Brokers and sites together, up to which each site is drawn by itself."""
MOST_OF_A_BROKER = 8
"""Sites of one broker that are drawn by themselves."""
SITES_LISTED = 8
"""Sites that the hint of a common square lists."""
_DIRECTIONS = 16
_AWAY = 11.0
"""Distance of a site from the rim of its broker."""
_MOST_APART = 1.2
"""Radians between neighbouring sites of a broker, at most."""


@dataclass(frozen=True, slots=True)
class SeenSite:
    """A site, and what befell it."""

    site: ShownSite
    stays: Sequence[str]
    """Names of the brokers that it was at, in order; several of a site that moves, which is drawn at the last one."""
    faults: Mapping[str, int]
    """Faults of the site, of its access link and of its clients, by their kind."""
    unread: int
    """Notifications that its clients, which read at a rate, had not read at the end."""
    dropped: int
    """Notifications that its broker dropped because a client did not read."""
    came: int = 0
    """Clients that moved to it."""
    left: int = 0
    """Clients that moved from it to other sites."""

    @property
    def slow(self) -> bool:
        """True if the site's clients read at a limited rate, and notifications stayed unread or were dropped."""
        return self.site.reads > 0 and self.unread + self.dropped > 0

    @property
    def in_words(self) -> str:
        """A line for each fact."""
        site = self.site
        reads = f", each reading {site.reads:.4g} a second" if site.reads else ""
        lines = [f"{site.name}: {site.clients:,} {'client' if site.clients == 1 else 'clients'}{reads}"]
        lines.append(f"access link {site.access}")
        if self.came or self.left:
            lines.append(f"by moves, {self.came:,} came and {self.left:,} left")
        if len(self.stays) > 1:
            lines.append(f"at {', then '.join(self.stays)}")
        if self.faults:
            struck = (kind.replace("_", " ") + (f" ({n} times)" if n > 1 else "") for kind, n in self.faults.items())
            lines.append(f"struck by {', '.join(struck)}")
        if self.unread or self.dropped:
            lines.append(f"{count_of(self.unread, 'notification')} left unread, {self.dropped:,} dropped unread")
        return "\n".join(lines)


def seen_sites(variant: ShownVariant) -> list[SeenSite]:
    """The sites of a variant by its replay, in the order of their numbers."""
    if variant.overlay is None:
        return []
    faults: defaultdict[int, Counter[str]] = defaultdict(Counter)
    unread: Counter[int] = Counter()
    dropped: Counter[int] = Counter()
    came: Counter[int] = Counter()
    left: Counter[int] = Counter()
    names = [broker.name for broker in variant.overlay.brokers]
    stays = [[names[site.broker]] for site in variant.overlay.sites]
    for frame in variant.frames:
        for strike in frame.strikes:
            if strike.begins and strike.site >= 0:
                faults[strike.site][strike.kind] += 1
            if strike.to >= 0:
                stays[strike.site].append(names[strike.to])
            if strike.joins >= 0:
                came[strike.joins] += 1
                left[strike.site] += 1
        for second in frame.sites:
            unread[second.site] += second.unread
            dropped[second.site] += second.dropped
    return [
        SeenSite(site, stays[number], faults[number], unread[number], dropped[number], came[number], left[number])
        for number, site in enumerate(variant.overlay.sites)
    ]


def draw_sites(
    svg: Element, sites: Sequence[SeenSite], overlay: Overlay, places: Mapping[str, Position], radius: float
) -> None:
    """Draws the sites of a variant, each at the broker that it was at last."""
    at: defaultdict[str, list[SeenSite]] = defaultdict(list)
    for seen in sites:
        at[seen.stays[-1]].append(seen)
    links: defaultdict[str, list[float]] = defaultdict(list)
    for link in overlay.links if at else ():
        for one, other in link.directions:
            links[one].append(_turn(places[one], places[other]))
    room = len(places) + len(sites) <= MOST_NODES
    for broker, own in at.items():
        groups = [[seen] for seen in own] if room and len(own) <= MOST_OF_A_BROKER else [own]
        away = _away_from(links[broker])
        apart = min(_MOST_APART, 2 * math.pi / len(groups))
        for place, group in enumerate(groups):
            _draw_group(svg, group, places[broker], radius, away + (place - (len(groups) - 1) / 2) * apart)


def _draw_group(svg: Element, group: Sequence[SeenSite], broker: Position, radius: float, turn: float) -> None:
    """Draws one square with its access link: of one site, or of several."""
    one = len(group) == 1
    half = 3.2 if one else 5.0
    reach = radius + (_AWAY if one else 3.0)
    x, y = (start + reach * along for start, along in zip(broker, (math.cos(turn), math.sin(turn)), strict=True))
    slow, struck = any(seen.slow for seen in group), any(seen.faults for seen in group)
    names = ["site", *(["slow"] if slow else []), *(["struck"] if struck else [])]
    drawn = SubElement(svg, "g", {"class": " ".join(names)})
    SubElement(drawn, "title").text = _in_words(group)
    ends = {"x1": f"{broker[0] + radius * math.cos(turn):.1f}", "y1": f"{broker[1] + radius * math.sin(turn):.1f}"}
    SubElement(drawn, "line", {**ends, "x2": f"{x:.1f}", "y2": f"{y:.1f}"})
    size = f"{2 * half:.1f}"
    SubElement(drawn, "rect", {"x": f"{x - half:.1f}", "y": f"{y - half:.1f}", "width": size, "height": size})
    if not one:
        SubElement(drawn, "text", {"x": f"{x:.1f}", "y": f"{y + 2.6:.1f}"}).text = f"{len(group)}"
    if unread := sum(seen.unread for seen in group):
        side = 1 if math.cos(turn) >= 0 else -1
        at = {"x": f"{x + side * (half + 2):.1f}", "y": f"{y + 2.6:.1f}", "class": "after" if side > 0 else "before"}
        SubElement(drawn, "text", at).text = f"{unread:,} unread"


def _in_words(group: Sequence[SeenSite]) -> str:
    if len(group) == 1:
        return group[0].in_words
    more = [f"and {len(group) - SITES_LISTED:,} more"] if len(group) > SITES_LISTED else []
    return "\n".join([f"{count_of(len(group), 'site')}:", *(seen.in_words for seen in group[:SITES_LISTED]), *more])


def _turn(one: Position, other: Position) -> float:
    return math.atan2(other[1] - one[1], other[0] - one[0])


def _away_from(links: Sequence[float]) -> float:
    """The direction that is farthest from those of a broker's links."""
    turns = [2 * math.pi * (step + 0.5) / _DIRECTIONS for step in range(_DIRECTIONS)]
    return max(
        turns, key=lambda turn: min((abs(math.remainder(turn - link, 2 * math.pi)) for link in links), default=0)
    )
