"""The emulated network: Mininet nodes and the links between them.

    network = EmulatedNetwork(overlay, run_id, LinkDriver.USERSPACE, sandboxes, journal, seed=1)
    network.start()                      # builds, shapes, verifies; NetworkError names the link and the remedy
    network.ends(broker)                 # (LinkEnd, ...): addresses to listen on and to dial
    network.pid(broker)                  # a process in the broker's network namespace
    network.probe()                      # [LinkProbe, ...], one a direction, while links are idle
    network.probe_under_load(links)      # the same with a few packets each, while links carry messages
    network.change(direction, properties)     # for frames that a sends to b from now on; cut, restore, corrupt likewise
    network.relay_statistics()           # RelayStatistics, or None without a relay
    network.punctuality()                # the relay's lateness so far, or None without a relay
    network.check()                      # NetworkError once the relay has ended
    network.stop()

`usable_drivers()` tries all link drivers on this host, best first.
"""
