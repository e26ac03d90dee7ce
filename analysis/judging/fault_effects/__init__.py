"""Effects of faults on deliveries: notifications that were late, lost or excused, fault by fault."""
