"""The userspace link driver's relay: a `process` of its own that carries frames between TAP interfaces (`tap`), and
delays, drops and queues them as links do (`shaping`). The emulator starts and commands it (`handle`, `messages`)."""
