"""Makes one run directory of those that the hosts of a run have written."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from emulation.host.archives import unpack_archive
from emulation.host.run_paths import RunPaths
from emulation.multi_host.model import Member, part_id
from emulation.run import Outcome
from record import fidelity, manifest
from record.errors import HostError
from record.fidelity import Check, Fidelity, Sample, VariantFidelity, Verdict, worst
from record.files import LOGS, log_file, log_files
from record.manifest import HostRecord, Manifest, PhaseName, VariantRecord

HOSTS = "hosts"
PACKED = "part.tar.gz"
CLOCK_ERROR_LIMIT = 1.0
"""Milliseconds by which delays from one host to another may be wrong before a run is DEGRADED."""


def unpack(paths: RunPaths, members: Sequence[Member]) -> dict[str, Path]:
    """Unpacks what was fetched; returns each host's own run directory, where there is one."""
    found: dict[str, Path] = {}
    for number, member in enumerate(members):
        directory = paths.directory / HOSTS / member.name
        packed = directory / PACKED
        if not packed.exists():
            continue
        unpack_archive(packed, directory)
        packed.unlink()
        own = directory / "run" / part_id(paths.run_id, number)
        if own.is_dir():
            for entry in own.iterdir():
                entry.rename(directory / entry.name)
            for emptied in ("run", "signals", "async"):
                shutil.rmtree(directory / emptied, ignore_errors=True)
            found[member.name] = directory
    return found


def gather(paths: RunPaths, members: Sequence[Member], record: Manifest) -> Outcome:
    """Joins logs, manifests and fidelity verdicts of all hosts. `record` is the run's manifest so far.

    Raises `HostError` when a host has written nothing, or not all that a run leaves.
    """
    own = unpack(paths, members)
    try:
        records = {name: manifest.read(directory) for name, directory in own.items()}
        verdicts = {name: fidelity.read(directory) for name, directory in own.items()}
    except (OSError, msgspec.DecodeError) as error:
        raise HostError(f"a host's part of the run is not whole: {error}; see {paths.directory / HOSTS}") from error
    if missing := [member.name for member in members if member.name not in own]:
        raise HostError(f"nothing came back from {', '.join(missing)}; see {paths.directory / HOSTS}")
    hosts = [_host(paths, name, own[name], records[name]) for name in own]
    keeper = records[members[0].name]
    record = msgspec.structs.replace(
        record,
        versions=keeper.versions,
        image=keeper.image,
        kernel=keeper.kernel,
        clock=f"{keeper.clock.split(',')[0]} {members[0].name}, in nanoseconds".replace("this host", "host"),
        host=keeper.host,
        interrupted=any(each.interrupted for each in records.values()),
        variants=[_variant(variant, records) for variant in keeper.variants],
        hosts=hosts,
    )
    manifest.write(record, paths.directory)
    verdict = join_verdicts(verdicts, hosts)
    fidelity.write(verdict, paths.directory)
    began = any(variant.phase(PhaseName.RUN) is not None for variant in record.variants)
    return Outcome(paths.directory, verdict, record.interrupted, began)


def _host(paths: RunPaths, name: str, own: Path, record: Manifest) -> HostRecord:
    """Moves a host's logs to the run's; returns what the run's manifest has of the host."""
    (host,) = record.hosts
    for log in log_files(own / LOGS):
        # A broker may have been on several hosts, in variants of different overlays.
        target = paths.logs / log.name
        if target.exists():
            target = log_file(paths.logs, f"{log.stem}@{name}")
        log.rename(target)
        host.logs.append(target.name)
    (own / LOGS).rmdir()
    return host


def _variant(variant: VariantRecord, records: Mapping[str, Manifest]) -> VariantRecord:
    everywhere = [one for record in records.values() for one in record.variants if one.name == variant.name]
    return msgspec.structs.replace(variant, interrupted=any(one.interrupted for one in everywhere))


def join_verdicts(verdicts: Mapping[str, Fidelity], hosts: Sequence[HostRecord]) -> Fidelity:
    """One verdict on each variant, the severest of the hosts', and of how well their clocks are known."""
    names = dict.fromkeys(variant.name for each in verdicts.values() for variant in each.variants)
    clocks = clock_check(hosts)
    variants = [
        _join({host: one for host, each in verdicts.items() for one in each.variants if one.name == name}, name, clocks)
        for name in names
    ]
    return Fidelity(verdict=worst(variant.verdict for variant in variants), variants=variants)


def _join(parts: Mapping[str, VariantFidelity], name: str, clocks: Check) -> VariantFidelity:
    checks = [
        msgspec.structs.replace(check, name=f"{check.name} ({host})")
        for host, part in parts.items()
        for check in part.checks
    ]
    checks.append(clocks)
    return VariantFidelity(
        name=name,
        verdict=worst(check.verdict for check in checks),
        checks=checks,
        links=[link for part in parts.values() for link in part.links],
        samples=_join_samples([part.samples for part in parts.values()]),
        advice=next((part.advice for part in parts.values() if part.advice), ""),
    )


def _join_samples(series: Sequence[Sequence[Sample]]) -> list[Sample]:
    """Of each stretch what was worst on any host; hosts sample at about the same times."""
    return [
        _worst_sample([sample for sample in together if sample is not None])
        for together in itertools.zip_longest(*series)
    ]


def _worst_sample(samples: Sequence[Sample]) -> Sample:
    first = samples[0]
    measured = {
        field: max(values)
        for field in Sample.__struct_fields__
        if field not in ("begin", "end")
        and (values := [v for one in samples if (v := getattr(one, field)) is not None])
    }
    return msgspec.structs.replace(first, **measured)


def clock_check(hosts: Sequence[HostRecord]) -> Check:
    """How far a delay measured from one host to another may be wrong, because of what is not known of their clocks."""
    keeper, *others = hosts
    if unknown := [host.name for host in others if not host.offsets]:
        return _clocks(None, Verdict.INVALID, f"nothing is known of the clock of {', '.join(unknown)}")
    errors = {host.name: max(sample.error for sample in host.offsets) for host in others}
    value = sum(sorted(errors.values())[-2:]) / 1e6
    told = "; ".join(
        f"{host.name} {host.offsets[-1].offset / 1e9:+.6f} s +- {errors[host.name] / 1e6:.3f} ms" for host in others
    )
    return _clocks(
        value,
        Verdict.DEGRADED if value > CLOCK_ERROR_LIMIT else Verdict.VALID,
        f"one-way delays between hosts are corrected by their clocks' offsets from {keeper.name}'s ({told}); what is "
        f"left may be wrong by {value:.3f} ms at most",
    )


def _clocks(value: float | None, verdict: Verdict, detail: str) -> Check:
    return Check(name="clocks", value=value, unit="ms", limit=CLOCK_ERROR_LIMIT, verdict=verdict, detail=detail)
