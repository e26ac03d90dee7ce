"""Starts and ends the sampler of processors of a variant."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from emulation.host.journal import Journal, Resource
from emulation.host.processes import RUN_VARIABLE, end_child
from emulation.host.run_paths import RunPaths
from emulation.network.relay.handle import RELAY_PROGRAM
from emulation.processors.request import SamplingRequest
from emulation.run.drivers import DRIVER_PROGRAM
from emulation.run.program_clients import PROGRAM_RELAY
from emulation.runtimes.interface import BROKER_PROGRAM
from record.files import PROCESSORS
from topology.link_properties import BrokerId

SAMPLER_PROGRAM = "emulation.processors.process"
_END_WITHIN = 5.0
_SOURCE_ROOT = Path(__file__).resolve().parents[2]


def no_sampling(proc: Path = Path("/proc")) -> str:
    """The reason why processors cannot be sampled here; empty where they can."""
    try:
        ran = (proc / "self" / "schedstat").read_text(encoding="ascii").split()[0]
    except (OSError, IndexError):
        return "this kernel has no /proc/PID/schedstat (CONFIG_SCHED_INFO)"
    return "" if int(ran) else "this kernel does not count how long processes run and wait (schedstats is off)"


def sampling_request(paths: RunPaths, variant: str, pids: Mapping[BrokerId, int]) -> SamplingRequest:
    """The request to sample a variant. `pids` are processes in the network namespaces of the brokers."""
    return SamplingRequest(
        mark=f"{RUN_VARIABLE}={paths.run_id}",
        variant=variant,
        file=str((paths.directory / PROCESSORS).absolute()),
        brokers={Path(f"/proc/{pid}/ns/net").stat().st_ino: broker for broker, pid in pids.items()},
        broker_program=BROKER_PROGRAM,
        acting_programs=(DRIVER_PROGRAM, PROGRAM_RELAY),
        relay_program=RELAY_PROGRAM,
    )


class ProcessorSampler:
    """A sampler that runs while it is entered. It is no part of what is measured: a run goes on when it ends."""

    def __init__(self, request: SamplingRequest, run_id: str, journal: Journal) -> None:
        self._name = f"sampler {request.variant}"
        self._journal = journal
        journal.creating(Resource.PROCESS, self._name)
        self._process = subprocess.Popen(
            [sys.executable, "-m", SAMPLER_PROGRAM, msgspec.json.encode(request).decode()],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=_SOURCE_ROOT,
            env=os.environ | {RUN_VARIABLE: run_id}, start_new_session=True,
        )  # fmt: skip
        journal.started(self._name, self._process.pid)

    @property
    def pid(self) -> int:
        """The sampler's process."""
        return self._process.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        end_child(self._process, _END_WITHIN)
        self._journal.removed(Resource.PROCESS, self._name)
