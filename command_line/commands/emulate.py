"""`brokerlab emulate`: runs a scenario's file and prints its verdicts."""

from __future__ import annotations

import tempfile
import textwrap
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from rich.console import Console

from analysis.engines import Engine
from analysis.pipeline import analyze
from analysis.report import build_report
from analysis.run_files.run_directory import read_manifest
from analysis.tables.audited import with_audit
from analysis.tables.event_choice import EventTable
from broker_service.routing import protocol_named
from broker_service.routing.outside import label
from broker_service.routing.program.references import PREFIX, argv_of
from command_line.commands.analyze import analysed
from command_line.commands.answers import Answer
from command_line.commands.live import LivePage, live_page
from command_line.commands.progress import shown_progress
from command_line.commands.run_engines import RunEngine, processes_here
from command_line.commands.twin import make_twin
from command_line.commands.verdicts import (
    exit_code,
    print_dilation,
    print_finding,
    print_verdicts,
    suite_of,
)
from emulation.held.hold import Hold
from emulation.host.room import this_host
from emulation.planning.calibration import Calibration, load_calibration
from emulation.planning.dilation import with_dilation
from emulation.planning.plan import Plan, make_plan
from emulation.run import RunOutcome, emulate
from emulation.run.interrupt import Interrupt, Interrupted, QuickStop
from emulation.run.progress import display
from emulation.runtimes.ladder import SIMULATED, Rungs, Simulated, choose
from emulation.simulation.run import ONE_AT_A_TIME, simulate
from emulation.simulation.twin import twin_plan
from emulation.upkeep.clean import clean
from record.callbacks import do_nothing
from record.errors import BadInputError
from record.exit_codes import ExitCode
from record.manifest import MODELLED, RungChoice
from record.wording import count_of
from scenario.loading import load
from scenario.model import AUTO
from studies.junit import JunitSuite
from studies.rehearsal import Rehearsing, deployed, rehearsing_here, sayer, silent
from studies.verdict_files import NO_FILES, VerdictFiles

MakeTwin = Callable[[Path, Engine, EventTable, Console], bool]
"""Makes the twin of a run that was analysed, by `make_twin`."""

_REASON_SHOWN = 110
"""Characters of a rung's reason."""


@dataclass(frozen=True, slots=True)
class EmulationRequest:
    """The arguments and options of `brokerlab emulate`."""

    scenario: Path
    overrides: Mapping[str, str]
    runtime: str
    links: str
    out: Path
    report: bool
    calibration: Path | None
    """File of the costs of simulated brokers, and of this host's brokers at rest; the shipped file by default."""
    engine: RunEngine
    events: EventTable
    hosts: Path | None = None
    """The inventory of the hosts that share the run; this host alone by default."""
    verdict_files: VerdictFiles = NO_FILES
    """Files for the verdicts."""
    twin: bool = False
    """True to simulate the run's twin as well and compare the two."""
    live: bool = False
    """True to serve a page that shows the run while it goes on."""
    speed: float | None = None
    """Seconds of the scenario that may pass in one real second of a simulated run; None for as many as possible."""
    hold: Hold | None = None
    """The hold on a run that stays until it is asked to end; None for one that ends by itself."""


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """The end of a run."""

    code: ExitCode
    directory: Path | None = None
    """The analysed run directory; None where there is nothing to analyse."""
    suite: JunitSuite | None = None
    """The verdicts as JUnit cases; None where nothing was judged."""


def run_scenario(request: EmulationRequest, answer: Answer) -> ExitCode:
    """Runs, analyses and judges. Raises `UserError`s."""
    request.verdict_files.require_writable()
    with request.engine:
        ended = run_once(request, answer.console)
    answer.document({"runs": [] if ended.directory is None else [analysed(ended.directory)]})
    if ended.suite is not None:
        request.verdict_files.write([ended.suite])
    return ended.code


