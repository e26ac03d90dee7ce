"""Streams between processes: frames as bytes (`wire`), gRPC (`rpc`), and reading beside writing (`duplex`)."""
