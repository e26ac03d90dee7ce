"""Defects of a broker's own code: logged, reported to the shell, and raised as `BrokerDefectError`."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

from broker_service.config import BrokerConfig
from broker_service.tracing.trace import Recorder
from record.errors import BrokerDefectError
from record.log import Event


class DefectReports:
    """The reports of one broker."""

    def __init__(
        self, config: BrokerConfig, recorder: Recorder, on_defect: Callable[[BrokerDefectError], None] | None
    ) -> None:
        self._broker, self._protocol, self._incarnation = config.id, config.protocol, config.incarnation
        self._recorder = recorder
        self._on_defect = on_defect

    def handling(self, occasion: str, about: object = "") -> Handling:
        """A context that makes a defect of whatever is raised within.

        `occasion` names what the broker was asked for, with `{}` in place of `about`."""
        return Handling(self, occasion, about)

    def report(self, error: Exception, occasion: str) -> BrokerDefectError:
        """Logs that the broker's own code failed, and notifies the shell; the caller raises what this returns."""
        if isinstance(error, MemoryError):
            raise error  # a limit of the host, and not a mistake of the code that reached it
        what = " ".join(f"{type(error).__name__}: {error}".split())
        defect = BrokerDefectError(
            self._broker, f"broker defect: {self._broker} (protocol {self._protocol}) failed on {occasion}: {what}"
        )
        defect.__cause__ = error
        self._recorder.note(Event.DEFECT, count=self._incarnation, text=f"{defect}\n{defect.stack_trace}")
        if self._on_defect is not None:
            self._on_defect(defect)
        return defect


class Handling:
    """The context that `DefectReports.handling` returns. The occasion is put into words only when something is raised,
    because brokers enter such a context at every stream."""

    __slots__ = ("_about", "_occasion", "_reports")

    def __init__(self, reports: DefectReports, occasion: str, about: object) -> None:
        self._reports = reports
        self._occasion = occasion
        self._about = about

    def __enter__(self) -> None:
        """Nothing is prepared."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, Exception):
            raise self._reports.report(error, self._occasion.format(self._about)) from error
