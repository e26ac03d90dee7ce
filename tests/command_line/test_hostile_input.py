"""Hostile files and command lines: each is refused with one line that names the mistake, and exit code 2.

The cases are what a stranger's file or a slip of the hand may contain, and what once ended in a stack trace, in no
answer, or in all of the host's memory. No case leaves anything behind.
"""

from __future__ import annotations

import gzip
import io
import json
import sys
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

import command_line

ROOT = Path(__file__).resolve().parents[2]
LINE = ROOT / "scenarios" / "line-3.yaml"
SIMULATED = ("--runtime", "simulated", "--no-spark", "--out", "runs")

SCENARIO = """\
name: small
topology: {kind: ring, brokers: 4, link: {delay: 5ms}}
routing: {protocol: tid}
workload: {publications: {publishers: 2, rate: 60/min}, subscriptions: {subscribers: 3}}
timeline: {join: 2s, run: 10s}
"""
CASE = """\
id: a
brokers: [B1]
steps: [{op: publish, client: P, broker: B1, id: p, text: "[x,1]"}]
expect: {}
"""
CAMPAIGN = f"name: c\nscenario: {LINE}\nruntime: simulated\nseeds: [1]\n"


@pytest.fixture(autouse=True)
def _in_a_directory_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def refusal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str) -> str:
    """The output of the command line, which refuses these arguments with exit code 2."""
    before = sorted(path for path in Path().rglob("*"))
    monkeypatch.setattr(sys, "argv", ["brokerlab", *arguments])
    with pytest.raises(SystemExit) as ended:
        command_line.main()
    printed = capsys.readouterr()
    output = printed.out + printed.err
    assert ended.value.code == 2, output
    assert sorted(path for path in Path().rglob("*")) == before, "something is left behind"
    return output


NUMBERS = {
    "0x" + "F" * 30: "is a hexadecimal number",
    "0b" + "1" * 70: "is a binary number",
    "0" + "7" * 30: "is an octal number",
    "1" + ":59" * 20: "is a sexagesimal number",
    "9" * 30: "is too large: an integer is at most 9223372036854775807",
    ".inf": "is not a finite number",
    "-.INF": "is not a finite number",
    ".nan": "is not a finite number",
}


