"""The campaign directory: that of its cells, with the campaign itself.

campaign.json            the campaign's manifest, with its cells
cells/<key>/             see `studies.cells.store`
summary.json, report/    the matrix
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from emulation.host import provenance
from record.errors import BadInputError, unusable_directory
from record.files import read_file, write_json
from record.manifest import ChosenDilation, Host
from studies.campaign.cell import CampaignCell
from studies.campaign.cells import fingerprint
from studies.campaign.matrix import CampaignSummary, CellLine, line_of, summarise
from studies.campaign.model import Campaign
from studies.campaign.result import CampaignResult
from studies.cells.store import LOCK, CellStore, stored_manifest, stored_result

FORMAT = 1


class CampaignManifest(msgspec.Struct, frozen=True, kw_only=True):
    """`campaign.json`."""

    format: int = FORMAT
    name: str
    description: str
    fingerprint: str
    """Hash of everything that is run; a campaign with another one is another campaign."""
    scenario: str
    runtime: str
    factors: dict[str, list[Any]]
    schedules: list[str]
    seeds: list[int]
    retries: int
    cells: list[str]
    """The keys of the cells in the order in which they are run."""
    created: str
    versions: dict[str, str]
    git_revision: str | None
    kernel: str
    host: Host
    protocols: dict[str, str] | msgspec.UnsetType = msgspec.UNSET
    """Digests of the code of its protocols from outside, by reference; not set without any."""
    dilation: ChosenDilation | msgspec.UnsetType = msgspec.UNSET
    """The time dilation of all cells, where rehearsals chose it before the first one."""


@dataclass(frozen=True, slots=True)
class CampaignDirectory(CellStore[CampaignResult]):
    """The files of one campaign."""

    result_type: type[CampaignResult] = CampaignResult

    made_here: ClassVar[Sequence[str]] = (*CellStore.made_here, "summary.json", "campaign.json")

    @property
    def manifest_file(self) -> Path:
        return self.path / "campaign.json"

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keeps every other command out. Raises `BadInputError` also for a directory of anything but a campaign."""
        try:
            names = {entry.name for entry in self.path.iterdir()} if self.path.exists() else set()
        except OSError as error:
            raise unusable_directory(self.path, error) from error
        if names - {LOCK} and self.manifest_file.name not in names:
            raise BadInputError(f"{self.path}: holds {min(names)} and no campaign; choose another one with --out")
        with CellStore.held(self):
            yield

    def open(self, campaign: Campaign, planned: Sequence[CampaignCell], file: Path) -> None:
        """Begins the campaign in this directory, or resumes it. To be called while `held`.

        Raises `BadInputError` if the directory belongs to another campaign, or to an earlier version of this one.
        """
        manifest = _manifest(campaign, tuple(planned))
        earlier = self._earlier()
        if earlier is None:
            write_json(self.manifest_file, manifest)
        elif earlier.fingerprint != manifest.fingerprint:
            done = sum(self.result_file(key).exists() for key in earlier.cells)
            raise BadInputError(
                f"{file}: {_difference(earlier, manifest)} since {self.path} was begun ({done} of {len(earlier.cells)} "
                "cells done), so its results are of another campaign: choose another directory with --out, or run all "
                "again with --fresh, which removes them"
            )

    def summary(self) -> CampaignSummary:
        """The matrix of what is done, from this directory alone. Raises `BadInputError` where no campaign was begun."""
        return self.summary_of(self.line)

    def summary_of(self, line: Callable[[str], CellLine | None]) -> CampaignSummary:
        """The matrix of lines that are known already, by the keys of their cells. Raises as `summary`."""
        begun = self._earlier()
        if begun is None:
            raise BadInputError(f"{self.path}: no campaign was begun here")
        lines = [found for key in begun.cells if (found := line(key)) is not None]
        return summarise(
            begun.name, begun.description, begun.fingerprint, len(begun.cells), lines, dilation=begun.dilation
        )

    def line(self, key: str) -> CellLine | None:
        """The line of a cell; None as long as it is not done. Raises `BadInputError` for one of another version."""
        result, manifest = stored_result(self, key), stored_manifest(self, key)
        return None if result is None else line_of([] if manifest is None else manifest.attempts, result)

    @property
    def dilation(self) -> ChosenDilation | msgspec.UnsetType:
        """The time dilation that rehearsals chose for all cells; not set where none did."""
        earlier = self._earlier()
        return msgspec.UNSET if earlier is None else earlier.dilation

    def keep_dilation(self, chosen: ChosenDilation) -> None:
        """Keeps the chosen dilation, which a resumed campaign takes again. To be called while the directory is open."""
        earlier = self._earlier()
        assert earlier is not None
        write_json(self.manifest_file, msgspec.structs.replace(earlier, dilation=chosen))

    def _earlier(self) -> CampaignManifest | None:
        try:
            return msgspec.json.decode(read_file(self.manifest_file), type=CampaignManifest)
        except FileNotFoundError:
            return None
        except msgspec.DecodeError as error:
            raise BadInputError(f"{self.manifest_file}: {error}; --fresh begins the campaign again") from error


def _manifest(campaign: Campaign, planned: tuple[CampaignCell, ...]) -> CampaignManifest:
    return CampaignManifest(
        name=campaign.name,
        description=campaign.description,
        fingerprint=fingerprint(campaign, planned),
        scenario=campaign.scenario,
        runtime=campaign.runtime,
        factors=campaign.factors,
        schedules=list(dict.fromkeys(cell.schedule for cell in planned)),
        seeds=list(campaign.seeds),
        retries=campaign.retries,
        cells=[cell.key for cell in planned],
        protocols={packed.reference: packed.digest for cell in planned for packed in cell.protocols} or msgspec.UNSET,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        versions=provenance.versions(),
        git_revision=provenance.git_revision(),
        kernel=provenance.kernel(),
        host=provenance.host(),
    )


def _difference(earlier: CampaignManifest, now: CampaignManifest) -> str:
    """The fields of the campaign that have changed, as far as the manifest holds them."""
    changed = [
        name
        for name in ("name", "runtime", "factors", "schedules", "seeds", "scenario")
        if getattr(earlier, name) != getattr(now, name)
    ]
    before, present = earlier.protocols or {}, now.protocols or {}
    changed += [f"the code of {name}" for name, digest in present.items() if before.get(name, digest) != digest]
    return f"{' and '.join(changed)} changed" if changed else "the scenario, `set` or a fault schedule changed"
