"""Locations of servers: `interface` for both of their forms, the measured round trips (`round_trips`), and places in
network coordinates (`coordinate_locations`, computed by `coordinates`; section 4.2.2)."""