@pytest.mark.parametrize(("number", "message"), NUMBERS.items(), ids=lambda value: value[:8])
def test_numbers_in_a_scenario(
    number: str, message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("s.yaml").write_text(SCENARIO.replace("brokers: 4", f"brokers: {number}"))
    output = refusal(capsys, monkeypatch, "emulate", "s.yaml", *SIMULATED)
    assert output.startswith("brokerlab: s.yaml:2: ")
    assert message in output
    Path("s.yaml").write_text(SCENARIO)
    for field in ("seed", "topology.brokers", "vary.seed"):
        output = refusal(capsys, monkeypatch, "emulate", "s.yaml", *SIMULATED, "--set", f"{field}={number}")
        assert output.startswith(f"brokerlab: --set {field}=")
        assert message in output
    assert message in refusal(capsys, monkeypatch, "topology", "show", "ring", f"brokers={number}")


@pytest.mark.parametrize(("number", "message"), NUMBERS.items(), ids=lambda value: value[:8])
def test_numbers_in_other_files(
    number: str, message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("c.yaml").write_text(CAMPAIGN.replace("[1]", f"[{number}]"))
    output = refusal(capsys, monkeypatch, "campaign", "c.yaml", "--out", "out")
    assert output.startswith("brokerlab: c.yaml:4: ")
    assert message in output
    Path("case.yaml").write_text(f"seed: {number}\n{CASE}")
    output = refusal(capsys, monkeypatch, "conformance", "case.yaml")
    assert output.startswith("brokerlab: case.yaml:1: ")
    assert message in output


SETTINGS = {
    "topology={kind: cyclic, brokers: 9, degree: 1.0e+308}": "topology.degree: must be less than or equal to 10000",
    "topology={kind: cyclic, brokers: 9, degree: 'inf'}": "topology.degree: must be a valid number, not 'inf'",
    "topology.link.bandwidth=1e-300bit": "a bandwidth is 0, or at least 1bit",
    "topology.link.bandwidth=1e300gbit": "is too large",
    "workload.publications.rate=1e-300/s": "a message rate is 0, or at least 1e-09/s",
    "brokers.memory=1e300GB": "is too large",
    "brokers.cpu=1.0e+308": "must be less than or equal to 1000",
    "workload.publications.symbols=9000000000000000000": "must be less than or equal to 100000",
    f"vary={{seed: {list(range(60))}, time_dilation: {list(range(1, 61))}}}": "makes 3,600 variants; 256 is the most",
    f"{'a.' * 5000}a=1": "a field's path has 32 parts at most, not 5,001",
    f"topology={'[' * 5000}": "nested more than 32 levels deep",
    "seed=" + "9" * 100_000: "is too large",
    "name=\ud800": "the character 0xd800 cannot be in it",
    "topology=!!python/object/apply:os.system [x]": "is not supported",
}


@pytest.mark.parametrize(("setting", "message"), SETTINGS.items(), ids=lambda value: value[:40])
def test_settings(
    setting: str, message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("s.yaml").write_text(SCENARIO)
    output = refusal(capsys, monkeypatch, "emulate", "s.yaml", *SIMULATED, "--set", setting)
    assert output.startswith("brokerlab: --set ")
    assert message in output
    assert all(len(line) < 1100 for line in output.splitlines())


TOPOLOGIES: Mapping[str, tuple[list[str], str]] = {
    "a deep path": (["ring", "brokers=4", f"{'a.' * 5000}a=1"], "has 32 parts at most"),
    "a deep value": (["ring", "brokers=4", f"link={'[' * 5000}"], "nested more than 32 levels deep"),
    "an infinite degree": (["cyclic", "brokers=9", "degree=.inf"], "is not a finite number"),
    "a huge degree": (["cyclic", "brokers=9", "degree=1.0e+308"], "must be less than or equal to 10000"),
    "hardly any bandwidth": (["ring", "brokers=4", "link.bandwidth=1e-300bit"], "at least 1bit"),
    "a huge inflation": (["planetlab", "inflation=1.0e+308"], "must be less than or equal to 100"),
    "a huge branching": (["tree", "brokers=9", f"branching={10**30}"], "is too large"),
    "a device": (["/dev/zero.json"], "cannot be read"),
}


@pytest.mark.parametrize(("arguments", "message"), TOPOLOGIES.values(), ids=TOPOLOGIES)
def test_topologies(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert message in refusal(capsys, monkeypatch, "topology", "show", *arguments)


OVERLAYS: Mapping[str, tuple[str, str]] = {
    "many.json": (
        json.dumps({"schema": 1, "name": "x", "brokers": [{"id": f"B{n}"} for n in range(10_001)], "links": []}),
        "10,001 brokers; 10,000 is the most",
    ),
    "large-integer.json": (
        '{"schema": 1, "name": "x", "brokers": [{"id": "B1", "attributes": {"a": 1' + "0" * 5000 + '}}], "links": []}',
        "not an overlay file",
    ),
    "deep.json": ("[" * 100_000, "not an overlay file"),
    "wide.csv": ("delay_ms," + ",".join(f"B{n}" for n in range(10_001)) + "\n", "10,001 brokers; 10,000 is the most"),
    "huge-number.csv": ("delay_ms,B1,B2\nB1,0,1e400\nB2,1,0\n", "'1e400' is not a number from 0"),
    "entity.graphml": ('<!DOCTYPE x [<!ENTITY a "b">]><graphml/>', "document type or entities is refused"),
}


@pytest.mark.parametrize("name", OVERLAYS)
def test_overlays(name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    content, message = OVERLAYS[name]
    Path(name).write_text(content)
    output = refusal(capsys, monkeypatch, "topology", "show", name)
    assert output.startswith(f"brokerlab: {name}: ")
    assert message in output


LARGE: Mapping[str, tuple[Callable[[], str], str]] = {
    "values in a list": (lambda: "a: [" + "1," * 2_000_000 + "]", "more than 200,000 values"),
    "values in blocks": (lambda: "- 1\n" * 1_000_000, "more than 200,000 values"),
    "fields": (lambda: "".join(f"k{n}: 1\n" for n in range(300_000)), "more than 200,000 values"),
    "aliases": (lambda: "- &a [1, 2, 3]\n" + "- *a\n" * 700_000, "more than 200,000 values"),
    "a sexagesimal number": (lambda: "seed: 1" + ":59" * 1_300_000, "is a sexagesimal number"),
    "an integer": (lambda: "seed: " + "9" * 4_000_000, "is too large"),
    "a field's name": (lambda: '"' + "x" * 1000 + '": 1', "256 characters at most, not 1,000"),
    "brackets": (lambda: "[" * 4_000_000, "nested more than 32 levels deep"),
    "dashes": (lambda: "- " * 2_000_000, "nested more than 32 levels deep"),
    "documents": (lambda: "--- {}\n" * 500_000, "a second document begins here"),
    "an alias in its anchor": (lambda: "a: &a [*a]", "inside its own anchor"),
    "wrong faults": (lambda: SCENARIO + "faults: [" + "x, " * 100_000 + "]", "... and 99990 more"),
}


@pytest.mark.proof
@pytest.mark.parametrize(("content", "message"), LARGE.values(), ids=LARGE)
def test_large_files(
    content: Callable[[], str], message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("x.yaml").write_text(content())
    output = refusal(capsys, monkeypatch, "emulate", "x.yaml", *SIMULATED)
    assert message in output
    assert all(len(line) < 1100 for line in output.splitlines())


CASES: Mapping[str, tuple[str, str]] = {
    "deep.json": ("[" * 100_000, "nested too deeply"),
    "many-values.json": ("[" + "1," * 1_000_000 + "1]", "more than 200,000 values"),
    "integer.json": ('{"id": "a", "seed": ' + "9" * 5000 + "}", "is too large"),
    "infinite.json": ('{"id": "a", "seed": Infinity}', "Infinity is not a finite number"),
    "large.json": ('{"id": "a", "seed": 1e999}', "1e999 is too large"),
    "repeated.json": ("{" + ",".join(f'"{n}": 1' for n in range(150_000)) + ', "149999": 1}', "appears twice"),
    "text.yaml": (CASE.replace("[x,1]", f"[x,{'9' * 5000}]"), "steps[0]"),
    "hexadecimal-text.yaml": (CASE.replace("[x,1]", f"[x,0x{'F' * 30}]"), "steps[0]"),
}


@pytest.mark.parametrize("name", CASES)
def test_cases(name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    content, message = CASES[name]
    Path(name).write_text(content)
    output = refusal(capsys, monkeypatch, "conformance", name)
    assert output.startswith(f"brokerlab: {name}:")
    assert message in output


CAMPAIGNS: Mapping[str, tuple[str, str]] = {
    "factors that multiply out": (
        CAMPAIGN + "factors: {" + ", ".join(f"a{n}: {list(range(100))}" for n in range(9)) + "}\n",
        "1,000,000,000,000,000,000 cells; a campaign has at most 100,000",
    ),
    "seeds": (CAMPAIGN.replace("[1]", "1..999999999999999999"), "with at most 10,000"),
    "no scenario": (CAMPAIGN.replace(str(LINE), "none.yaml"), "cannot be read"),
    "a field that there is not": (CAMPAIGN + "set: {timeline.runs: 1s}\n", "unknown field 'runs'"),
}


@pytest.mark.parametrize(("content", "message"), CAMPAIGNS.values(), ids=CAMPAIGNS)
def test_campaigns(
    content: str, message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("c.yaml").write_text(content)
    assert message in refusal(capsys, monkeypatch, "campaign", "c.yaml", "--out", "out")


def archive(**links: str) -> bytes:
    """A .tar.gz of one file of quotes and of symbolic links."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as made:
        quotes = b"date,open,high,low,close,volume\n2020-01-01,1,1,1,1,1\n"
        file = tarfile.TarInfo("a.csv")
        file.size = len(quotes)
        made.addfile(file, io.BytesIO(quotes))
        for name, target in links.items():
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, target
            made.addfile(link)
    return packed.getvalue()


TABLE = "date,open,high,low,close,volume\n"
QUOTES: Mapping[str, tuple[bytes, str]] = {
    "link.tar.gz": (archive(b="/etc/passwd"), "b is neither a file nor a directory"),
    "cut.tar.gz": (archive()[:-20], "the archive is damaged or not whole"),
    "no-archive.tar.gz": (gzip.compress(b"x" * 2000), "no-archive.tar.gz: "),
    "volume.csv": (f"{TABLE}2020-01-01,1,1,1,1,1e300\n".encode(), "line 2: volume is not a number up to 1e+15"),
    "infinite.csv": (f"{TABLE}2020-01-01,inf,1,1,1,1\n".encode(), "line 2: open is not a number up to 1e+15"),
    "short.csv": (b"open,high,low,close,volume,date\n1,1,1,1,1\n", "line 2: there is no 'date'"),
    "latin.csv": (TABLE.encode() + b"\xff", "line 2: not UTF-8 text"),
    "integer.txt": (f"[class,'STOCK'],[symbol,'A'],[open,{'9' * 30}]".encode(), "line 1"),
}


@pytest.mark.parametrize("name", QUOTES)
def test_quotes(name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    content, message = QUOTES[name]
    Path(name).write_bytes(content)
    form = "padres" if name.endswith(".txt") else "csv"
    Path("s.yaml").write_text(
        SCENARIO.replace("publishers: 2", f"publishers: 2, source: {{file: {name}, format: {form}}}")
    )
    output = refusal(capsys, monkeypatch, "emulate", "s.yaml", *SIMULATED)
    assert output.splitlines()[-1].startswith("brokerlab: ")
    assert message in output


@pytest.mark.parametrize("command", ["emulate", "campaign", "conformance"])
def test_verdicts_that_cannot_be_written_are_found_before_the_run(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    output = refusal(capsys, monkeypatch, command, str(LINE), "--junit", "/dev/full")
    assert output == "brokerlab: --junit /dev/full: cannot be written: No space left on device; name another file\n"


def test_an_inventory_that_is_none_leaves_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("hosts.ini").write_text("[")
    output = refusal(capsys, monkeypatch, "emulate", str(LINE), "--hosts", "hosts.ini", "--out", "runs")
    assert output.startswith("brokerlab: hosts.ini: ")
    Path("c.yaml").write_text(CAMPAIGN.replace("simulated", "process"))
    output = refusal(capsys, monkeypatch, "campaign", "c.yaml", "--hosts", "hosts.ini", "--out", "out")
    assert output.startswith("brokerlab: hosts.ini: ")


def test_a_calibration_is_bounded(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    output = refusal(capsys, monkeypatch, "emulate", str(LINE), *SIMULATED, "--calibration", "/dev/zero")
    assert "/dev/zero: larger than" in output
