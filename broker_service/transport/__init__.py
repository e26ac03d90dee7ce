"""Streams between processes: gRPC over HTTP/2 within the event loop, frames as bytes, and reading beside writing.

From below: what stands on the wire (`length_prefix`, `status`, `frames`, `methods`), one end of a stream (`stream`),
its connection (`connection`) with its two ends (`channel` opens streams, `server` serves them), calls with one reply
(`unary`), streams that are read and written side by side (`duplex`), and the frames of proto/broker.proto (`wire`).
Beside them are the event loop's timers of microsecond precision (`timer_file`, `precise_timer`).

gRPC's own library for Python polls its sockets in a thread that wakes the event loop: relaying a small message took
four thread switches and 0.2 ms of processor time. Here the event loop reads the sockets itself.
"""
