"""A follower of a run's logs: it reads what nodes have appended since it looked last, and asks no node anything."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from analysis.live.frames import ShownPhase, State
from analysis.live.journeys import JourneySample
from analysis.live.lines import LogReading, wanted_lines
from analysis.live.tally import VariantTally
from analysis.run_files.clocks import HostClock, clocks_of
from analysis.run_files.logs import scenario_time
from record.files import LOGS, MANIFEST, open_log
from record.log import EMULATOR, TraceRecord
from record.manifest import Manifest, VariantRecord, read
from record.time_units import SECOND
from topology.files import load
from topology.mobility.movement_files import load_movements
from topology.sites import load_sites

_MOST_AT_ONCE = 8 << 20
"""Bytes of one log that a look reads, so that looks at large logs show progress."""


class Follower:
    """The state of a run's page, kept up to date by looks at its directory."""

    def __init__(self, run: Path) -> None:
        self.version = 0
        self._run = run
        self._logs: dict[str, LogReading] = {}
        self._tallies: dict[str, VariantTally] = {}
        self._manifest: Manifest | None = None
        self._manifest_written = (0, 0, 0)
        """Time, inode and size of the manifest that was read."""
        self._clocks: Mapping[str, HostClock] = {}
        """The clocks of log files of other hosts, whose logs come with the manifest that compares their clocks."""
        self._samples: dict[bytes, JourneySample] = {}
        """The publications of each variant that are shown on their ways."""
        self._sites = False
        """True for a run with sites of clients."""
        self._over = False
        self._decode = msgspec.json.Decoder(TraceRecord).decode

    def look(self, *, over: bool = False) -> bool:
        """Reads what is new; true if there may be more. With `over`, no node writes any more, so that all counts.

        A manifest that is not there yet, or is just being written, is one to be read at the next look.
        """
        self.version += 1
        self._look_at_manifest()
        for tally in self._tallies.values():
            tally.look(self.version)
        read_until = [] if self._manifest is None else [*map(self._read_log, self._files())]
        unread = [time for time in read_until if time is not None]
        self._over = over and not unread
        for tally in self._tallies.values():
            tally.settle(min(unread) if unread else None, over=self._over)
        return bool(unread)

    def finish(self) -> None:
        """Reads a run that is over to its end."""
        while self.look(over=True):
            pass

    def state(self, since: int = 0) -> State:
        """The state of the page, with the frames that have changed after a version."""
        manifest = self._manifest
        return State(
            run=self._run.name,
            scenario="" if manifest is None else str(manifest.scenario.get("name", "")),
            version=self.version,
            over=self._over,
            variants=[tally.shown(since) for tally in self._tallies.values()],
            awaited_hosts=[] if manifest is None else self._awaited_hosts(manifest),
        )

    def _awaited_hosts(self, manifest: Manifest) -> list[str]:
        """The hosts that have sent no logs yet, or whose logs were removed since."""
        return [host.name for host in manifest.hosts if not host.logs or not self._logs.keys() >= set(host.logs)]

    def _files(self) -> list[Path]:
        """The logs, those of emulators first: they are short, and tell at which sites the others' records count."""
        with suppress(OSError):
            logs = sorted((self._run / LOGS).glob("*.jsonl"))
            return sorted(logs, key=lambda log: not log.name.startswith(EMULATOR))
        return []

    def _look_at_manifest(self) -> None:
        try:
            status = (self._run / MANIFEST).stat()
        except OSError:
            return
        written = status.st_mtime_ns, status.st_ino, status.st_size
        if written == self._manifest_written:
            return
        with suppress(msgspec.DecodeError, OSError):
            self._manifest = read(self._run)
            self._manifest_written = written
            self._clocks = clocks_of(self._manifest)
            self._sites = any(record.sites is not msgspec.UNSET for record in self._manifest.variants)
        for record in () if self._manifest is None else self._manifest.variants:
            if record.name in self._tallies:
                self._tallies[record.name].phases = _phases(record)

    def _tally(self, variant: str) -> VariantTally | None:
        """The tally of a variant, made with its first record. None for a variant that the manifest does not name."""
        if variant not in self._tallies and self._manifest is not None:
            record = next((found for found in self._manifest.variants if found.name == variant), None)
            if record is None:
                return None
            overlay = load(self._run / record.topology)
            moving = {} if record.movements is msgspec.UNSET else load_movements(self._run / record.movements)
            sites = () if record.sites is msgspec.UNSET else load_sites(self._run / record.sites)
            tally = VariantTally(variant, overlay, moving, record.time_dilation, self.version, sites=sites)
            tally.phases = _phases(record)
            self._tallies[variant] = tally
            self._samples[variant.encode()] = tally.journeys
        return self._tallies.get(variant)

    def _read_log(self, path: Path) -> int | None:
        """Adds the whole lines of a log that are new. A damaged line is left out.

        Returns the time of the last record where the log has more to read, and None where it has not.
        """
        log = self._logs.setdefault(path.name, LogReading())
        try:
            with open_log(path) as file:
                file.seek(log.offset)
                read = file.read(_MOST_AT_ONCE)
        except OSError:
            return None
        whole = read[: read.rfind(b"\n") + 1]
        log.offset += len(whole)
        last, clock = 0, self._clocks.get(path.name)
        for line in wanted_lines(whole, log, self._samples, sites=self._sites):
            try:
                record = self._decode(line)
            except msgspec.DecodeError:
                continue
            if clock is not None:
                clock.bring_to_run_time([record])
            last = record.time
            if (tally := self._tally(record.variant)) is not None:
                tally.add(record)
                log.gauged = log.gauged or record.sent is not None
        return last if len(read) == _MOST_AT_ONCE and whole else None


def _phases(record: VariantRecord) -> list[ShownPhase]:
    """The phases of a variant that have ended, in seconds of the scenario's time."""
    dilation = record.time_dilation
    return [
        ShownPhase(
            phase.name.value,
            scenario_time(phase.start, dilation) / SECOND,
            scenario_time(phase.end, dilation) / SECOND,
        )
        for phase in record.phases
    ]