def run_once(request: EmulationRequest, console: Console) -> JudgedRun:
    """Runs, analyses and judges while the engine is entered; writes no verdicts to files. Raises `UserError`s."""
    scenario = load(request.scenario, request.overrides)
    costs = load_calibration(request.calibration)
    run = _runner(request, costs, console)
    request.engine.check()
    plan = make_plan(scenario)
    twin = partial(make_twin, twin_plan(plan), calibration=costs) if request.twin else None
    try:
        with live_page(LivePage.RUN, request.out / plan.run_id, console) if request.live else nullcontext():
            outcome = run(plan)
    except Interrupted:
        console.print("interrupted while a rehearsal chose the time dilation; nothing was run")
        return JudgedRun(ExitCode.INTERRUPTED)
    except QuickStop:
        console.print("stopped at once; nothing keeps running, and nothing was analysed")
        return JudgedRun(ExitCode.INTERRUPTED)
    if not outcome.began and not outcome.defect:
        console.print("interrupted before anything was published, so there is nothing to analyse")
        return JudgedRun(ExitCode.INTERRUPTED)
    ended = JudgedRun(ExitCode.INTERRUPTED)
    if outcome.hurried:
        again = f"brokerlab analyze {outcome.directory}"
        console.print(
            f"ended in order, without an analysis of the logs so far: `{again}`", markup=False, soft_wrap=True
        )
        return ended
    try:
        ended = _analyse(outcome, console, request)
        if twin is not None:
            ended = replace(ended, code=_beside_twin(twin, outcome, ended.code, console, request))
    except KeyboardInterrupt:
        again = f"brokerlab analyze {outcome.directory}"
        console.print(
            f"analysis interrupted; the logs are kept: repeat it with `{again}`", markup=False, soft_wrap=True
        )
        return replace(ended, code=ExitCode.INTERRUPTED)
    return ended


def _runner(request: EmulationRequest, costs: Calibration, console: Console) -> Callable[[Plan], RunOutcome]:
    """The function that runs a plan on the requested runtime. Raises `UserError`s for an impossible one."""
    if request.hosts is not None:
        _require_no_speed(request)
        return _runner_on_hosts(request.hosts, request, costs, console)
    rungs = choose(request.runtime, request.links, lambda line: console.print(line, markup=False, soft_wrap=True))
    if isinstance(rungs, Simulated):
        if request.twin:
            raise BadInputError(
                "--twin: this run is simulated itself; leave --twin out, or take real brokers (--runtime container or "
                "process; `brokerlab doctor` shows what this host lacks for them)"
            )
        return partial(_simulate, rungs, request, costs, console)
    _require_no_speed(request)
    return partial(_emulate, rungs, request, costs, console)


def _require_no_speed(request: EmulationRequest) -> None:
    """Raises `BadInputError` where real brokers are to run at a speed."""
    if request.speed is not None:
        raise BadInputError(
            "--speed: real brokers run in real time (`time_dilation` in the scenario stretches it); leave it out, or "
            "simulate (--runtime simulated)"
        )


def _require_no_program(plan: Plan) -> None:
    """Raises `BadInputError` for a router's program, which the other hosts do not have."""
    for variant in plan.variants:
        if (protocol := variant.scenario.routing.protocol).startswith(PREFIX):
            program = " ".join(argv_of(protocol))
            raise BadInputError(f"--hosts: only this host has the program {program}; leave --hosts out")


def _runner_on_hosts(
    inventory: Path, request: EmulationRequest, costs: Calibration, console: Console
) -> Callable[[Plan], RunOutcome]:
    """Loads Ansible only where it is used."""
    from command_line.commands.hosts import shared_host  # noqa: PLC0415
    from emulation.multi_host.inventory import read_hosts  # noqa: PLC0415
    from emulation.multi_host.run import HostsRequest, emulate_on_hosts  # noqa: PLC0415

    if request.runtime == SIMULATED:
        raise BadInputError("--hosts: simulated brokers run on no host; leave --hosts out")
    if request.calibration is not None:
        raise BadInputError("--calibration: is of one host, and --hosts has several; leave it out")
    with tempfile.TemporaryDirectory(prefix="inventory-") as private:
        hosts = read_hosts(inventory, Path(private))

    def deploy(plan: Plan, directory: Path, shown: Console, when_over: Callable[[], None]) -> RunOutcome:
        _require_no_program(plan)
        wanted = HostsRequest(plan, hosts, request.runtime, request.links, directory)
        return emulate_on_hosts(wanted, shown, when_over)

    def rehearse(plan: Plan, directory: Path) -> RunOutcome:
        return deploy(plan, directory, silent(), do_nothing)

    def run(plan: Plan) -> RunOutcome:
        if plan.scenario.time_dilation == AUTO:
            fewest = min(len(variant.overlay.brokers) for variant in plan.variants)
            room, loops = shared_host(inventory, fewest)
            rehearsing = Rehearsing(costs.on(loops), room, deployed(rehearse), sayer(console))
            plan = with_dilation(plan, rehearsing.choose([plan]))
        console.print(f"run      {plan.run_id}", markup=False, soft_wrap=True)
        return deploy(plan, request.out, console, request.engine.begin)

    return run


