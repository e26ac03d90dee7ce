"""Limits of brokers and options of protocols: small ones as often as those of the scenario.

Bounds beyond which brokers drop messages are left as they are: what they lose is counted and logged, and no finding. So
are bounds of memory, beyond which protocols forget. The bound of what waits for a client is drawn where clients read
slowly, because what is dropped there is judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any, Literal, get_args, get_origin

import msgspec

from broker_service.routing import protocol_named
from scenario.sections.clients import Clients
from studies.exploration.draws import magnitude, whole_magnitude
from studies.exploration.surroundings import Surroundings

SMALLEST, SMALL = 1, 16
LEAST_MEMORY = 1 << 20
"""The least number that is one of bytes, beyond which protocols forget or wait; it is left as it is."""
SESSION_QUEUE = 16, 64
"""Bounds of what waits for a client: more than the replies to what clients ask for at once, for which it holds, too."""
_SHORT = 0.03
"""Seconds of the longest link on which windows may be of one message."""
_LEAST_WINDOW = 2
"""Messages of the smallest window on longer links."""
_ALTERED = 0.5
"""Share of the runs with limits, and with options, that are not the scenario's."""
_HURRIED = 0.5
"""Share of the runs with composite subscriptions whose detectors wait for late publications for a short time only."""
_LATENESS = 10, 1_000
"""Milliseconds of that time: about as long as messages take on links, so that some are later, and some are not."""
_EACH = 0.5
"""Share of the limits and options that are altered in such a run."""


def drawn_brokers(
    surroundings: Surroundings, random: Random, slowest: float, clients: Clients | None
) -> Mapping[str, Any]:
    """The section `brokers` of a scenario with these `clients`; empty for the defaults. `slowest` is the longest delay
    of a link, seconds.

    A window of one message is drawn for short links only. Long ones carry so few messages a second then that a run
    takes minutes to rest.
    """
    limits: dict[str, Any] = {}
    if surroundings.composites and random.random() < _HURRIED:
        limits["detection_lateness"] = f"{magnitude(random, *_LATENESS):.3g}ms"
    if random.random() >= _ALTERED:
        return {"limits": limits} if limits else {}
    for name in ("window", "batch"):
        if random.random() < _EACH:
            least = _LEAST_WINDOW if name == "window" and slowest > _SHORT else SMALLEST
            limits[name] = whole_magnitude(random, least, SMALL)
    if random.random() < _EACH:
        limits["heartbeat"] = f"{magnitude(random, 100, 1_000):.3g}ms"
    if random.random() < _EACH:
        limits["reconnect_first"] = f"{magnitude(random, 10, 1_000):.3g}ms"
    if surroundings.composites and random.random() < _EACH:
        limits["detection_window"] = f"{magnitude(random, 100, 10_000):.3g}ms"
    if clients is not None and clients.read_slowly and random.random() < _EACH:
        limits["session_queue"] = whole_magnitude(random, *SESSION_QUEUE)
    if surroundings.survives_lost_streams and random.random() < _EACH:
        limits["resume"] = False
    brokers: dict[str, Any] = {"limits": limits} if limits else {}
    if random.random() < _EACH:
        brokers["service_time"] = f"{magnitude(random, 0.1, 5):.3g}ms"
    return brokers


def drawn_options(surroundings: Surroundings, random: Random) -> Mapping[str, Any]:
    """Options of the protocol: the scenario's, of which some may be altered.

    Choices are made among all that there are, numbers are small, and times are up to ten times longer or shorter.
    """
    options = dict(surroundings.options)
    if random.random() >= _ALTERED:
        return options
    declared = protocol_named(surroundings.protocol).options
    for option in msgspec.structs.fields(declared):
        name, default = option.encode_name, options.get(option.encode_name, option.default)
        if random.random() >= _EACH:
            continue
        if get_origin(option.type) is Literal:
            options[name] = random.choice(get_args(option.type))
        elif isinstance(default, bool):
            options[name] = random.random() < 0.5
        elif isinstance(default, int) and default < LEAST_MEMORY:
            options[name] = whole_magnitude(random, SMALLEST, SMALL)
        elif isinstance(default, float) and name in declared.times and default:
            options[name] = float(f"{magnitude(random, default / 10, default * 10):.3g}")
    return options
