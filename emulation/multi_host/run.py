"""Runs an overlay that is spread over several hosts. Nothing is left on the hosts in the end."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console

from emulation.ansible import PlayCancelledError, Played, PlayError, TaskFailure, play
from emulation.host import provenance
from emulation.host.journal import Journal
from emulation.host.processes import RUN_VARIABLE, boot_id
from emulation.host.registry import live_runs, register, unregister
from emulation.host.run_paths import RunPaths
from emulation.multi_host.barrier import LEAD
from emulation.multi_host.check import Facts, common
from emulation.multi_host.connection import connections
from emulation.multi_host.files import pack_files
from emulation.multi_host.gather import HOSTS, clock_check, gather
from emulation.multi_host.inventory import Hosts
from emulation.multi_host.model import Member, ShareRequest, share_id
from emulation.multi_host.placement import links_between_hosts, place_brokers, place_sites
from emulation.multi_host.product import pack
from emulation.multi_host.progress import HostsProgress
from emulation.multi_host.refusals import require_shareable
from emulation.network.probing.echo import TOKEN_BYTES
from emulation.planning.calibration import charged_costs, load_calibration
from emulation.planning.carrying import require_memory
from emulation.planning.plan import Plan, VariantPlan
from emulation.run.context import open_log
from emulation.run.directory import RunOutcome, save_overlays, write_manifest
from emulation.run.host_share import leaving_stages
from emulation.run.interrupt import Interrupt
from emulation.run.progress import Snapshot, display
from emulation.runtimes.protocol_code import packed_protocols
from emulation.upkeep.clean import clean
from record import manifest
from record.errors import BadInputError, HostError
from record.exit_codes import ExitCode
from record.fidelity import Fidelity, FidelityVerdict
from record.manifest import HostRecord, Manifest, RungChoice
from record.program import program_digest

FILES = "files.tar.gz"
"""The archive of the files that the scenario reads, if it reads some."""
PRIVATE = "ansible"
"""Ansible's directory in the run directory, which is removed in the end."""
_PATIENCE = 90.0
_PATIENCE_EACH = 2.0
"""Seconds in which all hosts must reach the next stage, and the further ones for each broker."""
_STAGES_TO_BEGIN = 5
"""Stages at which hosts wait until a variant begins."""
_STAGES_TO_END = 2
"""Stages after the drain phase, besides those of the leaving of clients."""
_ENDS_WITHIN = 60.0
"""Seconds in which an agent may end in order."""


@dataclass(frozen=True, slots=True)
class HostsRequest:
    """A plan and the hosts to run it on."""

    plan: Plan
    hosts: Hosts
    runtime: str
    links: str
    out: Path


def emulate_on_hosts(request: HostsRequest, console: Console, when_over: Callable[[], None]) -> RunOutcome:
    """Runs a plan on several hosts; nothing is left on them.

    `when_over` is called when the last variant has been run. Raises `UserError`s.
    """
    plan = request.plan
    plan.require_dilation()
    members = _members(request)
    for variant in plan.variants:
        require_shareable(variant, place_brokers(variant.overlay, members))
    clean(None)  # ends plays that a killed command has left
    paths = RunPaths.of(plan.run_id, request.out)
    paths.make()
    with ExitStack() as stack:
        interrupt = stack.enter_context(Interrupt())
        register(plan.run_id, paths.journal)
        stack.callback(unregister, plan.run_id)
        stack.callback(Journal(paths.journal).close)
        os.environ[RUN_VARIABLE] = plan.run_id  # for the processes that Ansible starts
        stack.callback(os.environ.pop, RUN_VARIABLE)
        snapshot = Snapshot(variants=len(plan.variants))
        shown = stack.enter_context(display(snapshot, console))
        hosts_run = HostsRun(request, members, paths, interrupt, HostsProgress(plan, snapshot, shown))
        hosts_run.variables = dict(stack.enter_context(connections(paths.sockets / "ssh")))
        return hosts_run.execute(when_over)


def _members(request: HostsRequest) -> tuple[Member, ...]:
    """The hosts of the run: at most as many as there are brokers."""
    fewest = min(len(variant.overlay.brokers) for variant in request.plan.variants)
    members = request.hosts.members[:fewest]
    if len(members) < 2:
        raise BadInputError("one host: an overlay is spread over at least two; leave --hosts out to run it here")
    return members