def _emulate(rungs: Rungs, request: EmulationRequest, costs: Calibration, console: Console, plan: Plan) -> RunOutcome:
    cleaned = clean(None if rungs.docker is None else rungs.docker.client)
    if cleaned.anything:
        console.print(str(cleaned), markup=False)
    if plan.scenario.time_dilation == AUTO:
        plan = with_dilation(plan, rehearsing_here(rungs, console, costs).choose([plan]))
    _announce(console, plan, rungs.runtime, rungs.links)
    return emulate(plan, rungs, request.out, console, request.engine.begin, calibration=costs, hold=request.hold)


def _simulate(
    rungs: Simulated, request: EmulationRequest, costs: Calibration, console: Console, plan: Plan
) -> RunOutcome:
    plan.require_possible(rungs.runtime.name)  # before Spark starts for nothing
    _announce(console, plan, rungs.runtime, MODELLED)
    _say_what_does_not_repeat(console, plan)
    # In this process, a variant's records are where those who look at the run find them as they are written.
    seen_or_held = request.live or request.speed is not None or request.hold is not None
    with Interrupt() as interrupt:
        return simulate(
            plan,
            request.out,
            calibration=costs,
            runtime=rungs.runtime,
            show=partial(display, console=console),
            interrupt=interrupt,
            host=ONE_AT_A_TIME if seen_or_held else this_host(),
            speed=request.speed,
            when_begun=request.engine.begin,
            hold=request.hold,
        )


def _announce(console: Console, plan: Plan, runtime: RungChoice, links: RungChoice) -> None:
    overlay = plan.variants[0].overlay
    size = f"{count_of(len(overlay.brokers), 'broker')}, {count_of(len(overlay.links), 'link')}"
    variants = ", ".join(variant.name for variant in plan.variants)
    for name, text in (
        ("run", plan.run_id),
        ("overlay", f"{size}; variants: {variants}"),
        ("runtime", f"{runtime.name}: {_short(runtime.reason)}"),
        ("links", f"{links.name}: {_short(links.reason)}"),
    ):
        console.print(f"{name:<8} {text}", markup=False, soft_wrap=True)


def _say_what_does_not_repeat(console: Console, plan: Plan) -> None:
    """Names the protocols with which a simulated run is another one each time."""
    protocols = dict.fromkeys(variant.scenario.routing.protocol for variant in plan.variants)
    for protocol in (each for each in protocols if not protocol_named(each).options.deterministic):
        sentence = f"{label(protocol)} declares that it is not deterministic: the same seed gives another run each time"
        console.print(f"note     {sentence}", markup=False, soft_wrap=True)


def _short(reason: str) -> str:
    """A reason cut to one line; the manifest has the whole text."""
    return textwrap.shorten(reason, _REASON_SHOWN, placeholder=" ... (`brokerlab doctor` reports more)")


def _analyse(outcome: RunOutcome, console: Console, request: EmulationRequest) -> JudgedRun:
    page: Path | None = None
    with shown_progress(console) as show_stage:
        summary = analyze(outcome.directory, request.engine, show_stage, request.events)
        if request.report:
            show_stage("drawing the report")
            page = build_report(outcome.directory, processes_here())
    judged = with_audit(outcome.fidelity, summary)
    print_verdicts(console, summary, judged)
    print_dilation(console, summary, read_manifest(outcome.directory))
    print_finding(console, summary, outcome.directory)
    console.print(f"\nrun directory: {outcome.directory}", markup=False, soft_wrap=True)
    if page is not None:
        console.print(f"report: {page}", markup=False, soft_wrap=True)
    code = exit_code(summary)
    ended = ExitCode.INTERRUPTED if outcome.interrupted and code is ExitCode.CORRECT else code
    return JudgedRun(ended, outcome.directory, suite_of(outcome.directory, summary, judged))


def _beside_twin(
    make: MakeTwin, outcome: RunOutcome, code: ExitCode, console: Console, request: EmulationRequest
) -> ExitCode:
    """Makes the twin of an analysed run, and the page anew; returns the exit code, given that of the run itself."""
    if outcome.interrupted or outcome.defect:
        console.print("\nno twin: the run ended early, so there is nothing to compare it with")
        return code
    if not make(outcome.directory, request.engine, request.events, console):
        return ExitCode.INTERRUPTED if code is ExitCode.CORRECT else code
    if request.report:
        build_report(outcome.directory, processes_here())
    return code
