"""Contents of publications, encoded and decoded once for all nodes of a simulation.

A publication's body holds its content as bytes, whose length and encoding are those of a real run. The nodes are in one
process, so a broker that reads a body gets the very value that the client has encoded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from broker_service.language import Publication, Value
from broker_service.language.content import decode_publication, encode_publication
from emulation.drivers.driver_operations import ReadyContent, ready_content

CONTENTS_KEPT: Final = 4_096
"""Contents that are kept, the latest ones: about 5 MB of quotes."""


class Contents:
    """The contents of one overlay's publications."""

    def __init__(self) -> None:
        self._kept: dict[bytes, Publication] = {}
        """Contents by body, oldest first."""
        self._ready: dict[int, tuple[Mapping[str, Value], ReadyContent]] = {}
        """The latest attributes with what was made of them, by identity, which is theirs alone as long as they are
        kept."""

    def ready(self, attributes: Mapping[str, Value]) -> ReadyContent:
        """Returns `ready_content` of these attributes, made once where operations share them, as those do which a
        scenario writes alike. Raises `ContentError`."""
        known = self._ready.get(id(attributes))
        if known is None:
            if len(self._ready) >= CONTENTS_KEPT:
                del self._ready[next(iter(self._ready))]
            known = self._ready[id(attributes)] = attributes, ready_content(attributes, self.encode)
        return known[1]

    def encode(self, content: Publication) -> bytes:
        """The body of a publication. Raises `ContentError` as `encode_publication` does."""
        body = encode_publication(content)
        self._keep(body, content)
        return body

    def decode(self, body: bytes) -> Publication:
        """The content in a body. Raises `ContentError` as `decode_publication` does."""
        content = self._kept.get(body)
        if content is None:
            content = decode_publication(body)
            self._keep(body, content)
        return content

    def _keep(self, body: bytes, content: Publication) -> None:
        kept = self._kept
        kept[body] = content
        if len(kept) > CONTENTS_KEPT:
            del kept[next(iter(kept))]
