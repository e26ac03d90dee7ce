"""Random surroundings of a broker B0, whose neighbours are B1 to B5."""

from __future__ import annotations

from hypothesis import strategies as st

from broker_service.routing.tid.placement.decision.cost import Surroundings
from broker_service.routing.tid.placement.decision.queueing import BrokerTimes

HERE = "B0"
NEIGHBOURS = [f"B{number}" for number in range(1, 6)]

_times = st.floats(0, 1) | st.sampled_from([0.0, 0.001, 0.5])
rates = st.floats(0, 50) | st.sampled_from([0.0, 1.0, 10.0])
broker_times = st.builds(BrokerTimes, _times, _times, _times)
surroundings = st.builds(
    Surroundings,
    st.just(HERE),
    broker_times,
    st.dictionaries(st.sampled_from(NEIGHBOURS), _times),
    st.dictionaries(st.sampled_from(NEIGHBOURS), broker_times),
    st.none() | st.sampled_from(NEIGHBOURS),
)
flows = st.dictionaries(st.sampled_from([HERE, *NEIGHBOURS]), rates, min_size=1)


def equal_times(time: float, previous: str | None) -> Surroundings:
    """Surroundings in which every time is the same."""
    times = BrokerTimes(time, time, time)
    return Surroundings(HERE, times, dict.fromkeys(NEIGHBOURS, time), dict.fromkeys(NEIGHBOURS, times), previous)
