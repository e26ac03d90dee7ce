"""The third drawing: a scenario's way from its file to the report, as values and the calls between them."""

from __future__ import annotations

from dataclasses import dataclass

from tests.architecture.drawings.house import COLOURS
from tests.architecture.drawings.svg import BOLD, FAINT, INK, Drawing, Point, Rectangle
from tests.architecture.journeys import ANALYZE, EMULATE, FIND, LOAD, PLAN, REPORT, SIMULATE, SUMMARISE, Stage

_WIDTH, _HEIGHT, _STEP = 300.0, 62.0, 138.0
_LEFT, _TOP = 390.0, 92.0
_ARROW = "#52606d"
_ROOM_TEXT = 11.0


@dataclass(frozen=True, slots=True)
class Value:
    """A value on the way, and what it holds."""

    name: str
    holds: str


FILE = Value("scenarios/*.yaml", "what an engineer writes")
SCENARIO = Value("Scenario", "the checked model; variants of it")
THE_PLAN = Value("Plan", "each variant's overlay, workload, faults")
RUN_DIRECTORY = Value("run directory", "manifest, topology, logs, fidelity")
TABLES = Value("results/*.parquet", "tables, by variant")
SUMMARY = Value("summary.json", "the numbers and verdicts for scripts")
PAGE = Value("report/index.html", "plots and verdicts for people")


def draw() -> Drawing:
    """Values as boxes, calls as arrows; beside an arrow its function, what it does, and the type that it returns."""
    drawing = Drawing(1080, _TOP + 5 * _STEP + _HEIGHT + 24, "A scenario's way")
    drawing.write((24, 34), "A scenario's way, from file to report", 20, style=BOLD)
    explanation = "Boxes are values, arrows are calls of the command emulate, each with the type that it returns."
    drawing.write((24, 56), explanation, 13, colour=FAINT)
    file, scenario, plan, run = (_row(number) for number in range(4))
    analysed, page = _row(4), _row(5)
    tables = Rectangle(_LEFT - 170, analysed.y, _WIDTH, _HEIGHT)
    summary = Rectangle(_LEFT + 170, analysed.y, _WIDTH, _HEIGHT)
    _draw_values(
        drawing,
        {
            FILE: file,
            SCENARIO: scenario,
            THE_PLAN: plan,
            RUN_DIRECTORY: run,
            TABLES: tables,
            SUMMARY: summary,
            PAGE: page,
        },
    )
    _call(drawing, LOAD, [(file.centre, file.bottom), (scenario.centre, scenario.y - 1)])
    _call(drawing, PLAN, [(scenario.centre, scenario.bottom), (plan.centre, plan.y - 1)])
    left, right = run.x + 70, run.x + run.width - 70
    _call(drawing, EMULATE, [(left, plan.bottom), (left, run.y - 1)], before=True)
    _call(drawing, SIMULATE, [(right, plan.bottom), (right, run.y - 1)])
    _call(drawing, FIND, [(left, run.bottom), (tables.centre, tables.y - 1)], before=True)
    _call(drawing, SUMMARISE, [(right, run.bottom), (summary.centre, summary.y - 1)])
    _write_call(drawing, ANALYZE, run.centre, (run.bottom + tables.y) / 2, "middle")
    _call(drawing, REPORT, [(tables.centre, tables.bottom), (left, page.y - 1)], before=True)
    drawing.arrow([(summary.centre, summary.bottom), (right, page.y - 1)], _ARROW, thickness=1.8)
    return drawing


def _row(number: int) -> Rectangle:
    return Rectangle(_LEFT, _TOP + number * _STEP, _WIDTH, _HEIGHT)


def _draw_values(drawing: Drawing, places: dict[Value, Rectangle]) -> None:
    for value, place in places.items():
        drawing.box(place, "#f7f9fb", "#829ab1", radius=8, thickness=1.5)
        drawing.write((place.centre, place.y + 27), value.name, 15, colour=INK, anchor="middle", style=BOLD)
        drawing.write((place.centre, place.y + 46), value.holds, 12, colour=FAINT, anchor="middle")


def _call(drawing: Drawing, stage: Stage, points: list[Point], *, before: bool = False) -> None:
    """An arrow, with its function to the right of it, or to the left of it if `before`."""
    drawing.arrow(points, _ARROW, thickness=1.8)
    (x, y), (end_x, end_y) = points[0], points[-1]
    middle = (y + end_y) / 2
    if before:
        _write_call(drawing, stage, min(x, end_x) - 14, middle, "end")
    else:
        _write_call(drawing, stage, max(x, end_x) + 14, middle, "start")


def _write_call(drawing: Drawing, stage: Stage, x: float, y: float, anchor: str) -> None:
    colour = COLOURS[stage.function.partition(".")[0]][1]
    text = f"{stage.short_name}(...) -> {stage.gives}"
    drawing.write((x, y - 12), text, 13, colour=colour, anchor=anchor, style=BOLD)
    drawing.write((x, y + 4), stage.does, 12, colour=INK, anchor=anchor)
    drawing.write((x, y + 19), stage.package, _ROOM_TEXT, colour=FAINT, anchor=anchor)
