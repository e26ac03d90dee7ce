"""Decoding of any control message between Gryphon's brokers: about propagation, streams or detours."""

from __future__ import annotations

from collections.abc import Callable

from broker_service.routing.common.decoding import header_decoder
from broker_service.routing.gryphon.detours.messages import DetourControl
from broker_service.routing.gryphon.propagation.messages import Control
from broker_service.routing.gryphon.streams.messages import StreamControl

decode_any: Callable[[bytes], Control | StreamControl | DetourControl] = header_decoder(
    Control | StreamControl | DetourControl
)
