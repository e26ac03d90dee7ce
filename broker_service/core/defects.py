"""Defects of a broker's own code: logged, reported to the shell, and raised as `BrokerDefectError`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType, TracebackType

from broker_service.config import BrokerConfig
from broker_service.core.contract import ContractError
from broker_service.routing import PROTOCOLS
from broker_service.routing.failures import FAILURES, EndlessCallError, watch_calls
from broker_service.routing.outside import place_in
from broker_service.routing.registry import at_home
from broker_service.tracing.trace import Recorder
from record.errors import BrokerDefectError
from record.log import Event


class DefectReports:
    """The reports of one broker."""

    def __init__(
        self, config: BrokerConfig, recorder: Recorder, on_defect: Callable[[BrokerDefectError], None] | None
    ) -> None:
        self._broker, self._protocol, self._incarnation = config.id, config.protocol, config.incarnation
        self._author: Callable[..., object] | None = None
        self._recorder = recorder
        self._on_defect = on_defect

    def blame(self, router: Callable[..., object]) -> None:
        """Takes the class of the broker's router, whose code is named where the protocol is from outside."""
        if self._protocol not in PROTOCOLS:
            self._author = router
            watch_calls(_root(router))

    def handling(self, occasion: str, about: object = "", call: str = "") -> Handling:
        """A context that makes a defect of whatever is raised within.

        `occasion` names what the broker was asked for, with `{}` in place of `about`; `call` is the router's method."""
        return Handling(self, occasion, about, call)

    def report(
        self, error: Exception | EndlessCallError | SystemExit, occasion: str, call: str = ""
    ) -> BrokerDefectError:
        """Logs that the broker's own code failed, and notifies the shell; the caller raises what this returns."""
        if isinstance(error, MemoryError):
            raise error  # a limit of the host, and not a mistake of the code that reached it
        complete = isinstance(error, (ContractError, EndlessCallError))
        what = " ".join((str(error) if complete else f"{type(error).__name__}: {error}").split())
        if place := self._place(error, call):
            what = f"{what} ({place})"
        sentence = f"broker defect: {self._broker} (protocol {self._protocol}) failed on {occasion}: {what}"
        defect = BrokerDefectError(self._broker, sentence, place=place)
        defect.__cause__ = error
        self._recorder.note(Event.DEFECT, count=self._incarnation, text=f"{defect}\n{defect.stack_trace}")
        if self._on_defect is not None:
            self._on_defect(defect)
        return defect

    def _place(self, error: BaseException, call: str) -> str:
        """The line of the author's code that failed, or the method whose answer was wrong; else the author's file."""
        if self._author is None:
            return ""
        if place := place_in(error, _root(self._author)):
            return at_home(place)
        code = getattr(getattr(self._author, call, None), "__code__", None)
        if not isinstance(code, CodeType):
            return at_home(str(getattr(sys.modules.get(self._author.__module__), "__file__", "")))
        return at_home(f"{code.co_filename}:{code.co_firstlineno}, in {call}")


def _root(router: Callable[..., object]) -> str:
    """The module or package of an author's router."""
    return router.__module__.partition(".")[0]


class Handling:
    """The context that `DefectReports.handling` returns. The occasion is put into words only when something is raised,
    because brokers enter such a context at every stream."""

    __slots__ = ("_about", "_call", "_occasion", "_reports")

    def __init__(self, reports: DefectReports, occasion: str, about: object, call: str) -> None:
        self._reports = reports
        self._occasion = occasion
        self._about = about
        self._call = call

    def __enter__(self) -> None:
        """Nothing is prepared."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, FAILURES):
            raise self._reports.report(error, self._occasion.format(self._about), self._call) from error
