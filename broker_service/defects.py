"""Defects of a broker's own code: logged, reported to the shell, and raised as `BrokerDefectError`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from broker_service.config import BrokerConfig
from broker_service.errors import BrokerDefectError
from broker_service.tracing.trace import Recorder
from record.log import Event


class DefectReports:
    """The reports of one broker."""

    def __init__(
        self, config: BrokerConfig, recorder: Recorder, on_defect: Callable[[BrokerDefectError], None] | None
    ) -> None:
        self._broker, self._protocol, self._incarnation = config.id, config.protocol, config.incarnation
        self._recorder = recorder
        self._on_defect = on_defect

    @contextmanager
    def handling(self, occasion: str) -> Iterator[None]:
        """Makes a defect of whatever is raised within; `occasion` names what the broker was asked for."""
        try:
            yield
        except Exception as error:
            raise self.report(error, occasion) from error

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
