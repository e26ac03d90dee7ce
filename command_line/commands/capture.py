"""`brokerlab capture`: the frames of a held run's link, as its first end sees them, in a pcapng file."""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path

from emulation.held.held_runs import HeldRun, held_run
from emulation.held.requests import BrokerPlace, LinkPlace
from emulation.network.capture import capture, packet_socket
from emulation.network.model import NetworkError
from emulation.network.namespaces import in_namespace
from emulation.network.wireshark import write_profile
from emulation.runtimes.host_overlay import BROKER_PORT
from record.errors import BadInputError, HostError
from record.exit_codes import ExitCode
from record.wording import count_of


def write_wireshark_profile(directory: Path) -> ExitCode:
    """Writes the profile by which Wireshark and tshark decode captures. Raises `UserError`s."""
    write_profile(directory, BROKER_PORT)
    print(f"{directory}: a profile; `WIRESHARK_CONFIG_DIR={directory} tshark -r FILE` decodes brokers' messages by it")
    return ExitCode.CORRECT


def capture_link(name: str | None, link: str, out: Path, seconds: float | None) -> ExitCode:
    """Captures for so many seconds, or until Ctrl-C or the end of the run. Raises `UserError`s."""
    run = held_run(name)
    place, end = _end(run, link)
    if place.namespace is None:
        raise BadInputError("capture: no frames travel over the links of a simulated run; its logs have every message")
    clocks = time.time_ns() - time.monotonic_ns()
    comment = f"run {run.run_id}; time stamps less {clocks} ns are times of its logs"
    try:
        frames = in_namespace(place.namespace, lambda: packet_socket(end.interface))
    except (OSError, NetworkError) as error:
        raise HostError(f"cannot capture {link}: {error}; it needs root (CAP_NET_RAW)") from error
    deadline = None if seconds is None else time.monotonic() + seconds
    interrupted = threading.Event()

    def goes_on() -> bool:
        return not interrupted.is_set() and run.socket.exists() and (deadline is None or time.monotonic() < deadline)

    try:
        file = out.open("wb")
    except OSError as error:
        raise BadInputError(f"-o {out}: {error.strerror}; choose a file that can be written") from error
    with frames, file:
        print(f"capturing {link} at {place.name} to {out}" + ("" if seconds else "; Ctrl-C ends it"), flush=True)
        before = signal.signal(signal.SIGINT, lambda *_: interrupted.set())
        try:
            found = capture(frames, f"{link} at {place.name}", comment, file, goes_on)
        finally:
            signal.signal(signal.SIGINT, before)
    lost = f"; the kernel dropped {found.dropped:,} more" if found.dropped else ""
    print(f"{count_of(found.frames, 'frame')}{lost}")
    return ExitCode.CORRECT


def _end(run: HeldRun, link: str) -> tuple[BrokerPlace, LinkPlace]:
    """The first end of a link that is written as `B1-B2`. Raises `BadInputError`."""
    for dash in (index for index, sign in enumerate(link) if sign == "-"):
        broker, neighbour = link[:dash], link[dash + 1 :]
        places = {place.name: place for place in run.status().brokers}
        if broker in places and neighbour in places:
            for end in places[broker].links:
                if end.neighbour == neighbour:
                    return places[broker], end
            raise BadInputError(
                f"{broker} and {neighbour} are not linked; {broker} has links to "
                f"{', '.join(end.neighbour for end in places[broker].links)}"
            )
    run.place(link.partition("-")[0])
    raise BadInputError(f"{link}: write a link by its brokers, such as B1-B2")
