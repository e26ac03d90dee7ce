"""The extras of the package: Python packages that only some commands need, and that are installed when asked for."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

from record.errors import HostError
from record.installation import CODE, INSTALLED, make


@dataclass(frozen=True, slots=True)
class Extra:
    """Packages that are installed together."""

    name: str
    purpose: str
    modules: tuple[str, ...]
    """The modules by which a missing extra is recognised."""
    target: str = "setup"
    """The target of a checkout's Makefile that installs it."""

    @property
    def remedy(self) -> str:
        return f"pip install 'brokerlab[{self.name}]'" if INSTALLED else make(self.target)

    def missing(self) -> str | None:
        """The first of its modules that is not installed; None if all are."""
        return next((module for module in self.modules if not _installed(module)), None)

    def require(self) -> None:
        """Raises `HostError`, which names the remedy, if a module is not installed."""
        if (module := self.missing()) is not None:
            raise HostError(self.sentence(module))

    def sentence(self, module: str) -> str:
        """The sentence for the user about a module that is not installed."""
        return f"the Python package {module} is missing, which is needed for {self.purpose}: {self.remedy}"


EMULATION = Extra("emulation", "real brokers on emulated links", ("docker", "mininet", "distutils"))
HOSTS = Extra("hosts", "runs and campaigns on several hosts", ("ansible_runner", "ansible"))
SPARK = Extra("spark", "Spark", ("pyspark", "pandas"))
SYSTEMS = Extra("systems", "deployed systems behind adapters", ("paho", "zenoh"), "base")
ACTIVEMQ = Extra("activemq", "ActiveMQ behind its adapter", ("stomp",), "base")
EXTRAS = (EMULATION, HOSTS, SPARK, SYSTEMS, ACTIVEMQ)
SYSTEM_CLIENTS = {"mosquitto": SYSTEMS, "zenoh": SYSTEMS, "activemq": ACTIVEMQ}
"""The extras with the clients of deployed systems, by the names of these."""
_GENERATED = ".generated."
"""A part of the names of modules that are generated from proto/, and that a checkout does not keep."""


def about_missing(error: ImportError) -> str | None:
    """The sentence about a module of an extra, or one made from proto/, that could not be imported; None for any other
    error."""
    if _GENERATED in (error.name or "") and not INSTALLED:
        return f"{error.name} has not been generated from proto/ in {CODE}: `make proto` there"
    module = (error.name or "").partition(".")[0]
    return next((extra.sentence(module) for extra in EXTRAS if module in extra.modules), None)


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False
