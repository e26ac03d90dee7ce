"""A protocol made of what a router's program declares of itself."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import msgspec
from msgspec import UNSET

from broker_service.messages import BrokerId
from broker_service.routing.declaration import Protocol
from broker_service.routing.interface import CAPABILITIES, Router, RouterContext
from broker_service.routing.options import Preparation, ProtocolOptions
from broker_service.routing.program import lines
from broker_service.routing.program.channel import Channel, NoProgramError, ProgramError
from broker_service.routing.program.contents import predicates_line
from broker_service.routing.program.references import argv_of
from broker_service.routing.program.router import ProgramRouter
from record.errors import BrokerDefectError, ProtocolCodeError
from record.promises import Promises


def declaration_of(reference: str) -> Protocol:
    """The protocol of a program, which is started to declare itself.

    Raises `ValueError` for what is no reference, `NoProgramError` for what cannot be started, and `ProtocolCodeError`
    when the program does not declare itself.
    """
    program = Program(argv_of(reference))
    return Protocol(program.router, program.options)


class ProgramOptions(ProtocolOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options that a program has declared; each program has a class of its own."""

    program: ClassVar[Program]

    @property
    def promises(self) -> Promises:
        return self.program.declaration.promises

    @property
    def follows_load(self) -> bool:
        return self.program.declaration.follows_load

    @property
    def reconciles_within(self) -> float:
        return self.program.declaration.reconciles_within

    @property
    def settles_within(self) -> float:
        return self.program.declaration.settles_within

    def prepare(self, preparation: Preparation) -> Mapping[BrokerId, bytes]:
        if not self.program.declaration.prepares:
            return {}
        call = lines.Prepare(
            options=msgspec.to_builtins(self),
            brokers={broker: dict(attributes) for broker, attributes in preparation.brokers.items()},
            links=[lines.PrepareLink(*link) for link in preparation.links],
            advertisements=_predicates(preparation.advertisements),
            subscriptions=_predicates(preparation.subscriptions),
            seed=preparation.seed,
        )
        said = self.program.call_once(call)
        if said.refuse is not UNSET:
            raise ValueError(said.refuse)
        if said.prepared is UNSET:
            raise self.program.defect(ProgramError("the program's answer to call 'prepare' has no `prepared`"))
        return said.prepared


class Program:
    """A program: how it is started, and what it declares."""

    def __init__(self, argv: Sequence[str]) -> None:
        self._argv = tuple(argv)
        self._shared: weakref.ref[Channel] | None = None
        """The process of all brokers, for a program that is multiplexed."""

    @cached_property
    def declaration(self) -> lines.Declaration:
        """The program's own words. Raises `ProtocolCodeError`."""
        said = self.call_once(lines.Declare(contract=lines.VERSION))
        declared = said.declaration
        if declared is UNSET:
            raise self.defect(ProgramError("the program's answer to call 'declare' has no `declaration`"))
        if declared.contract != lines.VERSION:
            error = ProgramError(f"the program keeps contract {declared.contract}; this is contract {lines.VERSION}")
            raise self.defect(error)
        if unknown := sorted(set(declared.capabilities) - CAPABILITIES.keys()):
            raise self.defect(ProgramError(f"the program declares capabilities that do not exist: {unknown}"))
        return declared

    @property
    def options(self) -> type[ProtocolOptions]:
        """The class of its options."""
        declared = self.declaration
        fields: list[tuple[str, type, Any]] = [
            (name, type(default), default) for name, default in declared.options.items()
        ]
        namespace = {
            "program": self,
            "times": declared.times,
            "attributes": declared.attributes,
            "counting_tables": frozenset(declared.counting_tables),
            "recognises_repeats": declared.recognises_repeats,
            "neighbours_change": declared.neighbours_change,
            "deterministic": declared.deterministic,
        }
        made: Any = msgspec.defstruct(
            "DeclaredOptions",
            fields,
            bases=(ProgramOptions,),
            namespace=namespace,
            frozen=True,
            kw_only=True,
            forbid_unknown_fields=True,
        )
        options: type[ProtocolOptions] = made
        return options

    def router(self, context: RouterContext[ProtocolOptions]) -> Router:
        """The router of one broker, with a process of its own unless the program is multiplexed.

        Raises `BrokerDefectError` when the program does not begin.
        """
        try:
            return ProgramRouter(context, self._channel(), self.declaration)
        except ProgramError as error:
            raise BrokerDefectError(context.broker, f"broker defect: {context.broker}: {error}") from error

    def call_once(self, call: lines.AnyCall) -> lines.Said:
        """The answer of a process that is started for this call only.

        Raises `NoProgramError` for a program that cannot be started, and `ProtocolCodeError` for one that fails.
        """
        try:
            channel = Channel(self._argv)
            try:
                return channel.call(call, _refuse_asks)
            finally:
                channel.close()
        except NoProgramError:
            raise
        except ProgramError as error:
            raise self.defect(error) from None

    def defect(self, error: ProgramError) -> ProtocolCodeError:
        """The error of a program at planning, when there are no brokers yet."""
        return ProtocolCodeError(str(error))

    def _channel(self) -> Channel:
        if not self.declaration.multiplexed:
            return Channel(self._argv)
        channel = None if self._shared is None else self._shared()
        if channel is None:
            channel = Channel(self._argv)
            self._shared = weakref.ref(channel)
        return channel


def _refuse_asks(_said: lines.Said) -> lines.Reply | None:
    raise ProgramError("the program asks something before there is a broker")


def _predicates(declared: Mapping[BrokerId, Sequence[Any]]) -> dict[str, list[lines.PredicatesLine]]:
    return {broker: [predicates_line(one.predicates) for one in those] for broker, those in declared.items()}
