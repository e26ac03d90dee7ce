"""The intervals of ways that are not over a link: from the publisher, inside of brokers, and to the client."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.auditing.hops.table import Numbers
from analysis.budget.access import AccessLinks
from analysis.budget.at_rest import NodesAtRest
from analysis.budget.parts import Part
from analysis.budget.replay.rows import handling
from analysis.budget.shares import Cut, NodeShare
from analysis.budget.variant import BudgetedVariant
from analysis.budget.waits import Waits, at_most, likely
from analysis.reading.event_table import Truths


@dataclass(frozen=True, slots=True)
class Publishings:
    """Publications on their way from clients to their brokers."""

    driver: Numbers
    intended: Numbers
    published: Numbers
    access: Numbers
    """Time from there that the access link of the publisher's site explains."""
    broker: Numbers
    turn: Numbers
    before: Numbers
    """The broker's turn before; `UNKNOWN` for none."""
    cost: Numbers
    """Nanoseconds of modelled work for handling the publication."""
    struck: Truths
    """True for a publication during which the broker had a fault."""


def from_publisher(made: Publishings, variant: BudgetedVariant, rest: NodesAtRest, waits: Waits) -> tuple[Cut, Numbers]:
    """From the intended time to the turn at the publisher's broker; and the rows of `PublishingColumn` after the
    publications' own."""
    cut = Cut.of(len(made.turn))
    parts = cut.parts
    come = made.published + made.access
    begun = np.clip(made.before, come, np.maximum(come, made.turn))
    earlier = waits.of(likely, made.broker, come, begun)
    own = made.turn - begun
    parts[:, Part.ACCESS] = made.access
    parts[:, Part.WORK] = made.cost
    latency = rest.submit(made.broker)
    parts[:, Part.PLATFORM] = latency.beyond(begun - come)
    stopped = waits.stopped(made.broker, begun, made.turn)
    service = variant.served(own - made.cost - parts[:, Part.PLATFORM] - stopped)
    late = made.published - made.intended
    beyond = late + own - made.cost - parts[:, Part.PLATFORM] - service
    quota = np.minimum(np.maximum(beyond, 0), waits.held_back(at_most, made.broker, begun, made.turn))
    faulty = np.where(made.struck, np.maximum(beyond, 0), quota)
    idle = waits.not_working(variant.service, made.broker, come, begun, earlier)
    idle[made.struck] = 0
    parts[:, Part.WAITING_AT_BROKERS] = begun - come - earlier - idle + service + faulty
    beyond -= faulty
    left = np.maximum(beyond, 0)
    lateness = np.minimum(left, waits.of(at_most, made.driver, made.intended, made.published))
    left -= lateness
    by_broker = np.minimum(left, waits.of(at_most, made.broker, begun, made.turn))
    left -= by_broker
    handing_over = np.minimum(left, waits.of(at_most, made.driver, made.published, made.turn))
    left -= handing_over
    by_driver = lateness + handing_over
    parts[:, Part.CONTENTION] = earlier + by_broker + by_driver
    parts[:, Part.UNEXPLAINED] = idle + beyond - by_broker - by_driver
    of_driver = np.clip(late - lateness, 0, left)
    cut.shares.append(NodeShare(made.driver, by_driver, of_driver))
    cut.shares.append(NodeShare(made.broker, earlier + by_broker, parts[:, Part.UNEXPLAINED] - of_driver))
    platform = parts[:, Part.PLATFORM] + beyond - by_broker - by_driver
    platform -= np.minimum(np.maximum(platform, 0), stopped)
    ready, own = handling(begun - come, platform, made.cost + service, latency, variant)
    return cut, np.column_stack((made.intended, made.access + ready + faulty, own))


@dataclass(frozen=True, slots=True)
class Stays:
    """Publications at brokers, from their turns on."""

    broker: Numbers
    turn: Numbers
    routing: Numbers
    """Time that the router took."""
    end: Numbers
    """The time at which they came into an output queue, or to the client."""

    def routed(self, waits: Waits) -> tuple[Numbers, Numbers, Numbers, Numbers]:
        """The time at which the router was done with each, its work, the broker's contention meanwhile, and what its
        quota took."""
        done = np.clip(self.turn + self.routing, self.turn, np.maximum(self.turn, self.end))
        waited = waits.of(likely, self.broker, self.turn, done)
        quota = np.minimum(done - self.turn - waited, waits.held_back(likely, self.broker, self.turn, done))
        return done, done - self.turn - waited - quota, waited, quota