class HostsRun:
    """One run in progress."""

    def __init__(
        self,
        request: HostsRequest,
        members: tuple[Member, ...],
        paths: RunPaths,
        interrupt: Interrupt,
        progress: HostsProgress,
    ) -> None:
        self._request = request
        self._plan = request.plan
        self._members = members
        self._paths = paths
        self._interrupt = interrupt
        self._progress = progress
        self._product = pack()
        self._log = open_log(paths)
        self.variables: dict[str, Any] = {}
        """Variables of all plays."""

    def execute(self, when_over: Callable[[], None]) -> RunOutcome:
        """Checks the hosts, runs every variant, and gathers what they wrote."""
        try:
            record = self._begin()
        except PlayCancelledError:
            return self._interrupted()
        defect = ""
        try:
            defect = self._run_variants()
            when_over()
        except PlayCancelledError:
            self._progress.ending()
            self._progress.print_line("interrupted: hosts end what they run in order")
        except PlayError:
            self._interrupt.teardown = True
            with contextlib.suppress(HostError):  # the first failure says most
                self._end()
                gather(self._paths, self._members, record)
            raise
        self._interrupt.teardown = True
        self._end()
        try:
            outcome = gather(self._paths, self._members, record, defect)
        except HostError:
            if not self._interrupt.asked:
                raise
            return self._interrupted()
        self._progress.print_line(f"clocks   {clock_check(manifest.read(self._paths.directory).hosts).detail}")
        return outcome

    def _run_variants(self) -> str:
        """Runs all variants; returns the sentence on a broker's defect that ended the run, empty where none did.

        The failure of any host ends the play at once, because the others would wait for it.
        """
        failures: list[TaskFailure] = []
        try:
            self._play("run.yml", self._run_variables(), lambda: self._cancelled() or bool(failures), failures.append)
            return ""
        except PlayCancelledError:
            if self._interrupt.asked:
                raise
            failed = PlayError("run.yml", tuple(failures))
        except PlayError as error:
            failed = error
        self._log.error("run failed", error=str(failed))
        if (defect := _broker_defect(failed)) is None:
            raise failed
        self._progress.ending()
        self._progress.print_line(f"{defect.host}: {defect.message}")
        return defect.message

    def _begin(self) -> Manifest:
        """Prepares the hosts and the run directory; returns the manifest at the beginning."""
        self._archive.parent.mkdir(parents=True)
        self._archive.write_bytes(self._product.content)
        try:
            runtime, links = self._choose()
        finally:
            self._archive.unlink()
        self._announce(runtime, links)
        save_overlays(self._plan, self._paths)  # hosts use the same file names
        record = write_manifest(
            self._plan, self._paths, runtime, links, clock=provenance.CLOCK, program=program_digest(),
            at_rest=charged_costs(load_calibration()),
            hosts=[HostRecord(name=member.name, address=member.address) for member in self._members],
        )  # fmt: skip
        self._write_share_requests(runtime.name, links.name)
        return record

    def _interrupted(self) -> RunOutcome:
        """The outcome of a run that was interrupted before it began."""
        return RunOutcome(
            self._paths.directory, Fidelity(verdict=FidelityVerdict.VALID, variants=[]), interrupted=True, began=False
        )

    @property
    def _archive(self) -> Path:
        """The archive of brokerlab's own files, which exists until the hosts have got it."""
        return self._paths.directory / HOSTS / "product.tar.gz"

    def _choose(self) -> tuple[RungChoice, RungChoice]:
        """The runtime and the link driver of all hosts."""
        self._progress.doing("removing what dead runs left on hosts, and examining them")
        hosts = self._request.hosts
        facts = examined(self._play("begin.yml", clean_variables() | check_variables(hosts, self._members)))
        if bad := [f"{name}: {'; '.join(found.obstacles)}" for name, found in facts.items() if found.obstacles]:
            raise HostError("\n".join(bad))
        self._require_memory(facts)
        runtime, links = common(facts, self._request.runtime, self._request.links)
        self._plan.require_possible(runtime)
        return (
            RungChoice(runtime, "asked for" if runtime == self._request.runtime else "the highest that all hosts have"),
            RungChoice(links, "asked for" if links == self._request.links else "the highest that all hosts have"),
        )

    def _require_memory(self, facts: Mapping[str, Facts]) -> None:
        """Raises `HostError` where a host has no room for its share of the brokers of some variant."""
        for variant in self._plan.variants:
            placement = place_brokers(variant.overlay, self._members)
            sites = Counter(place_sites(variant.sites, placement).values())
            for name, brokers in Counter(placement.values()).items():
                require_memory(brokers, sites[name], facts[name].room, name)

    def _announce(self, runtime: RungChoice, links: RungChoice) -> None:
        for variant in self._plan.variants[:1]:
            placement = place_brokers(variant.overlay, self._members)
            sites = Counter(place_sites(variant.sites, placement).values())
            for member in self._members:
                brokers = [broker for broker, host in placement.items() if host == member.name]
                carried = f"{', '.join(brokers)}{f'; sites: {count:,}' if (count := sites[member.name]) else ''}"
                self._progress.print_line(f"host     {member.name} ({member.address}): {carried}")
            count = links_between_hosts(variant.overlay, placement)
            self._progress.print_line(
                f"links    {links.name}: {links.reason}; {count} of {len(variant.overlay.links)} cross hosts"
            )
        self._progress.print_line(f"runtime  {runtime.name}: {runtime.reason}")

    def _write_share_requests(self, runtime: str, links: str) -> None:
        plan, hosts = self._plan, self._request.hosts
        token = secrets.token_hex(TOKEN_BYTES)
        scenario = plan.scenario.model_dump(mode="json", exclude_unset=True)
        try:
            protocols = packed_protocols(variant.scenario.routing.protocol for variant in plan.variants)
            kept = {protocol.reference for protocol in protocols}
            scenario = pack_files(scenario, kept, self._paths.directory / HOSTS / FILES)
        except OSError as error:
            raise BadInputError(f"a file of the scenario cannot be read: {error}") from error
        for member in self._members:
            share = ShareRequest(
                run_id=plan.run_id,
                created=plan.created.isoformat(),
                controller=boot_id(),
                host=member.name,
                members=self._members,
                scenario=scenario,
                protocols=protocols,
                dilation=plan.dilation,
                runtime=runtime,
                links=links,
                vxlan_port=hosts.vxlan_port,
                echo_port=hosts.echo_port,
                token=token,
                patience=self._patience,
            )
            file = self._paths.directory / HOSTS / member.name / "share.json"
            file.parent.mkdir(parents=True)
            file.touch(mode=0o600)
            file.write_bytes(msgspec.json.encode(share))

    @property
    def _patience(self) -> float:
        most = max(len(variant.overlay.brokers) for variant in self._plan.variants)
        return max(map(_apart, self._plan.variants)) + _PATIENCE_EACH * most

    def _run_variables(self) -> dict[str, Any]:
        variants, patience = self._plan.variants, self._patience
        return {
            "with_files": (self._paths.directory / HOSTS / FILES).exists(),
            "variants": len(variants),
            "begins_within": patience * _STAGES_TO_BEGIN,
            "drains_within": [variant.lasts + LEAD + patience for variant in variants],
            "ends_within": [patience * (_STAGES_TO_END + len(leaving_stages(variant))) for variant in variants],
            "patience": patience,
        }

    def _end(self) -> None:
        self._progress.doing("fetching logs")
        self._play("end.yml", {"patience": _ENDS_WITHIN}, self._not_cancelled)

    def _play(
        self,
        playbook: str,
        variables: Mapping[str, Any],
        cancelled: Callable[[], bool] | None = None,
        on_failure: Callable[[TaskFailure], None] | None = None,
    ) -> Played:
        """Plays on all hosts of the run; by default the user may cancel that."""
        common_variables = {
            "product": self._product.name,
            "archive": str(self._archive),
            "share_ids": {member.name: share_id(self._plan.run_id, n) for n, member in enumerate(self._members)},
            "shares": str(self._paths.directory / HOSTS),
        }
        return play(
            playbook,
            self._request.hosts.inventory,
            self._paths.directory / PRIVATE,
            self.variables | common_variables | dict(variables),
            limit=",".join(member.name for member in self._members),
            on_result=self._progress.note,
            on_failure=on_failure,
            cancelled=cancelled or self._cancelled,
        )

    def _cancelled(self) -> bool:
        self._progress.update()
        return self._interrupt.asked

    def _not_cancelled(self) -> bool:
        self._progress.update()
        return False


