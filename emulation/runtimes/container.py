"""Brokers in Docker containers.

Every broker has two. The *sandbox* does nothing but hold a network namespace: Docker gives it no network, and the
emulated links are put into it. The *broker's own* joins that namespace. A broker that is killed therefore keeps its
links, as a machine whose process crashed keeps its cables.

Broker containers have no privileges: a user of their own, a read-only root, no capabilities, bounded memory, processes
and sizes of files. Of the run directory a broker gets its configuration, its log and its stored state, each mounted
alone: the log as a single file, so that it can be written to but not replaced. A router's program is mounted read-only
at the path that it has on the host, with what is beside it.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import docker
import docker.errors
import requests
from docker.types import LogConfig, Mount, Ulimit

from emulation.host.images import require_built_on
from emulation.host.journal import Journal
from emulation.host.processes import ProcessIdentity, await_end, identify
from emulation.host.protocol_image import image_for
from emulation.host.run_paths import RunPaths
from emulation.host.system_image import system_image
from emulation.live_overlay.configuration import BrokerFiles
from emulation.runtimes.containers import Containers, docker_errors, scratch_of
from emulation.runtimes.deployed_systems import ADAPTER_MODULE, parts_of
from emulation.runtimes.foreign import environment_of_contract, keeps_log, remedy_for
from emulation.runtimes.foreign_images import ForeignImage, looked_at
from emulation.runtimes.interface import BROKER_PROGRAM, EXIT_CODE_WITHIN, LAST_LINES, Ending, ForeignProgram, Launch
from emulation.runtimes.program_places import program_places, require_readable
from emulation.runtimes.stored import STORED_FILE, StorageDirectories
from record.callbacks import do_nothing
from record.errors import HostError
from record.files import log_file
from topology.link_properties import BrokerId

CONFIG_MOUNT, SOCKET_MOUNT, LOG_MOUNT, STORED_MOUNT = "/etc/brokerlab", "/run/brokerlab", "/logs", "/var/lib/brokerlab"

_CPU_PERIOD = 100_000
"""Microseconds after which a quota is refilled: the kernel's default."""
_LEAST_QUOTA = 1_000
"""Microseconds that the kernel takes for a quota at least."""


