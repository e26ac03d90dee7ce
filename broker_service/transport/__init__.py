"""Streams between processes: gRPC over HTTP/2 within the event loop, frames as bytes, and reading beside writing.

From below: what stands on the wire (`length_prefix`, `status`, `frames`, `methods`), what leaves a connection
(`outgoing`), its streams and the frames that come in for them (`stream`), the connection (`connection`) with its two
ends (`channel` opens streams, `server` serves them and calls with one reply), streams that are read and written side by
side (`duplex`), and the frames of proto/broker.proto (`wire`). Beside them are timers of microsecond precision
(`timer_file`, `precise_timer`).

gRPC's own library for Python polls its sockets in a thread that wakes the event loop: relaying a small message took
four thread switches and 0.2 ms of processor time. Here the event loop reads the sockets itself.
"""
