"""The answers of a router that its contract does not allow, in words for its author."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import get_args

from broker_service.messages import BrokerId, Message
from broker_service.routing.interface import Action, Deliver, Send

_ACTIONS = get_args(Action)


class ContractError(TypeError):
    """An answer of a router that its contract does not allow."""


def objection(actions: object, error: Exception, neighbours: Container[BrokerId]) -> str:
    """The reason why actions could not be performed, and what was expected; empty when the router is not to blame.

    `error` is what their performance raised.
    """
    if actions is None:
        return "it returned None, and a list of actions is expected; is a `return` missing?"
    if isinstance(actions, _ACTIONS):
        name = type(actions).__name__
        return f"it returned one {name}, and a list of actions is expected; write `[{name}(...)]`"
    if isinstance(actions, str) or not isinstance(actions, Iterable):
        return f"it returned {_shown(actions)}, and a list of actions is expected"
    known = neighbours if isinstance(error, KeyError) else None
    return next((text for action in actions if (text := _of_action(action, known))), "")


def _of_action(action: object, neighbours: Container[BrokerId] | None) -> str:
    if isinstance(action, Send):
        return _of_send(action, neighbours)
    if type(action) not in _ACTIONS and not isinstance(action, Deliver):
        return f"it returned a list with {_shown(action)}, and only actions are expected, such as `Send` and `Deliver`"
    return ""


def _of_send(send: Send, neighbours: Container[BrokerId] | None) -> str:
    message: object = send.message
    if not isinstance(message, Message):
        return f"it sends {_shown(message)} to {send.neighbour}, and a `Message` is expected"
    if neighbours is not None and send.neighbour not in neighbours:
        return f"it sends to {send.neighbour!r}, which is no neighbour; `context.links` has all neighbours"
    for name in ("header", "body"):
        if not isinstance(value := getattr(message, name), bytes):
            return f"it sends a {name} of the type {type(value).__name__} to {send.neighbour}, and bytes are expected"
    return ""


def _shown(value: object) -> str:
    text = repr(value)
    return f"{text[:60]}..." if len(text) > 60 else text
