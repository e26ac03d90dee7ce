"""The server of pages."""

from __future__ import annotations

import threading
import urllib.request

from analysis.live.serving import OnePage, PageServer, Versions

WITHIN = 30


def test_a_page_is_answered_while_versions_are_held() -> None:
    """Nobody who looks at what is followed, or tells others of it, holds up a browser."""
    versions = Versions()
    with PageServer(OnePage("<p>one</p>"), versions) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with versions.changed:
            assert urllib.request.urlopen(server.address, timeout=WITHIN).read() == b"<p>one</p>"
        server.shutdown()
