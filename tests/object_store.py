"""A store of objects on loopback that speaks as much of S3 as PyArrow needs. Its objects are in this process's memory.

It knows neither folders nor renaming, as S3: names have slashes, and an object is copied to another name.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.etree import ElementTree
from xml.sax.saxutils import escape

BUCKET = "bucket"
_SETTINGS = "scheme=http&region=here&endpoint_override=127.0.0.1%3A"


@dataclass(slots=True)
class ObjectStore:
    """The objects, and how to reach them."""

    port: int = 0
    objects: dict[str, bytes] = field(default_factory=dict)
    """Contents by name, without those that stand for empty folders."""
    folders: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)
    """The method and the name of each request."""
    uploads: dict[str, dict[int, bytes]] = field(default_factory=dict)

    def uri(self, name: str) -> str:
        """The URI of a folder, with invented credentials."""
        return f"s3://user:secret@{BUCKET}/{name}?{_SETTINGS}{self.port}"

    def hold(self, directory: Path, name: str) -> str:
        """Copies a directory to the store, and returns its URI."""
        for file in directory.rglob("*"):
            if file.is_file():
                self.objects[f"{name}/{file.relative_to(directory)}"] = file.read_bytes()
        return self.uri(name)

    def fetch(self, name: str, directory: Path) -> Path:
        """Copies a folder from the store to a directory, which it returns."""
        for path, body in self.below(name).items():
            (directory / path).parent.mkdir(parents=True, exist_ok=True)
            (directory / path).write_bytes(body)
        return directory

    def below(self, name: str) -> dict[str, bytes]:
        """The objects in a folder, by the name in it."""
        start = f"{name}/"
        return {key.removeprefix(start): body for key, body in self.objects.items() if key.startswith(start)}


@contextmanager
def object_store() -> Iterator[ObjectStore]:
    """A store that ends with the context."""
    store = ObjectStore()

    class Handler(_Handler):
        _store = store

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        store.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), name="object store", daemon=True)
        thread.start()
        try:
            yield store
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # the head and the body of an answer in one packet, or the client would acknowledge the head late
    disable_nagle_algorithm = True
    _store: ObjectStore

    def log_message(self, *_: object) -> None:
        """Nothing."""

    def handle_expect_100(self) -> bool:
        """Asks for the body at once, because the client waits for a second before it sends it unasked."""
        asks = super().handle_expect_100()
        self.wfile.flush()
        return asks

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        name, query = self._asked()
        if "list-type" in query:
            self._list(query)
        elif name in self._store.objects or name in self._store.folders:
            self._send(self._store.objects.get(name, b""))
        elif not name:
            self._answer(200)
        else:
            self._refuse()

    def do_PUT(self) -> None:
        name, query = self._asked()
        body = self._body()
        if "partNumber" in query:
            self._store.uploads[query["uploadId"][0]][int(query["partNumber"][0])] = body
        elif source := self.headers.get("x-amz-copy-source"):
            copied = self._store.objects.get(unquote(source).lstrip("/").removeprefix(f"{BUCKET}/"))
            if copied is None:
                self._refuse()
                return
            self._store.objects[name] = copied
            self._answer(200, f"<CopyObjectResult><ETag>{_tag(copied)}</ETag></CopyObjectResult>")
            return
        elif name.endswith("/"):
            self._store.folders.add(name)
        else:
            self._store.objects[name] = body
        self._answer(200, tag=_tag(body))

    def do_POST(self) -> None:
        name, query = self._asked()
        body = self._body()
        if "delete" in query:
            for key in ElementTree.fromstring(body).iter():
                if key.tag.rpartition("}")[2] == "Key":
                    self._delete(key.text or "")
            self._answer(200, "<DeleteResult/>")
        elif "uploads" in query:
            upload = f"upload-{len(self._store.uploads)}"
            self._store.uploads[upload] = {}
            self._answer(
                200,
                f"<InitiateMultipartUploadResult><Bucket>{BUCKET}</Bucket><Key>{escape(name)}</Key>"
                f"<UploadId>{upload}</UploadId></InitiateMultipartUploadResult>",
            )
        else:
            parts = self._store.uploads.pop(query["uploadId"][0])
            self._store.objects[name] = b"".join(parts[number] for number in sorted(parts))
            self._answer(200, "<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>")

    def do_DELETE(self) -> None:
        name, query = self._asked()
        if "uploadId" in query:
            self._store.uploads.pop(query["uploadId"][0], None)
        else:
            self._delete(name)
        self._answer(204)

    def _asked(self) -> tuple[str, dict[str, list[str]]]:
        parts = urlsplit(self.path)
        name = unquote(parts.path).lstrip("/").removeprefix(BUCKET).removeprefix("/")
        self._store.asked.append(f"{self.command} {name}")
        return name, parse_qs(parts.query, keep_blank_values=True)

    def _body(self) -> bytes:
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            body = b"".join(self._chunks())
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if "aws-chunked" not in self.headers.get("Content-Encoding", ""):
            return body
        found = []
        while size := int(re.split(rb"[;\r]", body, maxsplit=1)[0], 16):
            start = body.index(b"\r\n") + 2
            found.append(body[start : start + size])
            body = body[start + size + 2 :]
        return b"".join(found)

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline().split(b";")[0], 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass

    def _delete(self, name: str) -> None:
        self._store.objects.pop(name, None)
        self._store.folders.discard(name)

    def _list(self, query: dict[str, list[str]]) -> None:
        prefix, delimiter = query.get("prefix", [""])[0], query.get("delimiter", [""])[0]
        found, inner = [], set()
        for name in sorted({*self._store.objects, *self._store.folders}):
            if not name.startswith(prefix):
                continue
            head, cut, _ = name[len(prefix) :].partition(delimiter) if delimiter else (name, "", "")
            if cut:
                inner.add(f"{prefix}{head}{cut}")
            else:
                found.append(name)
        contents = "".join(
            f"<Contents><Key>{escape(name)}</Key><Size>{len(self._store.objects.get(name, b''))}</Size>"
            "<LastModified>2026-01-31T00:00:00.000Z</LastModified></Contents>"
            for name in found
        )
        prefixes = "".join(
            f"<CommonPrefixes><Prefix>{escape(name)}</Prefix></CommonPrefixes>" for name in sorted(inner)
        )
        self._answer(
            200,
            f"<ListBucketResult><Name>{BUCKET}</Name><KeyCount>{len(found) + len(inner)}</KeyCount>"
            f"<IsTruncated>false</IsTruncated>{contents}{prefixes}</ListBucketResult>",
        )

    def _send(self, body: bytes) -> None:
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if wanted is None:
            self._respond(200, body, tag=_tag(body))
            return
        start, end = int(wanted[1]), min(int(wanted[2] or len(body) - 1), len(body) - 1)
        self._respond(206, body[start : end + 1], tag=_tag(body), range=f"bytes {start}-{end}/{len(body)}")

    def _refuse(self) -> None:
        self._answer(404, "<Error><Code>NoSuchKey</Code><Message>no such object</Message></Error>")

    def _answer(self, status: int, content: str = "", tag: str = "") -> None:
        self._respond(status, content.encode(), tag)

    def _respond(self, status: int, body: bytes, tag: str = "", range: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Last-Modified", "Sat, 31 Jan 2026 00:00:00 GMT")
        for name, value in (("ETag", tag), ("Content-Range", range)):
            if value:
                self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _tag(body: bytes) -> str:
    return f'"{hashlib.md5(body).hexdigest()}"'
