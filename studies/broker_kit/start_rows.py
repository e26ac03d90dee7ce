"""Rows of the process itself: its start, its configuration, its socket and its end."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
from dataclasses import replace

import grpc

from studies.broker_kit.actor import Actor
from studies.broker_kit.bench import START_WITHIN, Bench
from studies.broker_kit.configuration import CONTRACT, Configuration, LinkEnd
from studies.broker_kit.failures import NotApplicable, RowFailure, require
from studies.broker_kit.overlay import LINK_PORT, RunningBroker
from studies.broker_kit.programs import END_WITHIN, Ending
from studies.broker_kit.raw_stream import RawStream
from studies.broker_kit.rows import Rows, Suite

ROWS = Rows(Suite.START)

_BAD_INPUT = 2
_SERVING = b"\x08\x01"


@ROWS.must("P-1")
async def starts(bench: Bench) -> None:
    """The broker starts with the path of broker.json as its last argument, and welcomes a client."""
    await bench.broker()


@ROWS.must("P-3")
async def works_on_a_root_that_is_read_only(bench: Bench) -> None:
    """The broker serves clients as a user of its own, on a root that is read-only."""
    if not bench.host.confined:
        raise NotApplicable("a program on this host is not confined; --image shows it")
    stream = await bench.stream()
    await Actor(stream, bench.name("p3-")).attach(advertised="[class,eq,'A']", subscribed="[class,eq,'A']")


@ROWS.must("P-6")
async def ends_when_asked(bench: Bench) -> None:
    """A broker without clients ends with exit code 0 on SIGTERM."""
    broker = await bench.start(bench.configuration())
    _require_orderly(await broker.stop())


@ROWS.must("P-6")
async def ends_when_asked_while_clients_publish(bench: Bench) -> None:
    """A broker whose clients publish ends with exit code 0 on SIGTERM."""
    broker = await bench.start(bench.configuration())
    stream = await bench.stream(broker)
    actor = Actor(stream, "p6")
    await actor.attach(advertised="[class,eq,'A']", subscribed="[class,eq,'A']")

    async def publish() -> None:
        while not stream.ended:
            await actor.publish("p", "[class,'A']")
            await asyncio.sleep(0)

    publishing = asyncio.create_task(publish())
    await stream.notification()
    ending = await broker.stop()
    publishing.cancel()
    _require_orderly(ending)


@ROWS.must("P-7")
async def refuses_what_is_no_configuration(bench: Bench) -> None:
    """A broker.json that is no JSON ends the broker with exit code 2 and one sentence on standard error."""
    await _require_refused(bench, bench.configuration(), "{")


@ROWS.must("P-7")
async def refuses_an_address_that_cannot_be_used(bench: Bench) -> None:
    """An address in a directory that is not there ends the broker with exit code 2 and a sentence that says so."""
    await _require_refused(bench, bench.configuration(listen=["unix:/nowhere/broker.sock"]))


@ROWS.must("C-1")
async def ignores_fields_that_it_does_not_know(bench: Bench) -> None:
    """Fields of broker.json that the broker does not know do not keep it from serving."""
    configuration = bench.configuration(conformance_kit={"unknown": [1, None, "field"]})
    fields = json.loads(configuration.text())
    fields["limits"]["conformance_kit"] = 1
    broker = await bench.launch(configuration, json.dumps(fields))
    await broker.ready(START_WITHIN)
    await broker.kill()


@ROWS.must("C-2")
async def refuses_a_later_contract(bench: Bench) -> None:
    """A later version of the contract ends the broker with exit code 2 and one sentence on standard error."""
    await _require_refused(bench, bench.configuration(contract=CONTRACT + 98))


@ROWS.must("C-6")
async def refuses_an_unknown_option(bench: Bench) -> None:
    """An option that the broker does not know ends it with exit code 2 and one sentence on standard error."""
    await _require_refused(bench, bench.configuration(options={"conformance_kit": 1}))


@ROWS.must("R-1")
async def removes_the_socket_of_a_killed_predecessor(bench: Bench) -> None:
    """A broker that is started after a kill serves at the same socket."""
    broker = await bench.start(bench.configuration())
    await broker.kill()
    require(broker.files.socket_here.exists(), "the broker removes its socket although it was killed")
    again = await bench.start(broker.configuration.restarted())
    await again.kill()


@ROWS.must("R-1")
async def leaves_the_socket_of_a_broker_that_runs(bench: Bench) -> None:
    """A broker whose address another one listens on ends with exit code 2; the other one serves on."""
    if bench.host.confined:
        raise NotApplicable("containers have a directory each for their sockets")
    broker = await bench.broker()
    other = await bench.launch(replace(bench.configuration(), socket=broker.configuration.socket))
    ending = await other.program.ending(START_WITHIN)
    await other.kill()
    await bench.stream(broker)
    require(ending is not None, "a second broker at the address of one that runs does not end")
    require(
        ending is not None and ending.code == _BAD_INPUT, f"a second broker at the address should end with 2: {ending}"
    )


@ROWS.must("R-2")
async def does_not_wait_for_neighbours(bench: Bench) -> None:
    """A broker whose neighbours have not started welcomes clients, and carries their requests out."""
    block = bench.block()
    links = [
        LinkEnd(
            f"absent{number}",
            f"{block.address(number, 1)}:{LINK_PORT}",
            f"{block.address(number, 2)}:{LINK_PORT}",
            dial,
        )
        for number, dial in enumerate((True, False))
    ]
    broker = await bench.start(replace(bench.configuration(), links=links))
    actor = Actor(await bench.stream(broker), "r2")
    await actor.attach(advertised="[class,eq,'A']", subscribed="[class,eq,'A']")
    await actor.publish("p", "[class,'A']")
    await actor.stream.notified_until("p")
    await broker.kill()


@ROWS.should("R-4")
async def answers_for_its_health(bench: Bench) -> None:
    """grpc.health.v1.Health/Check answers SERVING."""
    broker = await bench.broker()
    try:
        reply = await broker.control.health()
    except grpc.RpcError as error:
        raise RowFailure(f"the health service answers {error.code().name}") from None
    require(reply == _SERVING, f"the health service answers {reply!r}, and SERVING is {_SERVING!r}")


@ROWS.must("A-5")
async def states_its_incarnation(bench: Bench) -> None:
    """The Welcome of a broker that is started again has the next incarnation."""
    broker = await bench.start(bench.configuration())
    await broker.kill()
    again = await bench.start(broker.configuration.restarted())
    raw = RawStream.open(again.address)
    welcome = await raw.welcome()
    await raw.close()
    await again.kill()
    require(welcome.incarnation == 2, f"the welcome of incarnation 2 states incarnation {welcome.incarnation}")


@ROWS.must("P-8")
async def bears_bytes_that_are_no_grpc(bench: Bench) -> None:
    """Bytes that are no HTTP/2 end their connection at most; the broker serves on."""
    broker = await bench.broker()
    for noise in (
        b"GET / HTTP/1.1\r\n\r\n",
        bytes(range(256)) * 64,
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 4096,
    ):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(broker.files.socket_here))
            try:
                connection.sendall(noise)
            except OSError:
                continue  # it was closed already
    actor = Actor(await bench.stream(broker), bench.name("p8-"))
    await actor.attach()
    await broker.require_running()


@ROWS.must("P-8")
async def bears_a_neighbour_that_sends_noise(bench: Bench) -> None:
    """Bytes that are no frames of its own on the port of a link do not end the broker."""
    block = bench.block()
    local, remote = block.address(0, 1), block.address(0, 2)
    link = LinkEnd("noise", f"{local}:{LINK_PORT}", f"{remote}:{LINK_PORT}", dial=False)
    broker = await bench.start(replace(bench.configuration(), links=[link]))
    for noise in (
        b"[]\n",
        b'["hello",{}]\n',
        b"\x00" * 4096,
        bytes(range(256)) * 16,
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 99,
    ):
        with bench.host.make_socket() as connection:
            connection.bind((remote, 0))
            await _connect(connection, (local, LINK_PORT), broker)
            try:
                connection.sendall(noise)
                connection.shutdown(socket.SHUT_WR)
            except OSError:
                continue
    await Actor(await bench.stream(broker), "p8").attach()
    await broker.require_running()
    await broker.kill()


@ROWS.must("P-9")
async def leaves_no_process_behind(bench: Bench) -> None:
    """Processes that the broker has started end with it."""
    broker = await bench.start(bench.configuration())
    await Actor(await bench.stream(broker), "p9").attach()
    _require_orderly(await broker.stop())
    left = broker.program.left_over()
    require(not left, f"the broker has ended, and these that it started still run: {', '.join(left)}")


async def _connect(connection: socket.socket, address: tuple[str, int], broker: RunningBroker) -> None:
    """Connects once the broker listens. Raises `RowFailure`."""
    deadline = asyncio.get_running_loop().time() + START_WITHIN
    while connection.connect_ex(address):
        await broker.require_running()
        if asyncio.get_running_loop().time() > deadline:
            raise RowFailure(
                f"the broker does not listen at the local address of a link that its neighbour dials ({address[0]})"
            )
        await asyncio.sleep(0.05)


def _require_orderly(ending: Ending | None) -> None:
    require(ending is not None, f"SIGTERM has not ended the broker after {END_WITHIN:g} s")
    require(ending is not None and ending.code == 0, f"SIGTERM should end the broker with exit code 0, and {ending}")


async def _require_refused(bench: Bench, configuration: Configuration, text: str | None = None) -> None:
    broker = await bench.launch(configuration, text)
    ending = await broker.program.ending(START_WITHIN)
    if ending is None:
        broker.program.signal(signal.SIGKILL)
        raise RowFailure(
            f"the broker should end with exit code {_BAD_INPUT}, and it still runs after {START_WITHIN:g} s"
        )
    require(ending.code == _BAD_INPUT, f"the broker should end with exit code {_BAD_INPUT}, and {ending}")
    require(ending.last_line, "the broker ends with exit code 2 and does not say why on standard error")
