"""Shares of a run as hosts hand them in."""

from __future__ import annotations

import tarfile
from pathlib import Path

from emulation.host.run_paths import RunPaths
from emulation.multi_host.gather import HOSTS, PACKED
from emulation.multi_host.model import Member, share_id
from record import fidelity, manifest
from record.fidelity import Fidelity, FidelityVerdict
from record.files import PROCESSORS

MEMBERS = (Member(name="h1", address="10.9.0.1"), Member(name="h2", address="10.9.0.2"))


def hand_in(
    paths: RunPaths, number: int, record: manifest.Manifest, scratch: Path, processors: str | None = None
) -> None:
    """Leaves the archive of a host's share where it is fetched to; `scratch` is a directory for its making, and
    `processors` the content of the file of its sampler, if there is one."""
    member = MEMBERS[number]
    own = scratch / member.name / "run" / share_id(paths.run_id, number)
    (own / "logs").mkdir(parents=True)
    manifest.write(record, own)
    fidelity.write(Fidelity(verdict=FidelityVerdict.VALID, variants=[]), own)
    if processors is not None:
        (own / PROCESSORS).write_text(processors)
    fetched = paths.directory / HOSTS / member.name
    fetched.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fetched / PACKED, "w:gz") as archive:
        archive.add(scratch / member.name, ".")
