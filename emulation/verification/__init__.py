"""Verification of planned faults: did each happen, and end, as the plan has it, seen from outside while it lasted?

    verifier = FaultVerifier(schedule, links, observer, clock, end=run_end)
    verifier.begin(start)
    verifier.look()                                  # again and again, at `next_look` at the latest
    verifier.finish()                                # after the last heal
    verifier.findings, verifier.questions            # what was seen, and what only the logs can say

Nothing here is shared with the injector and the execution of faults (`emulation.faults`). The plan is unfolded once
more (`asked`), an observer looks at processes and probes links (`seen`), and the two are compared (`comparison`).
`records` answers from the logs what cannot be seen from outside.
"""
