"""Refusals of a run directory that is damaged, foreign or of another version, in one sentence each.

A run directory may come from elsewhere, cut short or changed on its way. Whatever is taken from it as a number or as a
file is looked at here before anything is computed, so that damage is named and never becomes a verdict.
"""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

import msgspec

from record.errors import RunDirectoryError
from record.files import MANIFEST, log_files, open_log
from record.manifest import FORMAT, HostRecord, Manifest, VariantRecord

LONGEST_DILATION = 1000.0
"""The largest time dilation that a scenario may ask for."""
LATEST_TIME = 2**60
"""Nanoseconds of a clock, at most: 36 years. Sums of a few times still fit 64 bits."""


class _Stated(msgspec.Struct):
    """The version of a run directory; those that state none are of the first."""

    format: int = 1


def require_this_format(file: Path, content: bytes) -> None:
    """Raises `RunDirectoryError` for the manifest of another version; `msgspec.DecodeError` for what is no manifest."""
    stated = msgspec.json.decode(content, type=_Stated).format
    if stated != FORMAT:
        raise RunDirectoryError(
            f"{file}: format: {stated}, but this version of brokerlab reads {FORMAT}; analyse the run with the version "
            "that made it, or run the scenario again"
        )


def require_sound_manifest(manifest: Manifest, directory: Path) -> None:
    """Raises `RunDirectoryError` that names the first field whose value no run can have written."""
    for wrong in _wrong_fields(manifest):
        raise RunDirectoryError(f"{directory / MANIFEST}: {wrong}; it is damaged: copy it again, or run again")


def _wrong_fields(manifest: Manifest) -> Iterable[str]:
    names = [variant.name for variant in manifest.variants]
    if len(set(names)) < len(names):
        yield "variants: two have the same name"
    for variant in manifest.variants:
        for field, fault in _wrong_values(variant):
            yield f"variants: {variant.name!r}: {field}: {fault}"
    if len({host.name for host in manifest.hosts}) < len(manifest.hosts):
        yield "hosts: two have the same name"
    for host in manifest.hosts:
        for field, fault in _wrong_of_host(host):
            yield f"hosts: {host.name!r}: {field}: {fault}"


def _wrong_values(variant: VariantRecord) -> Iterable[tuple[str, str]]:
    if not 1 <= variant.time_dilation <= LONGEST_DILATION:
        yield "time_dilation", f"{variant.time_dilation:g} is not between 1 and {LONGEST_DILATION:g}"
    if not math.isfinite(variant.recovery) or not 0 <= variant.recovery <= LATEST_TIME:
        yield "recovery", f"{variant.recovery:g} is no time in seconds"
    for phase in variant.phases:
        if not 0 <= phase.start <= phase.end <= LATEST_TIME:
            yield "phases", f"{phase.name} from {phase.start} to {phase.end} is no time of a run's clock"
    if len({phase.name for phase in variant.phases}) < len(variant.phases):
        yield "phases", "one occurs twice"
    for field, file in (
        ("topology", variant.topology),
        ("underlay", variant.underlay),
        ("movements", variant.movements),
    ):
        if isinstance(file, str) and not _names_file(file):
            yield field, f"{file!r} is not the name of a file in the run directory"


def _wrong_of_host(host: HostRecord) -> Iterable[tuple[str, str]]:
    if not _names_file(host.name):
        yield "name", "no file of the run directory can have it in its name"
    if any(abs(time) > LATEST_TIME for found in host.offsets for time in (found.at, found.offset, found.error)):
        yield "offsets", f"one is of more than {LATEST_TIME} ns"
    if any(former.at > latter.at for former, latter in pairwise(host.offsets)):
        yield "offsets", "they are not in order of time"


def _names_file(name: str) -> bool:
    """True for the name of a file in a directory, and false for a path that leads elsewhere."""
    return name not in {"", ".", ".."} and Path(name).name == name


def readable_logs(logs: Path) -> Sequence[Path]:
    """The log files in a folder. Raises `RunDirectoryError` that names one which is no log, or cannot be read."""
    found = log_files(logs)
    for file in found:
        if (fault := _unreadable(file)) is not None:
            raise RunDirectoryError(f"{file}: {fault}; logs are files that nodes wrote: copy it again, or remove it")
    return found


def _unreadable(file: Path) -> str | None:
    """The reason why a path is not taken for a log; None for one that can be read."""
    try:
        mode = file.lstat().st_mode
        if not stat.S_ISREG(mode):
            return f"it is {_kind(mode)}"
        with open_log(file) as opened:
            size = os.fstat(opened.fileno()).st_size
            hole = size and os.lseek(opened.fileno(), 0, os.SEEK_HOLE) < size
    except OSError as error:
        return f"{error.strerror}"
    return "it has holes, so its middle is missing" if hole else None


def _kind(mode: int) -> str:
    kinds = {stat.S_IFLNK: "a link", stat.S_IFDIR: "a directory", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    return kinds.get(stat.S_IFMT(mode), "a device")


def require_own_directory(directory: Path) -> None:
    """Raises `RunDirectoryError` for a link where results are to be written, because it may lead anywhere."""
    if directory.is_symlink():
        raise RunDirectoryError(f"{directory}: it is a link, which is not followed; remove it, or make it a directory")
