"""Joins the run directories that the hosts of a run have written into one."""

from __future__ import annotations

import contextlib
import itertools
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import UNSET, UnsetType

from emulation.host.archives import unpack_archive
from emulation.host.run_paths import RunPaths
from emulation.multi_host.model import Member, share_id
from emulation.multi_host.signals import SIGNALS
from emulation.run import RunOutcome
from record import fidelity, manifest
from record.errors import HostError
from record.fidelity import Check, Fidelity, FidelityVerdict, Sample, VariantFidelity, check_on, worst
from record.figures import JUDGED_LATER
from record.files import LOADS, LOGS, PROCESSORS, log_file, log_files, processors_of
from record.host_speed import HostSpeed
from record.manifest import HostRecord, Manifest, PhaseName, PhaseRecord, VariantRecord

HOSTS = "hosts"
PACKED = "share.tar.gz"
CLOCK_ERROR_LIMIT = 1.0
"""Error in milliseconds of delays between hosts above which a run is DEGRADED."""


def unpack(paths: RunPaths, members: Sequence[Member]) -> dict[str, Path]:
    """Unpacks the fetched archives; returns the run directories of the hosts that have one."""
    found: dict[str, Path] = {}
    for number, member in enumerate(members):
        directory = paths.directory / HOSTS / member.name
        packed = directory / PACKED
        if not packed.exists():
            continue
        unpack_archive(packed, directory)
        packed.unlink()
        own = directory / "run" / share_id(paths.run_id, number)
        if own.is_dir():
            for entry in own.iterdir():
                entry.rename(directory / entry.name)
            for emptied in ("run", SIGNALS):
                shutil.rmtree(directory / emptied, ignore_errors=True)
            found[member.name] = directory
    return found


def gather(paths: RunPaths, members: Sequence[Member], record: Manifest, defect: str = "") -> RunOutcome:
    """Joins logs, manifests and fidelity verdicts of all hosts. `record` is the run's manifest so far.

    `defect` names the broker whose own code failed, if one did; then the other hosts were ended because of it and not
    because the user asked for it. Raises `HostError` if the run directory of a host is missing or not complete.
    """
    own = unpack(paths, members)
    try:
        records = {name: manifest.read(directory) for name, directory in own.items()}
        verdicts = {name: fidelity.read(directory) for name, directory in own.items()}
    except (OSError, msgspec.DecodeError) as error:
        raise HostError(
            f"the run directory of a host is not complete: {error}; see {paths.directory / HOSTS}"
        ) from error
    if missing := [member.name for member in members if member.name not in own]:
        raise HostError(f"nothing came back from {', '.join(missing)}; see {paths.directory / HOSTS}")
    if unready := [name for name, of_host in records.items() if not of_host.hosts]:
        raise HostError(f"ended before clocks were compared: {', '.join(unready)}; see {paths.directory / HOSTS}")
    hosts = [_host(paths, name, own[name], records[name]) for name in own]
    keeper = records[members[0].name]
    record = msgspec.structs.replace(
        record,
        versions=keeper.versions,
        image=keeper.image,
        kernel=keeper.kernel,
        clock=f"{keeper.clock.split(',')[0]} {members[0].name}, in nanoseconds".replace("this host", "host"),
        host=keeper.host,
        interrupted=not defect and any(of_host.interrupted for of_host in records.values()),
        variants=[_variant(variant, records) for variant in keeper.variants],
        hosts=hosts,
    )
    manifest.write(record, paths.directory)
    with contextlib.suppress(FileNotFoundError):  # a host that was interrupted early has planned nothing
        (own[members[0].name] / LOADS).rename(paths.directory / LOADS)
    verdict = join_verdicts(verdicts, hosts)
    fidelity.write(verdict, paths.directory)
    began = any(variant.phase(PhaseName.RUN) is not None for variant in record.variants)
    return RunOutcome(paths.directory, verdict, record.interrupted, began, defect)


def _host(paths: RunPaths, name: str, own: Path, record: Manifest) -> HostRecord:
    """Moves a host's logs and its file of processors to the run's; returns the host's record for the run's manifest."""
    (host,) = record.hosts
    host.speed = _by_the_runs_clock(record.host_speed, host)
    for log in log_files(own / LOGS):
        # A broker may run on several hosts, in variants with different overlays.
        target = paths.logs / log.name
        if target.exists():
            target = log_file(paths.logs, f"{log.stem}@{name}")
        log.rename(target)
        host.logs.append(target.name)
    (own / LOGS).rmdir()
    with contextlib.suppress(FileNotFoundError):  # the host states why it did not sample, or the analysis misses it
        (own / PROCESSORS).rename(paths.directory / processors_of(name))
    return host


def _by_the_runs_clock(speed: HostSpeed | UnsetType, host: HostRecord) -> HostSpeed | UnsetType:
    """The speed of a host, with the time by the run's clock at which its loop had been timed."""
    if speed is UNSET or not host.offsets:
        return speed
    return msgspec.structs.replace(speed, timed=speed.timed + host.offsets[0].offset)


