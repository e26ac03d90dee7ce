"""Locations of servers: what both of their forms share, with the measured round trips (`round_trips`), and places in
network coordinates (`coordinate_locations`, computed by `coordinates`; section 4.2.2)."""
