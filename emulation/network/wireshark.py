"""A profile for Wireshark and tshark that decodes captured links: HTTP/2, gRPC, and the messages of our .proto files.

A link's stream is older than most captures, which have not seen its headers. So the profile states them for streams
that it has no headers of.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from record.errors import unusable_directory
from record.installation import FILES

DEFINITIONS = ("broker.proto", "content.proto")
"""The files of the wire's messages."""
_LINK = "/brokerlab.v1.BrokerLink/Link"
"""The path of the requests that are links."""
_GRPC = "application/grpc"


def write_profile(directory: Path, port: int) -> None:
    """Writes the files of a profile for brokers that listen on a port into a directory, which is made.

    Raises `BadInputError` where that is not possible.
    """
    definitions = directory / "proto"
    try:
        definitions.mkdir(parents=True, exist_ok=True)
        for name in DEFINITIONS:
            shutil.copyfile(FILES / "proto" / name, definitions / name)
        for name, lines in _files(definitions, port).items():
            (directory / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    except OSError as error:
        raise unusable_directory(directory, error) from error


def _files(definitions: Path, port: int) -> dict[str, list[str]]:
    return {
        "preferences": ["protobuf.preload_protos: TRUE"],
        "decode_as_entries": [f"decode_as_entry: tcp.port,{port},(none),HTTP2"],
        "protobuf_search_paths": [_row(str(definitions.absolute()), "TRUE")],
        "http2_fake_headers": [
            _row(str(port), "0", direction, name, value, "TRUE")
            for direction, name, value in (
                ("IN", ":path", _LINK),
                ("IN", "content-type", _GRPC),
                ("OUT", "content-type", _GRPC),
            )
        ],
    }


def _row(*values: str) -> str:
    """A row of one of Wireshark's tables, whose values escape quotes and backslashes as `\\xHH`."""
    return ",".join('"' + value.replace("\\", r"\x5c").replace('"', r"\x22") + '"' for value in values)
