"""Containers of a run, as Docker is asked to make, end and remove them, several at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType, TracebackType
from typing import Any, TypeVar

import docker
import docker.errors

from emulation.host.journal import Journal, Resource
from emulation.host.processes import RUN_VARIABLE
from emulation.host.run_paths import RunPaths
from record.errors import HostError
from topology.link_properties import BrokerId

RUN_LABEL = "brokerlab.run"
BROKER_LABEL = "brokerlab.broker"

_PARALLEL = 8
"""Docker requests at a time; more only queue up in the daemon."""

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


class Containers:
    """The containers of one run. Each is written down before it is made."""

    def __init__(self, client: docker.DockerClient, run_paths: RunPaths, journal: Journal) -> None:
        self._api: Any = client.api
        self._run_paths = run_paths
        self._journal = journal
        self._pool = _pool()

    def run(
        self,
        name: str,
        broker: BrokerId,
        image: str,
        command: list[str],
        host_config: object,
        *,
        environment: Mapping[str, str] = MappingProxyType({}),
        **options: object,
    ) -> None:
        """Makes and starts a container of a broker; `environment` is what it has besides its image's and the run."""
        self._journal.creating(Resource.CONTAINER, name)
        user = self._run_paths.users.of(broker)
        with docker_errors(f"start container {name}"):
            self._api.create_container(
                image,
                entrypoint=command[:1],
                command=command[1:],
                name=name,
                user=f"{user}:{user}",
                labels={"brokerlab": "1", RUN_LABEL: self._run_paths.run_id, BROKER_LABEL: broker},
                environment={**environment, RUN_VARIABLE: self._run_paths.run_id},
                detach=True,
                host_config=host_config,
                **options,
            )
            self._api.start(name)

    def pid(self, name: str) -> int:
        """The first process of a container; 0 after its end."""
        with docker_errors(f"inspect container {name}"):
            return int(self._api.inspect_container(name)["State"]["Pid"])

    def end(self, name: str) -> None:
        """Kills a container that still runs. Returns when Docker knows that it has ended."""
        try:
            self._api.stop(name, timeout=0)
        except docker.errors.NotFound:
            return
        except docker.errors.DockerException as error:
            raise HostError(f"cannot stop container {name}: {explain(error)}") from error

    def remove(self, name: str) -> None:
        """Removes a container, if it is there, with whatever runs in it."""
        try:
            self._api.remove_container(name, force=True, v=True)
        except docker.errors.NotFound:
            pass
        except docker.errors.DockerException as error:
            raise HostError(f"cannot remove container {name}: {explain(error)}") from error
        self._journal.removed(Resource.CONTAINER, name)

    def each(self, function: Callable[[Item], Outcome], items: Iterable[Item]) -> list[Outcome]:
        """Calls side by side; all are awaited, then the first failure is raised."""
        futures = [self._pool.submit(function, item) for item in items]
        failures = [failure for future in futures if (failure := future.exception()) is not None]
        if failures:
            raise failures[0]
        return [future.result() for future in futures]

    def finish_calls(self) -> None:
        """Returns when all calls of `each` that have begun are done; those that wait are not made."""
        self._pool.shutdown(cancel_futures=True)
        self._pool = _pool()


def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_PARALLEL, thread_name_prefix="docker")


class docker_errors:  # noqa: N801 - used as a verb's context
    """Turns an error of Docker into a `HostError` that names the attempt."""

    def __init__(self, attempt: str) -> None:
        self._attempt = attempt

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, docker.errors.ImageNotFound):
            raise HostError(
                f"cannot {self._attempt}: the broker image is missing; build it with `make image`"
            ) from error
        if isinstance(error, docker.errors.DockerException | OSError):
            raise HostError(f"cannot {self._attempt}: {explain(error)}") from error


def explain(error: Exception) -> str:
    """One line for an error of Docker, with the remedy where one is known."""
    text = (getattr(error, "explanation", None) or str(error)).strip().splitlines()[0]
    if "is already in use" in text:
        return f"{text} Remove or rename it; `brokerlab clean` removes what dead runs left."
    if "no space left" in text:
        return f"{text}. Make room where Docker keeps its data, then run again."
    return str(text)
