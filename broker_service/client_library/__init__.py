"""The client's end of a session with a broker: requests, the stream, and a client for programs."""
