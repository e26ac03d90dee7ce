"""The figures of delays in words, each with what is not the overlay's beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import UNSET

from analysis.tables.summary import Delay
from analysis.tables.wording import rounded
from record.fidelity import FidelityVerdict
from record.figures import LIMITS, Figure, FigureVerdict, share_of, whose

_LEADS: Mapping[Figure, str] = {
    Figure.MEAN: "mean",
    Figure.P50: "median",
    Figure.P95: "95% within",
    Figure.P99: "99% within",
}


def delay_line(delay: Delay) -> str:
    """All figures in one line, each with what is not the overlay's, and the remedy."""
    values = [(figure, getattr(delay, f"{figure}_ms")) for figure in Figure]
    shown = [f"{_LEADS[figure]} {value:.1f} ms{beside(delay.of(figure))}" for figure, value in values]
    remedy = next((f": {found.remedy}" for found in delay.figures if found.remedy), "")
    return f"delay: {', '.join(shown)}{remedy}{_unknown(delay.figures)}"


def overlay_line(delay: Delay) -> str | None:
    """All figures of the overlay's part of delays in one line, without access links of clients' sites; None where no
    client is on a site, or that part is not known."""
    without = delay.without_access
    if without is UNSET:
        return None
    known = without.notifications != delay.notifications
    of = f" (of {without.notifications:,} notifications whose ways are logged)" if known else ""
    shown = [f"{_LEADS[figure]} {getattr(without, f'{figure}_ms'):.1f} ms" for figure in Figure]
    return f"the overlay's part, without access links: {', '.join(shown)}{of}"


def beside(found: FigureVerdict | None) -> str:
    """The parts of a figure that are not the overlay's, as clauses such as `, of which 61 are this host's`; empty for
    one that holds, or of which nothing is known."""
    return "" if found is None else "".join(f", {part}" for part in _parts(found))


def _parts(found: FigureVerdict) -> Iterator[str]:
    if found.contention_ms is not None and _is_beyond(found, found.contention_ms):
        if found.contention_ms >= found.value_ms:  # both are estimates
            yield f"all of it {whose(found.host)}"
        elif found.contention_ms > 0:
            yield f"of which {rounded(found.contention_ms)} are {whose(found.host)}"
        else:
            yield f"and {rounded(-found.contention_ms)} more in its replay without contention"
    if found.unexplained_ms is not None and _is_beyond(found, found.unexplained_ms):
        yield f"of which {rounded(found.unexplained_ms)} are unexplained"


def _is_beyond(found: FigureVerdict, part: float) -> bool:
    if found.verdict is FidelityVerdict.VALID:
        return False
    return LIMITS[found.figure].verdict(share_of(abs(part), found.value_ms)) is not FidelityVerdict.VALID


def _unknown(figures: Sequence[FigureVerdict]) -> str:
    unknown = [_LEADS[found.figure].removesuffix(" within") for found in figures if found.verdict is None]
    if not unknown:
        return ""
    which = "all of them" if len(unknown) == len(Figure) else " and ".join(unknown)
    hosts = "this host" if all(found.host is UNSET for found in figures) else "the hosts"
    return f"; not known what {hosts} did to {which}"