class ContainerRuntime:
    """A runtime that starts brokers in Docker containers. One object serves one run."""

    name = "container"

    def __init__(self, client: docker.DockerClient, image: str, run_paths: RunPaths, journal: Journal) -> None:
        self._client, self._image = client, image
        self._images: dict[str, str] = {}
        """Images by protocol: those with the requirements of protocols from outside, or the broker image."""
        self._foreign_images: dict[str, ForeignImage] = {}
        """Images of brokers that are not brokerlab's, by name."""
        self._foreign: set[BrokerId] = set()
        self._api: Any = client.api
        self._run_paths = run_paths
        self._storage = StorageDirectories(run_paths, journal)
        self._sandboxes: dict[BrokerId, str] = {}
        self._processes: dict[BrokerId, ProcessIdentity] = {}
        self._paused: set[BrokerId] = set()
        self._quotas: dict[BrokerId, int] = {}
        self._containers = Containers(client, run_paths, journal)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._processes.clear()
        self._containers.calls.finish()  # what an interrupted call still makes would come after its removal
        try:
            self._containers.calls.each(self._containers.remove, [self._name(broker) for broker in self._sandboxes])
        finally:
            try:
                self._containers.calls.each(self._containers.remove, list(self._sandboxes.values()))
            finally:
                self._sandboxes.clear()
                self._containers.calls.finish()
                self._storage.remove()

    def sandboxes(self, brokers: Sequence[BrokerId]) -> Mapping[BrokerId, int]:
        surplus = [broker for broker in self._sandboxes if broker not in brokers]
        self._containers.calls.each(self._containers.remove, [self._sandboxes.pop(broker) for broker in surplus])
        missing = [broker for broker in brokers if broker not in self._sandboxes]
        for broker in missing:
            self._sandboxes[broker] = f"{self._name(broker)}-sandbox"
        self._containers.calls.each(self._make_sandbox, missing)
        pids = self._containers.calls.each(lambda broker: self._containers.pid(self._sandboxes[broker]), brokers)
        return dict(zip(brokers, pids, strict=True))

    def files(self, broker: BrokerId) -> BrokerFiles:
        return BrokerFiles(
            socket=f"{SOCKET_MOUNT}/broker.sock",
            log=str(log_file(Path(LOG_MOUNT), broker)),
            stored=f"{STORED_MOUNT}/{STORED_FILE}",
        )

    def start(self, launches: Sequence[Launch], namespaces: Mapping[BrokerId, int]) -> None:
        # The namespaces are those of the sandboxes, which containers join by name.
        self._look_at_foreign(launches)
        of_ours = [launch for launch in launches if launch.resources.foreign is None]
        for protocol in {launch.config.protocol for launch in of_ours if launch.resources.image is None}:
            if protocol not in self._images:
                self._images[protocol] = image_for(self._client, self._image, protocol, do_nothing)
        for image in {image for launch in of_ours if (image := launch.resources.image) is not None}:
            require_built_on(self._client, image, self._image)
        for launch in launches:
            launch.write_config()
            require_readable(program_places(launch.config.protocol))
            self._storage.provide(launch, self._run_paths.users.of(launch.broker))
            if keeps_log(launch.resources.foreign):
                self._run_paths.provide_log(launch.broker)
        self._containers.calls.each(self._start_one, launches)

    def stop(self, brokers: Sequence[BrokerId], within: float) -> None:
        # Signals go to the processes and not through Docker, which starts a program for each, and all at once, because
        # brokers that still run would dial those that have stopped.
        stopping = {broker: process for broker in brokers if (process := self._processes.pop(broker, None)) is not None}
        for process in stopping.values():
            process.kill(signal.SIGTERM)
        for broker in self._paused & stopping.keys():  # a paused one handles SIGTERM only once it goes on
            self._unpause(broker)
        await_end(list(stopping.values()), within)
        self._containers.calls.each(lambda broker: self._containers.end(self._name(broker)), brokers)

    def kill(self, broker: BrokerId) -> None:
        self._processes.pop(broker, None)
        with docker_errors(f"kill broker {broker}"):
            self._api.kill(self._name(broker))

    def pause(self, broker: BrokerId) -> None:
        with docker_errors(f"pause broker {broker}"):
            self._api.pause(self._name(broker))
        self._paused.add(broker)

    def resume(self, broker: BrokerId) -> None:
        if broker in self._processes:
            self._unpause(broker)

    def throttle(self, broker: BrokerId, cores: float | None) -> None:
        if broker in self._processes:
            quota = self._quotas[broker] if cores is None else _quota(cores)
            with docker_errors(f"throttle broker {broker}"):
                self._api.update_container(self._name(broker), cpu_period=_CPU_PERIOD, cpu_quota=quota)

    def processes(self) -> Mapping[BrokerId, ProcessIdentity]:
        return dict(self._processes)

    def ending(self, broker: BrokerId) -> Ending:
        self._processes.pop(broker, None)
        try:
            # Docker may not have noticed yet that the container's process has ended.
            code = int(self._api.wait(self._name(broker), timeout=EXIT_CODE_WITHIN)["StatusCode"])
            written: bytes = self._api.logs(self._name(broker), stdout=True, stderr=True, tail=LAST_LINES)
        except (docker.errors.DockerException, requests.RequestException):
            return Ending(broker, None, ())
        # Docker reports a signal the way a shell does.
        lines = tuple(written.decode(errors="replace").strip().splitlines())
        ending = Ending(broker, code if code <= 128 else 128 - code, lines)
        return replace(ending, remedy=remedy_for(ending)) if broker in self._foreign else ending

    def _name(self, broker: BrokerId) -> str:
        return f"brokerlab-{self._run_paths.run_id}-{broker}"

    def _make_sandbox(self, broker: BrokerId) -> None:
        self._containers.run_sandbox(self._sandboxes[broker], broker, self._image)

    def _start_one(self, launch: Launch) -> None:
        broker, resources, foreign = launch.broker, launch.resources, launch.resources.foreign
        environment = {} if foreign is None else environment_of_contract(foreign)
        self._paused.discard(broker)
        self._quotas[broker] = _quota(resources.cpu)
        self._containers.remove(self._name(broker))
        config = self._containers.confined(
            f"container:{self._sandboxes[broker]}",
            processes=resources.processes,
            memory=resources.memory,
            cpu_period=_CPU_PERIOD,
            cpu_quota=self._quotas[broker],
            ulimits=[Ulimit(name="fsize", soft=resources.log_bytes, hard=resources.log_bytes)],
            log_config=LogConfig(type="json-file", config={"max-size": "1m", "max-file": "1"}),
            mounts=self._mounts(launch),
            tmpfs=scratch_of(foreign.scratch if foreign else 0),
        )
        self._containers.run(self._name(broker), broker, *self._program(launch), config, environment=environment)
        pid = self._containers.pid(self._name(broker))
        if (identity := identify(pid) if pid else None) is None:
            raise HostError(f"{self.ending(broker)}, right after its start")
        self._processes[broker] = identity

    def _mounts(self, launch: Launch) -> list[Mount]:
        """The files of the run directory that a broker finds, and those of a router's program."""
        broker = launch.broker
        kept = [log_file(self._run_paths.logs, broker)] if keeps_log(launch.resources.foreign) else []
        return [
            _mount(CONFIG_MOUNT, launch.config_directory.absolute(), read_only=True),
            _mount(SOCKET_MOUNT, self._run_paths.socket(broker).parent),
            *(_mount(self.files(broker).log, log) for log in kept),
            _mount(STORED_MOUNT, self._run_paths.stored(broker)),
            *(_mount(str(place), place, read_only=True) for place in program_places(launch.config.protocol)),
        ]

    def _program(self, launch: Launch) -> tuple[str, list[str]]:
        """The image of a broker, and the command that it runs there."""
        config, resources = f"{CONFIG_MOUNT}/broker.json", launch.resources
        if resources.foreign is None:
            image = resources.image or self._images[launch.config.protocol]
            return image, ["python", "-m", BROKER_PROGRAM, config]
        found = self._foreign_images[_name_of(resources.foreign)]
        return resources.foreign.image or found.identifier, found.command(resources.foreign.command, config)

    def _look_at_foreign(self, launches: Sequence[Launch]) -> None:
        """Looks at images that are not brokerlab's, before any broker is started."""
        for launch in launches:
            foreign = launch.resources.foreign
            if foreign is None:
                continue
            self._foreign.add(launch.broker)
            if (name := _name_of(foreign)) not in self._foreign_images:
                self._foreign_images[name] = _image_of(self._client, self._image, foreign)
            self._program(launch)

    def _unpause(self, broker: BrokerId) -> None:
        self._paused.discard(broker)
        with docker_errors(f"resume broker {broker}"):
            self._api.unpause(self._name(broker))


def _image_of(client: docker.DockerClient, base: str, foreign: ForeignProgram) -> ForeignImage:
    """The image of a broker that is not brokerlab's; that of a deployed system is built if it is missing."""
    if foreign.system is None:
        return looked_at(client, foreign.image or "")
    made = system_image(client, base, parts_of(foreign.system), do_nothing)
    return replace(looked_at(client, made), entry=("python", "-m", ADAPTER_MODULE))


def _name_of(foreign: ForeignProgram) -> str:
    return foreign.image or foreign.system or ""


def _quota(cores: float | None) -> int:
    """Microseconds of CPU in a period; -1 for no limit."""
    return -1 if cores is None else max(_LEAST_QUOTA, round(cores * _CPU_PERIOD))


def _mount(target: str, source: Path, *, read_only: bool = False) -> Mount:
    return Mount(target, str(source), type="bind", read_only=read_only)
