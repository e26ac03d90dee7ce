"""A kit that holds a broker of any language to docs/broker-contract.md, from outside.

It shares nothing with the brokers that it judges but proto/: contents, clients, cases and counters are read by code of
its own, so that a fault of brokerlab's broker does not hide the same fault of another one.
"""
