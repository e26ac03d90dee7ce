"""Network namespaces of sites: each is held by a sleeping thread of the emulator, and by no process.

The number of the thread stands for a process in the namespace, as `/proc/<number>/ns/net` shows it. A namespace ends
with its thread, and so with the emulator, however that ends; its interfaces end with it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from emulation.network.model import NetworkError
from emulation.network.namespaces import enter_new_namespace


class SiteNamespaces:
    """The namespaces of some sites, which exist while this is entered."""

    def __init__(self, sites: Iterable[str]) -> None:
        self._sites = list(sites)
        self._over = threading.Event()
        self._threads: list[_Holder] = []

    @property
    def processes(self) -> Mapping[str, int]:
        """The number that stands for a process in each namespace, by site."""
        return {thread.site: thread.native_id or 0 for thread in self._threads}

    def __enter__(self) -> Self:
        """Makes the namespaces. Raises `NetworkError`."""
        try:
            for site in self._sites:
                holder = _Holder(site, self._over)
                self._threads.append(holder)
                holder.start()
                holder.await_namespace()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _end(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()
            # Python counts a thread as ended a moment before the kernel does, and the namespace ends with the kernel's.
            while Path(f"/proc/self/task/{thread.native_id}").exists():
                time.sleep(0.001)
        self._threads.clear()


class _Holder(threading.Thread):
    """A thread in a namespace of its own, which does nothing."""

    def __init__(self, site: str, over: threading.Event) -> None:
        super().__init__(name=f"namespace of {site}", daemon=True)
        self.site = site
        self._over = over
        self._entered = threading.Event()
        self._failure: NetworkError | None = None

    def run(self) -> None:
        try:
            enter_new_namespace()
        except NetworkError as error:
            self._failure = error
        self._entered.set()
        if self._failure is None:
            self._over.wait()

    def await_namespace(self) -> None:
        """Returns once the thread is in its namespace. Raises `NetworkError`."""
        self._entered.wait()
        if self._failure is not None:
            raise self._failure
