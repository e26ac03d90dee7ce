"""brokerlab as a library: a few names for notebooks and scripts, and `brokerlab.protocol` for a protocol of one's own.

A name is imported when it is used first, because brokers import this package for a protocol's sake and nothing else.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from brokerlab import protocol
    from brokerlab.library import Analysis, analyze, emulate, load, plan, simulate

__all__ = ["Analysis", "analyze", "emulate", "load", "plan", "protocol", "simulate"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "protocol":
        return import_module("brokerlab.protocol")
    return getattr(import_module("brokerlab.library"), name)


def __dir__() -> list[str]:
    return __all__