def _apart(variant: VariantPlan) -> float:
    """Seconds by which hosts may reach a stage of a variant one after another.

    The drain phase and the settling after clients have left end early on a host where no message moves.
    """
    timeline = variant.scenario.timeline
    return (_PATIENCE + timeline.drain + (timeline.withdraw or 0.0)) * variant.scenario.dilation


def _broker_defect(error: PlayError) -> TaskFailure | None:
    """The first failure because of a broker's defect; None where there is another reason."""
    return next((found for found in error.failures if found.result.get("rc") == ExitCode.BROKER_DEFECT), None)


def clean_variables() -> dict[str, Any]:
    """The variables of `remove_remains.yml`."""
    return {"controller": boot_id(), "live": sorted(live_runs())}


def check_variables(hosts: Hosts, members: tuple[Member, ...]) -> dict[str, Any]:
    """The variables of `examine.yml`."""
    return {
        "addresses": [member.address for member in members],
        "address_of": {member.name: member.address for member in members},
        "echo_port": hosts.echo_port,
        "vxlan_port": hosts.vxlan_port,
    }


def examined(played: Played) -> dict[str, Facts]:
    """The results of `examine.yml`, by host."""
    return {host: msgspec.json.decode(result["stdout"], type=Facts) for host, result in played.of("examine").items()}
