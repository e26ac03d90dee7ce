"""A small broker of level 3 that keeps the contract, but for one defect that the variable DEFECT chooses.

`python defective_broker.py BROKER_JSON`. It shares no code with the product but proto/. Its links are lines of JSON
over TCP. Publications flood to all brokers and are matched where they come; overlays must be trees.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from base64 import b64decode, b64encode
from contextlib import suppress
from pathlib import Path
from typing import Any

import grpc
import grpc.aio

from broker_service.generated import broker_pb2 as pb
from broker_service.generated import content_pb2 as content

DEFECTS = (
    "waits for the client to speak first",
    "leaves a stale socket",
    "takes any configuration",
    "refuses unknown fields",
    "ignores SIGTERM",
    "ends with 1 when asked",
    "leaks a child",
    "keeps its incarnation",
    "carries out refused frames",
    "bears long names",
    "ignores a half-closed stream",
    "keeps clients of broken streams",
    "swallows number 0",
    "answers out of order",
    "forgets the id in answers",
    "takes clients that are not attached",
    "lets clients stay",
    "keeps former declarations",
    "keeps replaced subscriptions",
    "keeps withdrawn subscriptions",
    "ends streams for bad bodies",
    "checks no advertisement",
    "acknowledges before it rejects",
    "never acknowledges",
    "notifies for each subscription",
    "re-encodes bodies",
    "counts no hops",
    "recognises copies by id",
    "routes repeats again",
    "forgets rejections",
    "ignores numbers of other sessions",
    "loses one publication of a thousand",
    "compares integers as doubles",
    "orders strings by UTF-16",
    "matches across types",
    "shows no messages in flight",
    "counts too few deliveries",
    "answers OK to what it does not offer",
    "never flushes its log",
    "logs with the wall clock",
    "logs a sending when it is over",
    "miscounts what it sends",
    "writes on a torn line",
    "logs no rejections",
    "logs one delivery for all clients",
    "dies of a full disk",
    "dies of noise",
    "does not resume links",
    "does not notice dead neighbours",
    "skips a number",
    "numbers without being asked",
    "begins numbers anew",
    "ends streams for acknowledgements",
    "takes any acknowledgement",
)
DEFECT = os.environ.get("DEFECT", "")
assert not DEFECT or DEFECT in DEFECTS, DEFECT

MOST_REQUESTS, LONGEST_NAME = 4096, 256
WORDS = ("", "attach", "detach", "advertise", "unadvertise", "subscribe", "unsubscribe", "publish", "compose")
NUMBER_OPERATORS = {"=", "<>", "<", "<=", ">", ">=", "eq", "neq", "isPresent"}
STRING_OPERATORS = {
    "eq", "neq", "str-lt", "str-le", "str-gt", "str-ge", "str-prefix", "str-postfix", "str-contains", "isPresent",
}  # fmt: skip
Predicate = tuple[str, str, Any]


class RejectedError(Exception):
    """A request cannot be carried out."""


def have(defect: str) -> bool:
    """True for the defect that this broker has."""
    return defect == DEFECT


# Content


def value_of(name: str, wire: content.Value) -> Any:
    if not 0 < len(name) <= LONGEST_NAME:
        raise RejectedError("an attribute's name has 1 to 256 characters")
    kind = wire.WhichOneof("kind")
    if kind is None:
        raise RejectedError(f"{name} has no value")
    value = getattr(wire, kind)
    if kind == "big_integer":
        if not value.lstrip("-").isdigit() or len(value.lstrip("-")) > 1000:
            raise RejectedError(f"{name} is no integer")
        return int(value)
    if kind == "decimal" and not -float("inf") < value < float("inf"):
        raise RejectedError(f"{name} is not finite")
    return value


def read_publication(body: bytes) -> dict[str, Any]:
    try:
        attributes = content.Content.FromString(body).attributes
    except Exception as error:
        raise RejectedError("the body is no content") from error
    found = {one.name: value_of(one.name, one.value) for one in attributes}
    if len(found) < len(attributes) or len(found) > 256 or not isinstance(found.get("class"), str):
        raise RejectedError("an attribute occurs twice, there are too many, or there is no class")
    return found


def read_predicates(body: bytes, most: int) -> list[Predicate]:
    try:
        wires = content.Predicates.FromString(body).predicates
    except Exception as error:
        raise RejectedError("the body is no predicates") from error
    if len(wires) > most:
        raise RejectedError("too many predicates")
    found = []
    for wire in wires:
        value = value_of(wire.attribute, wire.value)
        if wire.operator not in (STRING_OPERATORS if isinstance(value, str) else NUMBER_OPERATORS):
            raise RejectedError(f"the operator {wire.operator} does not go with the value")
        if isinstance(value, str) and len(value) > 4096:
            raise RejectedError("the string is too long")
        found.append((wire.attribute, wire.operator, value))
    return found


def holds(predicate: Predicate, publication: dict[str, Any]) -> bool:
    name, operator, wanted = predicate
    value = publication.get(name)
    if value is None:
        return False
    if isinstance(value, str) is not isinstance(wanted, str):
        return have("matches across types") and operator in ("<>", "neq")
    if have("compares integers as doubles") and not isinstance(value, str):
        value, wanted = float(value), float(wanted)
    if have("orders strings by UTF-16") and operator.startswith(("str-l", "str-g")):
        value, wanted = value.encode("utf-16-be"), wanted.encode("utf-16-be")
    tests = {
        "=": lambda: value == wanted, "eq": lambda: value == wanted, "<>": lambda: value != wanted,
        "neq": lambda: value != wanted, "<": lambda: value < wanted, "<=": lambda: value <= wanted,
        ">": lambda: value > wanted, ">=": lambda: value >= wanted, "str-lt": lambda: value < wanted,
        "str-le": lambda: value <= wanted, "str-gt": lambda: value > wanted, "str-ge": lambda: value >= wanted,
        "str-prefix": lambda: value.startswith(wanted), "str-postfix": lambda: value.endswith(wanted),
        "str-contains": lambda: wanted in value, "isPresent": lambda: True,
    }  # fmt: skip
    return tests[operator]()


def conforms(publication: dict[str, Any], advertised: list[Predicate]) -> bool:
    names = {name for name, _, _ in advertised}
    return publication.keys() <= names and all(holds(one, publication) for one in advertised if one[0] in publication)


# Logs


class Log:
    def __init__(self, config: dict[str, Any]) -> None:
        self.lost = self.written = 0
        self.lines: list[str] = []
        self.sent: dict[str, tuple[int, int]] = {}
        self.common = {"node": config["id"], "variant": config["variant"]}
        self.file = os.open(config["log"], os.O_RDWR | os.O_APPEND) if config["log"] else None
        if self.file is None:
            return
        size = os.fstat(self.file).st_size
        if size and os.pread(self.file, 1, size - 1) != b"\n" and not have("writes on a torn line"):
            os.write(self.file, b"\n")
        self.note("started", count=config["incarnation"])

    def note(self, event: str, **fields: Any) -> None:
        now = time.time_ns() if have("logs with the wall clock") else time.monotonic_ns()
        if event == "sent" and have("logs a sending when it is over"):
            now += 50_000_000
        if event == "sent":
            messages, size = self.sent.get(fields["peer"], (0, 0))
            self.sent[fields["peer"]] = messages + 1, size + fields["bytes"]
        known = {name: value for name, value in fields.items() if value is not None}
        self.lines.append(json.dumps({"time": now, **self.common, "event": event, **known}) + "\n")

    def flush(self) -> None:
        lines, self.lines = self.lines, []
        if self.file is None or not lines:
            return
        try:
            os.write(self.file, "".join(lines).encode())
            self.written += len(lines)
        except OSError:
            if have("dies of a full disk"):
                raise
            self.lost += len(lines)

    async def keep_flushing(self) -> None:
        while not have("never flushes its log"):
            await asyncio.sleep(0.05)
            self.gauge()
            self.flush()

    def gauge(self) -> None:
        for peer, (messages, size) in self.sent.items():
            lie = have("miscounts what it sends") and messages > 1
            self.note("queue", peer=peer, queue=0, count=0, sent=messages + lie, bytes=size)

    def close(self) -> None:
        self.gauge()
        self.flush()
        self.note("stopped", count=self.lost, records=self.written + 1)
        self.flush()


# Links


class Link:
    """One end of a link. Messages are numbered, kept until they are acknowledged, and sent again on the next stream."""

    def __init__(self, broker: Broker, config: dict[str, Any]) -> None:
        self.broker, self.config, self.neighbour = broker, config, config["neighbour"]
        self.writer: asyncio.StreamWriter | None = None
        self.up = False
        self.incarnation = self.numbered = self.handled = self.sent = self.publications = 0
        self.kept: list[tuple[int, dict[str, Any]]] = []
        self.heard = 0.0

    def send(self, message: dict[str, Any]) -> None:
        self.numbered += 1
        self.sent += 1
        self.publications += message["kind"] == "publish"
        self.kept.append((self.numbered, message))
        size = len(b64decode(message.get("body", "")))
        self.broker.log.note(
            "sent", kind=message["kind"], id=message["id"], peer=self.neighbour, hops=message["hops"], bytes=size
        )
        self.write("message", self.numbered, message)

    def write(self, *frame: Any) -> None:
        if self.writer is not None and (self.up or frame[0] == "hello"):
            self.writer.write(json.dumps(frame).encode() + b"\n")

    async def keep_open(self) -> None:
        host, port = self.config["local" if not self.config["dial"] else "remote"].rsplit(":", 1)
        if not self.config["dial"]:
            await asyncio.start_server(self.serve, host, int(port), limit=1 << 26)
            return
        local = self.config["local"].rsplit(":", 1)[0]
        while True:
            with suppress(OSError):
                await self.serve(*await asyncio.open_connection(host, int(port), local_addr=(local, 0), limit=1 << 26))
            await asyncio.sleep(0.05)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.end()
        self.writer = writer
        config = self.broker.config
        self.write("hello", config["id"], config["incarnation"], self.incarnation, self.handled)
        try:
            while line := await asyncio.wait_for(reader.readline(), 3 * config["limits"]["heartbeat"]):
                if self.writer is not writer:
                    return
                self.receive(*json.loads(line))
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            pass
        except Exception:
            if have("dies of noise"):
                os._exit(1)
        finally:
            writer.close()
            if self.writer is writer:
                self.end()

    def end(self) -> None:
        if self.writer is not None:
            self.writer.close()
        self.writer = None
        if self.up and not have("does not notice dead neighbours"):
            self.up = False
            self.broker.log.note("link_down", peer=self.neighbour, count=self.incarnation)

    def receive(self, what: str, *rest: Any) -> None:
        if what == "hello":
            self.greet(*rest)
        elif what == "acknowledged":
            self.kept = [one for one in self.kept if one[0] > rest[0]]
        else:
            number, message = rest
            if number > self.handled:
                self.broker.receive(self, message)
                self.handled = number
            self.write("acknowledged", self.handled)

    def greet(self, name: str, incarnation: int, known: int, handled: int) -> None:
        if name != self.neighbour:
            raise ValueError(name)
        self.up = True
        new = incarnation != self.incarnation
        self.broker.log.note("link_up", peer=name, count=incarnation)
        if new or have("does not resume links"):
            self.incarnation, self.numbered, self.handled, self.kept = incarnation, 0, 0, []
        else:
            acknowledged = handled if known == self.broker.config["incarnation"] else 0
            self.kept = [one for one in self.kept if one[0] > acknowledged]
            for number, message in self.kept:
                self.write("message", number, message)

    async def beat(self) -> None:
        while True:
            await asyncio.sleep(self.broker.config["limits"]["heartbeat"] / 2)
            self.write("acknowledged", self.handled)

    def status(self) -> pb.LinkState:
        in_flight = 0 if have("shows no messages in flight") else len(self.kept)
        return pb.LinkState(
            neighbour=self.neighbour, up=self.up, in_flight=in_flight, sent=self.sent, received=self.handled,
            publications=self.publications,
        )  # fmt: skip


# Clients


class Client:
    def __init__(self, name: str, session: Session) -> None:
        self.name, self.session = name, session
        self.advertised: dict[str, list[Predicate]] = {}
        self.subscribed: dict[str, list[Predicate]] = {}
        self.replaced: list[list[Predicate]] = []


class Session:
    def __init__(self, broker: Broker, context: Any) -> None:
        self.broker, self.context = broker, context
        self.name = ""
        self.clients: dict[str, Client] = {}
        self.last = 0
        self.rejections: dict[int, str] = {}
        self.out: asyncio.Queue[pb.BrokerFrame | None] = asyncio.Queue()
        self.waiting = 0
        self.ended = False
        self.numbered = have("numbers without being asked")
        self.numbers = 0

    async def read(self, frames: Any) -> None:
        async for data in frames:
            frame = self.decoded(data)
            if frame is None or self.ended:
                return
            if frame.session:
                self.take_over(frame.session)
                self.numbered |= frame.numbered
            beyond = frame.acknowledged > self.numbers and not have("takes any acknowledgement")
            if beyond or (frame.acknowledged and have("ends streams for acknowledgements")):
                self.refuse()
                return
            handled = 0
            for made in frame.requests:
                if made.operation == pb.OPERATION_PUBLISH:
                    handled = made.number
                    if have("acknowledges before it rejects"):
                        self.out.put_nowait(pb.BrokerFrame(acknowledged=handled))
                await self.carry_out(made)
            if handled and not have("never acknowledges"):
                self.out.put_nowait(pb.BrokerFrame(acknowledged=handled))
        if not have("ignores a half-closed stream"):
            self.out.put_nowait(None)

    def decoded(self, data: bytes) -> pb.ClientFrame | None:
        """The frame; None for one that ends the stream."""
        try:
            frame = pb.ClientFrame.FromString(data)
        except Exception:
            return self.refuse()
        bad = len(frame.requests) > MOST_REQUESTS
        for made in frame.requests:
            if not 0 < made.operation < len(WORDS):
                bad = True
                if have("carries out refused frames"):
                    return frame
            if max(len(made.client), len(made.id)) > LONGEST_NAME and not have("bears long names"):
                bad = True
        if bad or len(frame.session) > LONGEST_NAME:
            return self.refuse()
        return frame

    def refuse(self) -> None:
        self.context.set_code(grpc.StatusCode.INVALID_ARGUMENT)
        self.out.put_nowait(None)

    def take_over(self, name: str) -> None:
        names = self.broker.sessions
        former = names.get(name)
        self.name = name
        if former is not None:
            self.last, self.rejections = former.last, former.rejections
            self.numbers = 0 if have("begins numbers anew") else former.numbers
            former.end()
            former.out.put_nowait(None)
        if have("ignores numbers of other sessions") and names:
            self.last = max(each.last for each in names.values())
        names[name] = self

    async def carry_out(self, made: pb.ClientRequest) -> None:
        word = WORDS[made.operation] if made.operation < len(WORDS) else "attach"
        if have("swallows number 0") and not made.number and word != "publish":
            return
        log = self.broker.log
        if made.id:
            log.note("received", kind=word, id=made.id, client=made.client, hops=0, bytes=len(made.body))
        try:
            if word == "publish" and self.is_repeat(made.number):
                if made.number in self.rejections and not have("forgets rejections"):
                    self.answer(made, pb.OUTCOME_REJECTED, self.rejections[made.number])
                return
            self.do(word, made)
        except RejectedError as error:
            self.broker.rejected += 1
            if word == "publish":
                self.rejections[made.number] = str(error)
            if not have("logs no rejections"):
                kind = word if word not in ("attach", "detach") else "control"
                log.note("rejected", kind=kind, id=made.id, client=made.client, text=str(error))
            self.answer(made, pb.OUTCOME_REJECTED, str(error))
            if have("ends streams for bad bodies") and word != "publish":
                self.refuse()
            return
        if word != "publish":
            self.answer(made, pb.OUTCOME_CONFIRMED)

    def is_repeat(self, number: int) -> bool:
        repeat = bool(self.name) and number <= self.last and not have("routes repeats again")
        self.last = max(self.last, number)
        return repeat

    def do(self, word: str, made: pb.ClientRequest) -> None:
        if word == "attach":
            self.attach(made.client)
            return
        client = self.clients.get(made.client)
        if client is None and have("takes clients that are not attached"):
            self.attach(made.client)
            client = self.clients[made.client]
        if client is None:
            raise RejectedError("the client is not attached")
        if word == "publish":
            self.broker.publish(client, made)
        elif word == "detach":
            self.broker.clients.pop(self.clients.pop(made.client).name, None)
        elif word == "advertise":
            advertised = read_predicates(made.body, 1024)
            names = [name for name, _, _ in advertised]
            if "class" not in names or any(names.count(name) > 256 for name in set(names)):
                raise RejectedError("an advertisement names class, and no attribute too often")
            client.advertised[made.id] = advertised
        elif word == "subscribe":
            subscribed = read_predicates(made.body, 256)
            if have("keeps replaced subscriptions") and made.id in client.subscribed:
                client.replaced.append(client.subscribed[made.id])
            client.subscribed[made.id] = subscribed
        elif word == "compose":
            raise RejectedError("composite subscriptions are not offered")
        else:
            declared = client.advertised if word == "unadvertise" else client.subscribed
            if made.id not in declared:
                raise RejectedError(f"there is no {made.id}")
            if not (have("keeps withdrawn subscriptions") and word == "unsubscribe"):
                del declared[made.id]

    def attach(self, name: str) -> None:
        if not name or name.startswith("\0"):
            raise RejectedError("the client has no name")
        former = self.broker.clients.get(name)
        if former is not None and not have("lets clients stay"):
            former.session.clients.pop(name, None)
        client = Client(name, self)
        if have("keeps former declarations") and former is not None:
            client.subscribed, client.advertised = former.subscribed, former.advertised
        self.clients[name] = client
        self.broker.clients[name if not have("lets clients stay") else f"{name}@{id(self)}"] = client

    def answer(self, made: pb.ClientRequest, outcome: Any, reason: str = "") -> None:
        id = "" if have("forgets the id in answers") else made.id
        event = pb.ClientEvent(outcome=outcome, clients=[made.client], number=made.number, id=id, reason=reason)
        frame = pb.BrokerFrame(events=[event])
        if have("answers out of order") and outcome == pb.OUTCOME_CONFIRMED:
            asyncio.get_running_loop().call_later(0.03, self.out.put_nowait, frame)
        else:
            self.out.put_nowait(frame)

    def notify(self, names: list[str], id: str, body: bytes, hops: int) -> bool:
        if self.waiting + len(body) > 32 << 20:
            return False
        self.waiting += len(body)
        event = pb.ClientEvent(outcome=pb.OUTCOME_NOTIFIED, clients=names, id=id, body=body, hops=hops)
        if self.numbered:
            self.numbers += 2 if have("skips a number") and self.numbers == 1 else 1
            event.number = self.numbers
        self.out.put_nowait(pb.BrokerFrame(events=[event]))
        return True

    def end(self) -> None:
        self.ended = True
        for name, client in list(self.broker.clients.items()):
            if client.session is self and not have("keeps clients of broken streams"):
                del self.broker.clients[name]
        self.clients.clear()


# The broker


class Broker:
    def __init__(self, config: dict[str, Any]) -> None:
        self.config = config
        self.log = Log(config)
        self.links = {link["neighbour"]: Link(self, link) for link in config["links"]}
        self.clients: dict[str, Client] = {}
        self.sessions: dict[str, Session] = {}
        self.published = self.delivered = self.rejected = self.dropped = 0
        self.seen: set[str] = set()

    def publish(self, client: Client, made: pb.ClientRequest) -> None:
        publication = read_publication(made.body)
        if not have("checks no advertisement") and not any(
            conforms(publication, one) for one in client.advertised.values()
        ):
            raise RejectedError("it conforms to no advertisement")
        self.published += 1
        self.spread(None, {"kind": "publish", "id": made.id, "body": b64encode(made.body).decode(), "hops": 0})

    def receive(self, link: Link, message: dict[str, Any]) -> None:
        size = len(b64decode(message["body"]))
        self.log.note(
            "received", kind="publish", id=message["id"], peer=link.neighbour, hops=message["hops"], bytes=size
        )
        self.spread(link, message)

    def spread(self, source: Link | None, message: dict[str, Any]) -> None:
        if have("recognises copies by id") and message["id"] in self.seen:
            return
        self.seen.add(message["id"])
        self.deliver(message)
        hops = message["hops"] + (not have("counts no hops"))
        for link in self.links.values():
            lost = have("loses one publication of a thousand") and link.sent % 1000 == 999
            if link is not source and lost:
                link.sent += 1
            elif link is not source:
                link.send({**message, "hops": hops})

    def deliver(self, message: dict[str, Any]) -> None:
        body = b64decode(message["body"])
        publication = read_publication(body)
        if have("re-encodes bodies"):
            body = content.Content(
                attributes=sorted(content.Content.FromString(body).attributes, key=lambda one: one.name)
            ).SerializeToString()
        by_session: dict[Session, list[str]] = {}
        for client in self.clients.values():
            subscriptions = [*client.subscribed.values(), *client.replaced]
            matching = sum(all(holds(one, publication) for one in predicates) for predicates in subscriptions)
            times = matching if have("notifies for each subscription") else min(matching, 1)
            by_session.setdefault(client.session, []).extend([client.name] * times)
        for session, names in by_session.items():
            if names and session.notify(names, message["id"], body, message["hops"]):
                self.delivered += 1 if have("counts too few deliveries") else len(names)
                for name in names[:1] if have("logs one delivery for all clients") else names:
                    self.log.note(
                        "delivered",
                        kind="publish",
                        id=message["id"],
                        client=name,
                        hops=message["hops"],
                        bytes=len(body),
                    )
            elif names:
                self.dropped += len(names)
                self.log.note("dropped", kind="publish", id=message["id"], text="the client does not read")

    async def session(self, frames: Any, context: Any) -> None:
        session = Session(self, context)
        if have("waits for the client to speak first"):
            await frames.__anext__()
        incarnation = 1 if have("keeps its incarnation") else self.config["incarnation"]
        await context.write(pb.BrokerFrame(welcome=pb.Welcome(incarnation=incarnation)).SerializeToString())
        reading = asyncio.create_task(session.read(frames))
        try:
            while (frame := await session.out.get()) is not None:
                session.waiting -= sum(len(event.body) for event in frame.events)
                await context.write(frame.SerializeToString())
        finally:
            reading.cancel()
            session.end()

    async def status(self, request: bytes, _context: Any) -> bytes:
        tables = "{}" if pb.StatusRequest.FromString(request).tables else ""
        return pb.StatusReply(
            broker=self.config["id"], incarnation=self.config["incarnation"], clients=len(self.clients),
            links=[link.status() for link in self.links.values()], published=self.published, delivered=self.delivered,
            rejected=self.rejected, dropped=self.dropped, log_lost=self.log.lost, tables=tables,
        ).SerializeToString()  # fmt: skip


class Service(grpc.GenericRpcHandler):
    """The methods, with messages as bytes."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def service(self, call: Any) -> Any:
        match call.method:
            case "/brokerlab.v1.BrokerClient/Session":
                return grpc.stream_stream_rpc_method_handler(self._broker.session)
            case "/brokerlab.v1.BrokerControl/Status":
                return grpc.unary_unary_rpc_method_handler(self._broker.status)
            case "/grpc.health.v1.Health/Check":
                return grpc.unary_unary_rpc_method_handler(_serving)
            case _ if have("answers OK to what it does not offer"):
                return grpc.unary_unary_rpc_method_handler(_nothing)
        return None


