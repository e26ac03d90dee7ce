"""Cases in real time: brokers as processes or in containers, on an emulated network."""

from studies.conformance.host.case_runner import HostCaseRunner, host_case_runner

__all__ = ["HostCaseRunner", "host_case_runner"]