def _variant(variant: VariantRecord, records: Mapping[str, Manifest]) -> VariantRecord:
    everywhere = [found for record in records.values() for found in record.variants if found.name == variant.name]
    remaining = [found.remaining_state for found in everywhere if found.remaining_state is not UNSET]
    drivers = [name for found in everywhere for name in found.drivers or ()]
    event_logs = [name for found in everywhere for name in found.event_logs or ()]
    unsettled = sorted({broker for found in everywhere for broker in found.unsettled or ()})
    return msgspec.structs.replace(
        variant,
        phases=_phases(variant, records),
        drivers=drivers or UNSET,
        event_logs=event_logs or UNSET,
        undrained=any(found.undrained for found in everywhere),
        interrupted=any(found.interrupted for found in everywhere),
        unsettled=unsettled or UNSET,
        remaining_state={broker: rows for of_host in remaining for broker, rows in of_host.items()}
        if remaining
        else UNSET,
    )


def _phases(variant: VariantRecord, records: Mapping[str, Manifest]) -> list[PhaseRecord]:
    """The phases of the host that keeps the run's clock, but the drain phase ends where it ended first.

    Hosts learn one by one that all have drained, and the clients of each leave at once. These sessions did not break.
    """
    first = min((drained for record in records.values() for drained in _drained(record, variant.name)), default=None)
    return [phase if first is None else _cut(phase, first) for phase in variant.phases]


def _drained(record: Manifest, variant: str) -> Iterator[int]:
    """The end of a host's drain phase, if it has one, by the run's clock."""
    (host,) = record.hosts
    ahead = host.offsets[-1].offset if host.offsets else 0
    for of_host in record.variants:
        phase = of_host.phase(PhaseName.DRAIN) if of_host.name == variant else None
        if phase is not None:
            yield phase.end + ahead


def _cut(phase: PhaseRecord, drained: int) -> PhaseRecord:
    match phase.name:
        case PhaseName.DRAIN:
            return msgspec.structs.replace(phase, end=min(phase.end, max(phase.start, drained)))
        case PhaseName.STOP:
            return msgspec.structs.replace(phase, start=min(phase.start, drained))
        case _:
            return phase


def join_verdicts(verdicts: Mapping[str, Fidelity], hosts: Sequence[HostRecord]) -> Fidelity:
    """One verdict on each variant: the worst of those of the hosts and of the check of their clocks."""
    names = dict.fromkeys(variant.name for verdict in verdicts.values() for variant in verdict.variants)
    clocks = clock_check(hosts)
    variants = [
        _join(
            {host: found for host, verdict in verdicts.items() for found in verdict.variants if found.name == name},
            name,
            clocks,
        )
        for name in names
    ]
    return Fidelity(verdict=worst(variant.verdict for variant in variants), variants=variants)


def _join(shares: Mapping[str, VariantFidelity], name: str, clocks: Check) -> VariantFidelity:
    checks = [
        msgspec.structs.replace(check, name=check_on(host, check.name))
        for host, share in shares.items()
        for check in share.checks
        if check != JUDGED_LATER
    ]
    checks += [clocks, JUDGED_LATER]
    return VariantFidelity(
        name=name,
        verdict=worst(check.verdict for check in checks),
        checks=checks,
        links=[link for share in shares.values() for link in share.links],
        sent=[sent for share in shares.values() for sent in share.sent or ()] or msgspec.UNSET,
        samples=_join_samples([share.samples for share in shares.values()]),
        advice=next((f"On {host}: {share.advice}" for host, share in shares.items() if share.advice), ""),
        processors=max(
            (share.processors for share in shares.values() if share.processors is not None),
            key=lambda use: use.busy,
            default=None,
        ),
    )


def _join_samples(series: Sequence[Sequence[Sample]]) -> list[Sample]:
    """The worst values of all hosts in each interval; hosts sample at about the same times."""
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
        and (values := [value for sample in samples if (value := getattr(sample, field)) is not None])
    }
    return msgspec.structs.replace(first, **measured)


def clock_check(hosts: Sequence[HostRecord]) -> Check:
    """The check of the error of delays between hosts, which comes from the unknown part of their clocks' offsets."""
    keeper, *others = hosts
    if unknown := [host.name for host in others if not host.offsets]:
        return _clocks(None, FidelityVerdict.INVALID, f"no offset was measured for the clock of {', '.join(unknown)}")
    errors = {host.name: max(sample.error for sample in host.offsets) for host in others}
    value = sum(sorted(errors.values())[-2:]) / 1e6
    offsets = "; ".join(
        f"{host.name} {host.offsets[-1].offset / 1e9:+.6f} s +- {errors[host.name] / 1e6:.3f} ms" for host in others
    )
    return _clocks(
        value,
        FidelityVerdict.DEGRADED if value > CLOCK_ERROR_LIMIT else FidelityVerdict.VALID,
        f"one-way delays between hosts are corrected by their clocks' offsets from {keeper.name}'s ({offsets}); the "
        f"remaining error is {value:.3f} ms at most",
    )


def _clocks(value: float | None, verdict: FidelityVerdict, detail: str) -> Check:
    return Check(name="clocks", value=value, unit="ms", limit=CLOCK_ERROR_LIMIT, verdict=verdict, detail=detail)
