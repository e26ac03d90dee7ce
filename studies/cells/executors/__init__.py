"""Three ways to run cells, behind one function type (`interface.Executor`).

- `processes`: simulated cells in parallel on this host, each in a process of its own. The default of `--runtime
  simulated`.
- `hosts`: one cell at a time on each host of an Ansible inventory, or on this host alone. The only way for cells that
  run in real time, because brokers of two cells would slow each other down.
- `spark`: simulated cells on the executors of a Spark cluster. For studies that are too large for one host: a cluster
  gets brokerlab's code with the cells, runs as many of them as it has cores, and repeats those of a lost executor.
"""
