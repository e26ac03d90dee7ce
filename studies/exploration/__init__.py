"""Exploration: runs around a scenario that nobody has thought of, in virtual time, each judged as any other run.

- `surroundings`: what the scenario leaves open to draws: the overlay's shape, the protocol, what it survives;
- `overlays`, `operations`, `schedules`, `settings`: draws of the parts of a run; `drawing`: of a whole one, which is a
  scenario like any other;
- `judged_run`: one run and the verdict on it, in this process;
- `workers`: runs on several processors; `exploration`: one run after another, and what was found.
"""
