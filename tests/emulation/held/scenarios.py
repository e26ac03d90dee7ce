"""The scenario of tests on held runs."""

LINE = """
name: held-line
topology: {kind: line, brokers: 3, link: {delay: 2ms, bandwidth: 10mbit}}
routing: {protocol: tid, publications: fixed}
workload:
  operations:
    - {at: 0s, client: P1, broker: B1, id: a1, advertise: "[class,eq,'STOCK'],[price,>,0]"}
    - {at: 1s, client: S1, broker: B3, id: s1, subscribe: "[class,eq,'STOCK'],[price,>,80]"}
    - {at: 2s, client: P1, broker: B1, publish: "[class,'STOCK'],[price,100.5]"}
timeline: {join: 2s, run: 60s, held: 60s, drain: 2s}
"""
