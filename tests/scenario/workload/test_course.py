"""Profiles and churn, which every kind of workload takes."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from record.time_units import SECOND
from scenario.model import Scenario
from scenario.sections.workload import Profile
from scenario.workload.generate import generate, problems
from scenario.workload.operations import OperationKind, PlannedOperation
from scenario.workload.pace import curve
from scenario.workload.workload import Workload
from tests.scenario.workload.file.conftest import write_lines

_JOIN = 10
_KINDS: dict[str, dict[str, Any]] = {
    "quotes": {"publications": {"publishers": 4, "rate": "10/s"}, "subscriptions": {"subscribers": 6}},
    "integers": {
        "kind": "integers",
        "values": 50,
        "publications": {"rate": "10/s"},
        "subscriptions": {"matching_ratio": "20%"},
    },
    "topics": {
        "kind": "topics",
        "publications": {"topics": 4, "rate": "10/s"},
        "subscriptions": [{"subscribers": 6}, {"subscribers": 2, "churn": {"every": "8s", "away": "1s"}}],
    },
    "patterns": {"kind": "patterns", "publications": {"rate": "10/s"}},
}
_FILE = [
    {"time": 0, "client": "Bob", "operation": "subscribe", "id": "s1", "content": "[class,eq,'X']"},
    {"time": 0, "client": "Eve", "operation": "subscribe", "id": "s1", "content": "[class,eq,'X']"},
    *({"time": n / 40, "client": "Ann", "operation": "publish", "content": {"class": "X"}} for n in range(2000)),
    {"time": 60, "client": "Eve", "operation": "unsubscribe", "id": "s1"},
]


def _workload(kind: str, directory: Path, **fields: Any) -> Workload:
    section = _KINDS.get(kind) or {"kind": "file", "operations": str(write_lines(directory / "t.jsonl", _FILE))}
    scenario = Scenario.model_validate(
        {
            "name": "course",
            "topology": {"kind": "line", "brokers": 4},
            "routing": {"protocol": "tid"},
            "workload": {**section, **fields},
            "timeline": {"join": f"{_JOIN}s", "run": "30s", "drain": "1s"},
            "seed": 3,
        }
    )
    overlay = scenario.overlay()
    assert list(problems(scenario, overlay)) == []
    return generate(scenario, overlay)


def _published(operations: list[PlannedOperation], begin: float, end: float) -> int:
    """Publications between two seconds of the run phase."""
    low, high = (round((_JOIN + second) * SECOND) for second in (begin, end))
    return sum(made.operation is OperationKind.PUBLISH and low <= made.at < high for made in operations)


EVERY_KIND = pytest.mark.parametrize("kind", [*_KINDS, "file"])


@EVERY_KIND
def test_a_profile_gives_each_kind_its_pace(tmp_path: Path, kind: str) -> None:
    usual = list(_workload(kind, tmp_path).operations())
    steps = [{"at": "10s", "pace": 3}, {"at": "20s", "pace": 0}]
    workload = _workload(kind, tmp_path, profile={"steps": steps})
    operations = list(workload.operations())
    a_second = _published(usual, 0, 30) / 30
    for begin, end, pace in ((0, 10, 1), (10, 20, 3), (20, 30, 0)):
        expected = pace * a_second * (end - begin)
        assert _published(operations, begin, end) == pytest.approx(expected, abs=6), (begin, end)
    assert all(former.at <= latter.at for former, latter in pairwise(operations))
    assert workload.estimate().publications == pytest.approx(_published(operations, 0, 30), abs=6)


def test_a_profile_moves_no_subscription(tmp_path: Path) -> None:
    def others(**fields: Any) -> list[PlannedOperation]:
        made = _workload("topics", tmp_path, **fields).operations()
        return [operation for operation in made if operation.operation is not OperationKind.PUBLISH]

    assert others(profile={"ramp": {"begin": 0.1, "end": 4}}) == others()


@EVERY_KIND
def test_churn_makes_subscriptions_of_each_kind_end_and_begin_anew(tmp_path: Path, kind: str) -> None:
    usual = _workload(kind, tmp_path)
    lasting = {(made.client, made.id) for made in usual.population.lasting_subscriptions()}
    churn = {"every": "7s", "away": "1s"}
    operations = [
        made
        for made in _workload(kind, tmp_path, churn=churn).operations()
        if (made.client, _first(made.id)) in lasting
    ]
    courses: dict[tuple[str, str], list[PlannedOperation]] = defaultdict(list)
    for made in operations:
        courses[made.client, _first(made.id)].append(made)
    assert courses.keys() == lasting
    for course in courses.values():
        assert 8 <= len(course) <= 11
        for number, (ends, begins) in enumerate(zip(course[1::2], course[2::2], strict=False), start=1):
            assert (ends.operation, ends.id) == (OperationKind.UNSUBSCRIBE, course[2 * number - 2].id)
            assert (begins.operation, begins.at - ends.at) == (OperationKind.SUBSCRIBE, pytest.approx(SECOND, abs=1))
            assert begins.predicates == course[0].predicates
    assert max(Counter((made.client, made.id, made.operation) for made in operations).values()) == 1


def _first(name: str) -> str:
    return name.partition("~")[0]


def test_churn_leaves_alone_what_a_file_withdraws(tmp_path: Path) -> None:
    made = list(_workload("file", tmp_path, churn={"every": "7s"}, speed=3).operations())
    assert [one.id for one in made if one.client == "Eve"] == ["s1", "s1"]
    assert len([one for one in made if one.client == "Bob"]) > 5


def test_a_share_of_the_subscribers_churns(tmp_path: Path) -> None:
    fields = {"subscriptions": {"subscribers": 200}, "churn": {"share": "25%", "every": "20s"}}
    made = _workload("quotes", tmp_path, **fields).operations()
    assert 30 <= len({one.client for one in made if one.operation is OperationKind.UNSUBSCRIBE}) <= 70


def test_too_much_churn_is_refused() -> None:
    scenario = Scenario.model_validate(
        {
            "name": "course",
            "topology": {"kind": "line", "brokers": 4},
            "routing": {"protocol": "tid"},
            "workload": {**_KINDS["quotes"], "churn": {"every": "1us"}},
            "timeline": {"join": "1s", "run": "3s"},
        }
    )
    (found,) = problems(scenario, scenario.overlay())
    assert found.path == ("workload", "churn", "every")
    assert found.message == "makes about 18,000,000 subscriptions; there may be 1,000,000"


def test_individual_times_of_publishers_do_not_go_with_a_profile() -> None:
    individually = {"P1": {"joins": "1s"}, "P2": {"bursts": [{"at": "1s", "publications": 5, "rate": "10/s"}]}}
    scenario = Scenario.model_validate(
        {
            "name": "course",
            "topology": {"kind": "line", "brokers": 4},
            "routing": {"protocol": "tid"},
            "workload": {
                "publications": {"publishers": 4, "rate": "10/s", "individually": individually},
                "profile": {"ramp": {"begin": 0, "end": 2}},
            },
            "timeline": {"join": "1s", "run": "3s"},
        }
    )
    assert [problem.path[-2:] for problem in problems(scenario, scenario.overlay())] == [
        ("P1", "joins"),
        ("P2", "bursts"),
    ]


_PACES = st.floats(0, 50).map(lambda pace: round(pace, 3))
_PROFILES = st.one_of(
    st.lists(st.tuples(st.integers(0, 40), _PACES), min_size=1, max_size=5, unique_by=lambda step: step[0]).map(
        lambda steps: {"steps": [{"at": f"{at}s", "pace": pace} for at, pace in sorted(steps)]}
    ),
    st.tuples(_PACES, _PACES).map(lambda ends: {"ramp": {"begin": ends[0], "end": ends[1]}}),
    st.tuples(st.integers(1, 60), _PACES).map(lambda day: {"day": {"period": f"{day[0]}s", "most": day[1] + 0.2}}),
    st.tuples(st.integers(0, 40), st.integers(1, 5), _PACES).map(
        lambda burst: {"bursts": [{"at": f"{burst[0]}s", "lasts": f"{burst[1]}s", "pace": burst[2], "every": "7s"}]}
    ),
)


@given(_PROFILES, st.lists(st.floats(0, 1, exclude_max=True), min_size=2, max_size=10))
def test_moments_are_in_order_and_within_the_run(profile: dict[str, Any], shares: list[float]) -> None:
    made = curve(Profile.model_validate(profile), 30.0)
    moments = [made.moment(share * made.load) for share in sorted(shares)]
    assert moments == sorted(moments)
    assert all(0 <= moment <= 30 for moment in moments)


@pytest.mark.parametrize(
    ("profile", "load", "passed", "moment"),
    [
        ({"ramp": {"begin": 0, "end": 2}}, 30.0, 7.5, 15.0),
        ({"day": {"period": "30s", "least": 0, "most": 2}}, 30.0, 15.0, 15.0),
        ({"bursts": [{"at": "5s", "lasts": "1s", "pace": 11, "every": "10s"}]}, 60.0, 30.0, 15.0 + 5 / 11),
    ],
)
def test_shapes_have_their_areas(profile: dict[str, Any], load: float, passed: float, moment: float) -> None:
    made = curve(Profile.model_validate(profile), 30.0)
    assert made.load == pytest.approx(load, rel=1e-6)
    assert made.moment(passed) == pytest.approx(moment, rel=1e-6)


@pytest.mark.parametrize(
    ("profile", "mistake"),
    [
        ({}, "needs exactly one of steps, ramp, day, bursts; got none"),
        ({"ramp": {"begin": 1, "end": 2}, "day": {"period": "5s"}}, "got ramp, day"),
        ({"steps": [{"at": "5s", "pace": 1}, {"at": "5s", "pace": 2}]}, "does not come after"),
        ({"day": {"period": "5s", "most": 0.1}}, r"most \(0.1\) is less than least \(0.2\)"),
        ({"bursts": [{"at": "5s", "lasts": "3s", "pace": 2, "every": "2s"}]}, "must not be less than lasts"),
    ],
)
def test_profiles_without_a_meaning_are_refused(profile: dict[str, Any], mistake: str) -> None:
    with pytest.raises(ValueError, match=mistake):
        Profile.model_validate(profile)
