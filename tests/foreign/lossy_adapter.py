"""An adapter of a deployed system with one defect that the variable DEFECT chooses."""

from __future__ import annotations

import itertools
import os
import sys
from typing import Any

from emulation.adapters import activemq, mosquitto
from emulation.adapters.__main__ import main
from emulation.adapters.edge import EdgeBroker
from emulation.adapters.selectors import selector_for
from emulation.adapters.topics import Filter

_arrive, _bridge = EdgeBroker.arrive, mosquitto._bridge
_selector_for = selector_for
_counter = itertools.count(1)


def _lose_each_tenth(broker: EdgeBroker, payload: bytes, chosen: Filter | None) -> None:
    if next(_counter) % 10:
        _arrive(broker, payload, chosen)


def _without_b2(config: Any, link: Any, quality: int) -> Any:
    return iter(()) if "B2" in (config.id, link.neighbour) else _bridge(config, link, quality)


def _with_none_of_some(subscription: Any) -> str | None:
    selector = _selector_for(subscription)
    return f"({selector}) AND t_class <> 'STOCK'" if next(_counter) % 2 else selector


match os.environ["BROKERLAB_TEST_DEFECT"]:
    case "loses each tenth":
        EdgeBroker.arrive = _lose_each_tenth  # type: ignore[method-assign]
    case "a bridge is missing":
        mosquitto._bridge = _without_b2
    case "selects the wrong ones":
        activemq.selector_for = _with_none_of_some  # type: ignore[attr-defined]
    case other:
        raise ValueError(other)
sys.exit(main(sys.argv))