async def _serving(_request: bytes, _context: Any) -> bytes:
    return b"\x08\x01"


async def _nothing(_request: bytes, _context: Any) -> bytes:
    return b""


def read_config(path: str) -> dict[str, Any]:
    config: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
    if have("takes any configuration"):
        return config
    if config["contract"] > 1 or config["options"]:
        raise ValueError("the contract or an option is not known")
    if have("refuses unknown fields") and "conformance_kit" in config:
        raise ValueError("conformance_kit is not known")
    return config


def clear_socket(path: str) -> None:
    if not Path(path).exists() or have("leaves a stale socket"):
        return
    with socket.socket(socket.AF_UNIX) as probe:
        if probe.connect_ex(path) == 0:
            raise ValueError(f"another broker listens at {path}")
    Path(path).unlink()


async def serve(config: dict[str, Any]) -> int:
    asked = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, asked.set)
    for address in config["listen"]:
        clear_socket(address.removeprefix("unix:"))
    broker = Broker(config)
    server = grpc.aio.server(
        options=(("grpc.max_receive_message_length", config["limits"]["message_bytes"]), ("grpc.so_reuseport", 0))
    )
    server.add_generic_rpc_handlers((Service(broker),))
    for address in config["listen"]:
        server.add_insecure_port(address)
    await server.start()
    tasks = [asyncio.create_task(broker.log.keep_flushing())]
    for link in broker.links.values():
        tasks += [asyncio.create_task(link.keep_open()), asyncio.create_task(link.beat())]
    if have("leaks a child"):
        subprocess.Popen(["sleep", "60"], start_new_session=True)  # noqa: ASYNC220
    stopping = asyncio.create_task(asked.wait())
    flushing = tasks[0]
    await asyncio.wait(
        (stopping, flushing) if not have("never flushes its log") else (stopping,), return_when="FIRST_COMPLETED"
    )
    if have("dies of a full disk") and flushing.done():
        flushing.result()
    if have("ignores SIGTERM"):
        await asyncio.Event().wait()
    broker.log.close()
    await server.stop(0)
    return 1 if have("ends with 1 when asked") else 0


def main() -> int:
    try:
        return asyncio.run(serve(read_config(sys.argv[1])))
    except (ValueError, KeyError, RuntimeError) as error:
        print(f"the broker cannot start: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    os._exit(code)
