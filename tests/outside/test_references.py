"""Scenarios and cases name protocols from outside: a file, a package, `module:Name`, an installed package's entry."""

from __future__ import annotations

import pickle
import shutil
import subprocess
import sys
from importlib import metadata
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest
from msgspec import UNSET

from broker_service.config import PROTOCOL_FOLDER
from broker_service.routing import outside, protocol_named, read_options
from broker_service.routing.registry import provide_from
from emulation.planning.plan import make_plan
from emulation.runtimes.protocol_code import given_code, packed_protocols
from emulation.simulation.run import simulate
from record import manifest
from record.errors import BadInputError, ProtocolCodeError
from record.manifest import ProtocolCode
from scenario.loading import load
from scenario.yaml_files.errors import ScenarioError
from studies.conformance import SimulatedCaseRunner, run_case
from studies.conformance.protocols import rows_of
from studies.conformance.selection import select
from tests.outside.flooding import SOURCE, written
from tests.studies.conformance.cases import ADVERTISE, case

SCENARIO = """
name: outside
topology: {kind: line, brokers: 3}
routing: {protocol: ./flooding.py, patience: 50ms}
workload: {operations: [{at: 0s, client: P, broker: B1, id: a, advertise: "[class,eq,'STOCK']"}]}
timeline: {join: 1s, run: 1s}
"""


def scenario(directory: Path, text: str = SCENARIO) -> Path:
    path = directory / "scenario.yaml"
    path.write_text(text)
    return path


def test_a_scenario_names_a_file_beside_it(tmp_path: Path) -> None:
    path = written(tmp_path)
    routing = load(scenario(tmp_path)).routing
    assert routing.protocol == str(path)
    assert routing.options == {"patience": 0.05}
    assert hasattr(read_options(routing.protocol, routing.options), "prepare")  # the struct is the file's own


def test_the_manifest_has_the_code_that_ran(tmp_path: Path) -> None:
    path = written(tmp_path)
    path.write_text(f'# /// script\n# dependencies = ["msgspec"]\n# ///\n{path.read_text()}')
    text = SCENARIO.replace(", patience: 50ms", "") + "vary: {routing.protocol: [./flooding.py, tid]}\n"
    outcome = simulate(make_plan(load(scenario(tmp_path, text))), tmp_path / "runs")
    first, second = manifest.read(outcome.directory).variants
    needed = {"msgspec": metadata.version("msgspec")}
    assert first.protocol_code == ProtocolCode(digest=outside.digest_of(str(path)), requirements=needed)
    assert second.protocol_code is UNSET
    before = outside.digest_of(str(path))
    path.write_text(f"{path.read_text()}# changed\n")
    assert outside.digest_of(str(path)) != before


def test_variants_are_named_by_the_file_and_find_it(tmp_path: Path) -> None:
    path = written(tmp_path)
    text = SCENARIO.replace(", patience: 50ms", "") + "vary: {routing.protocol: [tid, ./flooding.py]}\n"
    variants = load(scenario(tmp_path, text)).variants()
    assert {variant.name: variant.scenario.routing.protocol for variant in variants} == {
        "tid": "tid",
        "flooding": str(path),
    }


def test_settings_of_ones_own_name_find_it(tmp_path: Path) -> None:
    path = written(tmp_path)
    text = SCENARIO + "vary: {scheme: {mine: {routing.protocol: ./flooding.py}}}\n"
    (variant,) = load(scenario(tmp_path, text)).variants()
    assert variant.scenario.routing.protocol == str(path)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (None, "there is no file {path}; name a Python file, or a package with its `__init__.py`"),
        ("def f(:", "{path} cannot be loaded: SyntaxError: invalid syntax"),
        ("raise SystemExit(3)", "{path} cannot be loaded: SystemExit: 3 ({path}:1, in <module>)"),
        ("\n1 / 0", "{path} cannot be loaded: ZeroDivisionError: division by zero ({path}:2, in <module>)"),
        ("x = 1", "{path} declares no PROTOCOL; write `PROTOCOL = Protocol(MyRouter, MyOptions)` at its top level"),
        ("PROTOCOL = 1", "{path}: PROTOCOL is of the type int, no `Protocol`"),
        (f"{SOURCE}\nPROTOCOL = Protocol(Flooding, dict)", "are no subclass of `ProtocolOptions`"),
        (f"{SOURCE}\nPROTOCOL = Protocol('Flooding')", "the router of PROTOCOL is no class"),
    ],
)
def test_mistakes_name_the_file_the_field_and_the_remedy(tmp_path: Path, source: str | None, reason: str) -> None:
    path = tmp_path / "flooding.py"
    if source is not None:
        path.write_text(source)
    with pytest.raises(ScenarioError) as caught:
        load(scenario(tmp_path))
    assert f"{tmp_path / 'scenario.yaml'}:4: routing.protocol: " in str(caught.value)
    assert reason.format(path=path) in str(caught.value)


def test_a_package_is_named_by_its_directory(tmp_path: Path) -> None:
    package = tmp_path / "flooding"
    package.mkdir()
    (package / "__init__.py").write_text("from .router import PROTOCOL\n")
    written(package, name="router.py")
    assert protocol_named(str(package)).options.times == ("patience",)


