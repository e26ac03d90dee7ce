"""The remaining time that progress reports."""

from __future__ import annotations

from analysis.pipeline.progress import counted


def test_the_remaining_time_is_given_once_it_can_be_estimated() -> None:
    times, reported = iter((100.0, 102.0, 110.0, 400.0)), list[str]()
    done = counted("reading logs", reported.append, lambda: next(times))
    done(1, 50)
    done(10, 50)
    done(20, 50)
    assert reported == [
        "reading logs (1 of 50 parts)",
        "reading logs (10 of 50 parts, about 40 s left)",
        "reading logs (20 of 50 parts, about 8 min left)",
    ]