def inside_of_brokers(stays: Stays, struck: Truths, variant: BudgetedVariant, rest: NodesAtRest, waits: Waits) -> Cut:
    """From the turn to the output queue.

    What passes beyond the router's time is the broker's work, up to a handling at rest, or else the router held it
    back.
    """
    cut = Cut.of(len(stays.turn))
    parts = cut.parts
    done, work, waited, quota = stays.routed(waits)
    held = stays.end - done
    rest_waited = waits.of(likely, stays.broker, done, stays.end)
    left = np.maximum(held - rest_waited, 0)
    at_rest = np.zeros_like(held) if variant.simulated else rest.handling(stays.broker)
    stopped = np.minimum(waits.stopped(stays.broker, done, stays.end), left)
    stopped[struck] = 0
    left -= stopped
    parts[:, Part.WORK] = work + np.where(left <= at_rest, left, 0)
    parts[:, Part.WAITING_AT_BROKERS] = quota + np.where(left <= at_rest, 0, left)
    parts[:, Part.CONTENTION] = waited + rest_waited
    parts[:, Part.UNEXPLAINED] = stopped + np.minimum(held, 0)
    cut.shares.append(NodeShare(stays.broker, parts[:, Part.CONTENTION], parts[:, Part.UNEXPLAINED]))
    return cut


@dataclass(frozen=True, slots=True)
class Notifications:
    """Notifications on their way to clients."""

    stays: Stays
    """The time of each notification at the client's broker, and on its way to the client."""
    left: Numbers
    """The time at which each notification left the broker, if the broker held it back after the router was done;
    `UNKNOWN` otherwise."""
    driver: Numbers
    struck: Truths
    """True for a notification during which the broker had a fault."""
    site: Numbers
    """The number of the client's site; `NOBODY` for none."""
    access: AccessLinks
    access_struck: Truths
    """True for a notification during which the client's access link or site had a fault."""


def to_client(notifications: Notifications, rest: NodesAtRest, waits: Waits) -> tuple[Cut, Numbers]:
    """From the turn at the last broker to the client; and the time for it without contention."""
    stays, driver = notifications.stays, notifications.driver
    cut = Cut.of(len(stays.turn))
    parts = cut.parts
    done, work, waited, quota = stays.routed(waits)
    parts[:, Part.WORK] = work
    latency = rest.notify(stays.broker)
    parts[:, Part.PLATFORM] = latency.beyond(np.zeros_like(done))
    gone = np.clip(notifications.left, done, np.maximum(done, stays.end))
    held_waiting = waits.of(likely, stays.broker, done, gone)
    held = quota + gone - done - held_waiting
    beyond = stays.end - gone - parts[:, Part.PLATFORM]
    parts[:, Part.ACCESS] = access = notifications.access.explained(
        notifications.site, beyond, notifications.access_struck
    )
    beyond -= access
    by_quota = np.minimum(np.maximum(beyond, 0), waits.held_back(at_most, stays.broker, gone, stays.end))
    faulty = np.where(notifications.struck, np.maximum(beyond, 0), by_quota)
    parts[:, Part.WAITING_AT_BROKERS] = held + faulty
    beyond -= faulty
    left = np.maximum(beyond, 0)
    by_driver = np.minimum(left, waits.of(at_most, driver, gone, stays.end))
    left -= by_driver
    by_broker = np.minimum(left, waits.of(at_most, stays.broker, gone, np.minimum(gone + left, stays.end)))
    at_broker = waited + held_waiting + by_broker
    parts[:, Part.CONTENTION] = at_broker + by_driver
    parts[:, Part.UNEXPLAINED] = beyond - by_driver - by_broker
    cut.shares.append(NodeShare(driver, by_driver, parts[:, Part.UNEXPLAINED]))
    cut.shares.append(NodeShare(stays.broker, at_broker, np.zeros_like(done)))
    platform = latency.plausible(parts[:, Part.PLATFORM] + beyond - by_driver - by_broker)
    return cut, work + held + faulty + access + platform
