"""Cases in real time: brokers as processes or in containers, on an emulated network."""

from studies.conformance.host.testbed import HostTestbed, host_testbed

__all__ = ["HostTestbed", "host_testbed"]
