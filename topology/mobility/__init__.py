"""Brokers that move: their trajectories, where these come from, and the links that their positions imply."""

from topology.mobility.contacts import Contact, contacts
from topology.mobility.models import Area, Walk, random_direction, random_waypoint
from topology.mobility.trajectories import Leg, Trajectory
from topology.mobility.unit_disk import moving, unit_disk

__all__ = [
    "Area",
    "Contact",
    "Leg",
    "Trajectory",
    "Walk",
    "contacts",
    "moving",
    "random_direction",
    "random_waypoint",
    "unit_disk",
]
