"""Many runs: one engine for every study that runs scenarios and reads something from each run.

A study (`studies.campaign`, `studies.reproduction`, `studies.fitting`) says what is its own:

- which *cells* there are: a `Cell` is one scenario with one seed, whole and picklable, with a key;
- how the simulator runs one (`Cell.simulate`), and what is read from a finished run (`Cell.read`): a `CellResult`;
- what all results together say.

The engine does what is common to all of them:

- `attempt`, `execution`: a request, run and analysed on some host, becomes an `Attempt`, or a `CellFailure`;
- `store`: attempts, results, failures and kept runs on disk, of one command at a time. A cell with a result of the same
  fingerprint is done, so that the same command resumes;
- `executors`: processes of this host, hosts through Ansible, or Spark;
- `scheduler`: the loop from executor to store and board, and Ctrl-C;
- `board`: progress lines and the time left.

Calibration is not of this kind: it makes one run, whose latencies are the result.
"""

from studies.cells.cell import AnyCell, Cell, CellResult

__all__ = ["AnyCell", "Cell", "CellResult"]
