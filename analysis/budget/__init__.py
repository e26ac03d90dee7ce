"""The budget of delays: the time of every notification whose way is in the log, cut into parts that add up to it."""
