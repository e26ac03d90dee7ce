"""Trials that come out wrong today, each with the reason. The list is as short as truth allows.

`make gauntlet` counts them as wrong. The tests expect each of them to come out wrong, so that a mend is noticed here.
"""

from __future__ import annotations

from collections.abc import Mapping

_LINKS = "links are not audited from the messages yet, nor is their jitter, loss and rate"
_FAULTS = "planned faults are not verified from outside yet, and unplanned outages are not compared with the plan"
_LOGS = "counters of the two ends of a link, and of broker and client, are not compared yet"
_CLOCKS = "clocks are not compared through the run yet"
_PLAN = "the plan of the workload is not compared with what was issued yet"
_SIMULATOR = "queues and services are not recomputed yet"
_BLAMED = "an honest run is blamed"
_OTHER = "the verdict excuses it, or does not say the sentence"

KNOWN_MISSED: Mapping[str, str] = {
    "routers/medym advertised ignores every other subscription": _OTHER,
    "links/a link goes down for good without a fault": _OTHER,
    "client library/clients do not subscribe again": _OTHER,
    "client library/sessions never come back after a crash": _OTHER,
    "network links/all links are 30 percent slower": _LINKS,
    "network links/all links have half their delay": _LINKS,
    "network links/one direction of one link is 50 percent slower": _LINKS,
    "network links/links of a mesh have no delay": _LINKS,
    "network links/one link is slower under load only": _LINKS,
    "network links/jitter is missing": _LINKS,
    "network links/jitter is three times as large": _LINKS,
    "network links/jitter is there unasked": _LINKS,
    "network links/bandwidth is not limited": _LINKS,
    "network links/bandwidth is half": _LINKS,
    "network links/loss is ignored": _LINKS,
    "network links/loss is three times as large": _LINKS,
    "network links/packets are lost unasked": _LINKS,
    "network links/frames arrive at once": _LINKS,
    "network links/every fiftieth frame is 60 ms late": _LINKS,
    "network links/frames count as half their size": _LINKS,
    "network links/send times are 30 percent longer": _LINKS,
    "network links/send times are ignored": _LINKS,
    "faults/a kill that does not kill": _FAULTS,
    "faults/a stop that does not stop": _FAULTS,
    "faults/a pause that does not pause": _FAULTS,
    "faults/a cut that cuts nothing": _FAULTS,
    "faults/a partition that parts nothing": _FAULTS,
    "faults/a flap that flaps nothing": _FAULTS,
    "faults/a degradation that changes nothing": _FAULTS,
    "faults/corruption that damages nothing": _FAULTS,
    "faults/a slow broker that is not slow": _FAULTS,
    "faults/a reset that resets nothing": _FAULTS,
    "faults/a disturbance that disturbs nothing": _FAULTS,
    "faults/a cut that is not healed when its record says so": _FAULTS,
    "faults/a kill that comes half a second after its record": _FAULTS,
    "faults/a degradation of half the delay": _FAULTS,
    "faults/a slow broker that is slow by half": _FAULTS,
    "faults/a link that is cut and comes back unplanned": _FAULTS,
    "logs/arrivals are missing": _LOGS,
    "logs/departures are missing": _LOGS,
    "logs/notifications are missing from the clients log": _LOGS,
    "logs/deliveries are missing": _LOGS,
    "logs/arrivals are logged twice": _LOGS,
    "logs/the record of a heal is missing": _LOGS,
    "logs/publications have another content than planned": _LOGS,
    "clocks/a brokers clock is 1500 ms ahead": _CLOCKS,
    "clocks/a brokers clock is 30 ms behind": _CLOCKS,
    "clocks/a brokers clock drifts": _CLOCKS,
    "clocks/a brokers clock jumps for a second": _CLOCKS,
    "clocks/notifications are one second early": _CLOCKS,
    "workload/every tenth planned publication is never issued": _PLAN,
    "workload/a planned subscription is never issued": _PLAN,
    "workload/some publications are issued twice": _PLAN,
    "workload/publications have other times than planned": _PLAN,
    "simulator/service takes 30 percent longer": _SIMULATOR,
    "simulator/service takes half the time": _SIMULATOR,
    "simulator/brokers serve nothing at all": _SIMULATOR,
    "simulator/brokers serve any number of messages at once": _SIMULATOR,
    "simulator/the calibration is multiplied by ten": _SIMULATOR,
    "simulator/virtual time runs too fast": _SIMULATOR,
    "honest/gryphon, a stop": _BLAMED,
    "honest/semi-probabilistic, a partition": _BLAMED,
    "honest/medym, close, withdrawn": _BLAMED,
    "honest/medym, source, withdrawn": _BLAMED,
    "honest/medym, advertised, withdrawn": _BLAMED,
    "honest/cbf, withdrawn": _BLAMED,
    "honest/cbf, covering, withdrawn": _BLAMED,
    "honest/gryphon, withdrawn": _BLAMED,
    "honest/composites, cbf, withdrawn": _BLAMED,
}
"""Reasons by the titles of trials, `area/name`."""
