"""The states of a link session and the transitions between them.

    state      input      next state   what happens
    ---------  ---------  -----------  ---------------------------------------------------------------------------
    CLOSED     DIAL       DIALLING     a stream is opened from here, its first frame is this end's hello
    CLOSED     ACCEPT     ANSWERING    the neighbour opened a stream, its hello was checked
    DIALLING   GREETED    OPEN         the neighbour's hello came and was checked: the link is up
    DIALLING   DIAL       DIALLING     the former attempt is given up
    DIALLING   END        CLOSED       the attempt failed
    ANSWERING  ANSWERED   OPEN         this end's hello was taken by the transport: the link is up
    ANSWERING  ACCEPT     ANSWERING    the neighbour gave the former stream up before it was answered
    ANSWERING  END        CLOSED       the stream broke before it was answered
    OPEN       END        CLOSED       the stream broke, or the neighbour was silent for too long: the link is down
    OPEN       REST       CLOSED       a link on demand was idle for long: it rests until it is used
    OPEN       ACCEPT     ANSWERING    the neighbour gave the former stream up: the link is down
    OPEN       DIAL       DIALLING     this end gave the former stream up: the link is down

An input that the table does not have for a state is a mistake of the session's driver.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping


class State(enum.Enum):
    """The state of a link session."""

    CLOSED = enum.auto()
    DIALLING = enum.auto()
    ANSWERING = enum.auto()
    OPEN = enum.auto()


class Input(enum.Enum):
    """Event that changes the state of a link session."""

    DIAL = enum.auto()
    ACCEPT = enum.auto()
    GREETED = enum.auto()
    ANSWERED = enum.auto()
    END = enum.auto()
    REST = enum.auto()


class StateError(RuntimeError):
    """A driver's call that the session's state does not allow."""


TRANSITIONS: Mapping[State, Mapping[Input, State]] = {
    State.CLOSED: {Input.DIAL: State.DIALLING, Input.ACCEPT: State.ANSWERING},
    State.DIALLING: {Input.GREETED: State.OPEN, Input.DIAL: State.DIALLING, Input.END: State.CLOSED},
    State.ANSWERING: {Input.ANSWERED: State.OPEN, Input.ACCEPT: State.ANSWERING, Input.END: State.CLOSED},
    State.OPEN: {
        Input.END: State.CLOSED,
        Input.REST: State.CLOSED,
        Input.ACCEPT: State.ANSWERING,
        Input.DIAL: State.DIALLING,
    },
}


def transition(state: State, input: Input) -> State:
    """The state that follows. Raises `StateError` where the table has none."""
    try:
        return TRANSITIONS[state][input]
    except KeyError:
        raise StateError(f"a link session that is {state.name} does not take {input.name}") from None