def test_a_file_may_be_called_as_a_module_of_pythons(tmp_path: Path) -> None:
    assert protocol_named(str(written(tmp_path, name="random.py"))).options.times == ("patience",)
    assert not hasattr(sys.modules["random"], "PROTOCOL")


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module on Python's path."""
    folder = tmp_path / "on_the_path"
    folder.mkdir()
    written(folder, name="designed_flooding.py")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "designed_flooding", raising=False)
    return "designed_flooding:PROTOCOL"


def test_a_module_on_the_path_is_named_with_its_object(module: str) -> None:
    assert protocol_named(module).options.times == ("patience",)


def test_an_installed_package_gives_its_protocol_a_name(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("designed", module, outside.ENTRY_POINTS)
    monkeypatch.setattr(metadata, "entry_points", lambda **chosen: EntryPoints([point]).select(**chosen))
    assert protocol_named("designed").options.times == ("patience",)
    with pytest.raises(ValueError, match="unknown routing protocol 'designde'"):
        protocol_named("designde")


@pytest.mark.parametrize("kind", ["file", "package", "module"])
def test_brokers_of_their_own_process_get_the_code(tmp_path: Path, module: str, kind: str) -> None:
    package = tmp_path / "packaged"
    package.mkdir()
    written(package, name="__init__.py")
    reference = {"file": str(written(tmp_path)), "package": str(package), "module": module}[kind]
    folder = tmp_path / PROTOCOL_FOLDER
    place = given_code(reference, folder)
    assert not Path(place).is_absolute()
    provide_from(f"given {kind}", place, folder)
    given = protocol_named(f"given {kind}")
    again = tmp_path / "again"  # as an agent on another host gives its brokers what it was given
    assert given_code(f"given {kind}", again) == place
    assert {path.name for path in again.rglob("*.py")} == {path.name for path in folder.rglob("*.py")}
    assert given.options.times == ("patience",)
    assert all(path.stat().st_mode & 0o444 == 0o444 for path in folder.rglob("*.py"))


def test_built_in_protocols_are_no_code_to_give(tmp_path: Path) -> None:
    assert given_code("tid", tmp_path / PROTOCOL_FOLDER) == ""
    assert list(tmp_path.iterdir()) == []


def test_cases_run_under_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path)
    monkeypatch.chdir(tmp_path)
    (trial,) = select([case(ADVERTISE)], protocols=["./flooding.py"]).trials
    assert (trial.protocol.name, trial.protocol.protocol) == ("flooding", str(path))
    with pytest.raises(BadInputError, match=r"--protocol \./absent\.py: there is no file .*absent\.py; name"):
        select([case(ADVERTISE)], protocols=["./absent.py"])


def test_promises_that_fail_are_a_defect_of_the_protocol(tmp_path: Path) -> None:
    path = written(
        tmp_path, "    patience: float = 1.0", "    patience: float = 1.0\n    promises = property(lambda _: 1 / 0)"
    )
    with pytest.raises(ProtocolCodeError, match=rf"{path} failed on its promises: ZeroDivisionError: .*{path}:9"):
        load(scenario(tmp_path))


@pytest.mark.parametrize(
    ("kind", "named"),
    [("file", "{home}/flooding.py"), ("package", "{home}/packaged/router.py"), ("module", "on_path.py")],
)
def test_a_brokers_copy_is_named_as_the_authors_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, named: str
) -> None:
    """Lines of a module's file are named as Python finds it, because the author's path has no other name for it."""
    home, folder = tmp_path / "home", tmp_path / PROTOCOL_FOLDER
    (home / "packaged").mkdir(parents=True)
    (home / "packaged" / "__init__.py").write_text("from .router import PROTOCOL\n")
    mistake = "self._seen = set()", "self._seen = sett()"
    for directory, name in ((home, "flooding.py"), (home / "packaged", "router.py"), (home, "on_path.py")):
        written(directory, *mistake, name=name)
    reference = {"file": f"{home}/flooding.py", "package": f"{home}/packaged", "module": "on_path:PROTOCOL"}[kind]
    with monkeypatch.context() as where_the_author_is:
        where_the_author_is.syspath_prepend(home)
        place = given_code(reference, folder)
    provide_from(reference, place, folder)
    (row,) = rows_of(reference)
    result = run_case(case(ADVERTISE), row, SimulatedCaseRunner())
    assert f"NameError: name 'sett' is not defined ({named.format(home=home)}:18, in __init__)" in result.defect


@pytest.mark.proof
@pytest.mark.parametrize("kind", ["file", "package"])
def test_other_processes_and_hosts_get_the_code(tmp_path: Path, kind: str) -> None:
    home = tmp_path / "home"
    (home / "packaged").mkdir(parents=True)
    written(home / "packaged", name="__init__.py")
    reference = {"file": str(written(home)), "package": str(home / "packaged")}[kind]
    (packed,) = packed_protocols([reference, "tid", reference])
    program = (
        "import pickle, sys; pickle.load(sys.stdin.buffer).provide();"
        "from broker_service.routing import protocol_named; from broker_service.routing.registry import place_of;"
        "print(protocol_named(sys.argv[1]).options.times, place_of(sys.argv[1]))"
    )

    def told() -> str:
        command = [sys.executable, "-c", program, reference]
        return subprocess.run(command, input=pickle.dumps(packed), capture_output=True, check=True).stdout.decode()

    assert told().split() == ["('patience',)", reference]  # the author's own files are here, and are the same
    for file in home.rglob("*.py"):
        file.write_text(file.read_text().replace("patience", "changed"))
    assert told().startswith("('patience',) /")
    shutil.rmtree(home)
    assert told().startswith("('patience',) /")
