"""Measures links and host, before and during the load."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Self

from emulation.fidelity import LinkCheck, Measurements
from emulation.fidelity.host import HostSample, sample, use
from emulation.network import EmulatedNetwork, LinkProbe, NetworkError
from topology import Link

_INTERVAL = 1.0
"""Seconds between two samples of the host."""
_PROBE_AFTER = 0.35
"""Share of the run phase after which links are probed under load."""
_PROBED_LINKS = 20
"""Links probed under load at most, evenly chosen: probing all of a large overlay would be a load of its own."""


def link_checks(probes: Iterable[LinkProbe], phase: str) -> list[LinkCheck]:
    """Probes as the fidelity verdict keeps them."""
    return [
        LinkCheck(
            a=probe.a, b=probe.b, phase=phase, ok=probe.ok, detail=probe.detail,
            delay_asked=probe.delay_asked, delay_measured=probe.delay_measured,
            rate_asked=probe.rate_asked, rate_measured=probe.rate_measured,
            loss_asked=probe.loss_asked, loss_measured=probe.loss_measured,
        )
        for probe in probes
    ]  # fmt: skip


def evenly_chosen(links: Sequence[Link], most: int) -> list[Link]:
    """At most so many links, spread over the whole sequence."""
    if len(links) <= most:
        return list(links)
    return [links[index * len(links) // most] for index in range(most)]


class LoadObserver:
    """Samples the host and probes links under load, in threads of its own, while it is entered."""

    def __init__(self, network: EmulatedNetwork, links: Sequence[Link], seconds: float) -> None:
        self._network = network
        self._links = evenly_chosen(links, _PROBED_LINKS)
        self._probe_after = seconds * _PROBE_AFTER
        self._samples: list[HostSample] = []
        self._probes: list[LinkProbe] = []
        self._failure: NetworkError | None = None
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=self._sample, name="host sampler", daemon=True),
            threading.Thread(target=self._probe, name="link prober", daemon=True),
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def report(self, measured: Measurements) -> None:
        """Adds what was observed. Raises `NetworkError` when the links could not be probed."""
        if self._failure is not None:
            raise self._failure
        measured.host = use(self._samples)
        measured.links += link_checks(self._probes, "during")

    def _sample(self) -> None:
        self._samples.append(sample())
        while not self._over.wait(_INTERVAL):
            self._samples.append(sample())
        self._samples.append(sample())

    def _probe(self) -> None:
        if self._over.wait(self._probe_after):
            return
        try:
            self._probes = self._network.probe_under_load(self._links)
        except NetworkError as error:
            self._failure = error
