"""A designer's first files: a protocol that works, a scenario that compares it, and a test of both."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from record.errors import BadInputError
from record.installation import FILES

_EXAMPLE = Path(__file__).with_name("reverse_paths.py")
_FLOODING = _EXAMPLE.with_name("flooding.py")
_TAKEN = ("flooding", "brokerlab")
_COMPARE = "brokerlab emulate compare.yaml --runtime simulated"
_SCENARIO = """\
# {name} against flooding, where subscriptions stay at their brokers, and TID routing: same clients, overlay and seed.
name: compare-{name}
topology: {{kind: cyclic, brokers: 12, degree: 3, link: {{delay: 5ms}}}}
routing: {{protocol: ./{module}.py}}
workload:
  publications: {{source: stocks, symbols: 12, publishers: 12, rate: 5/s}}
  subscriptions: {{subscribers: 48, selectivity: 5%}}
timeline: {{join: 5s, run: 20s}}
vary: {{routing.protocol: [./{module}.py, ./flooding.py, tid]}}
"""
_TEST = '''\
"""The protocol passes the cases without faults, and delivers in the scenario."""

import subprocess
from pathlib import Path

HERE = Path(__file__).parent


def brokerlab(*arguments: str) -> None:
    subprocess.run(["brokerlab", *arguments], cwd=HERE, check=True)


def test_it_passes_the_cases() -> None:
    brokerlab("protocol", "check", "{module}.py")


def test_it_delivers_in_the_scenario(tmp_path: Path) -> None:
    brokerlab("emulate", "compare.yaml", "--runtime", "simulated", "--no-spark", "--no-report", "--out", str(tmp_path))
'''


_PROGRAM_SCENARIO = """\
# {name} against flooding, where subscriptions stay at their brokers, and TID routing: same clients, overlay and seed.
name: compare-{name}
topology: {{kind: cyclic, brokers: 12, degree: 3, link: {{delay: 5ms}}}}
routing: {{protocol: {{program: {argv}}}}}
workload:
  publications: {{source: stocks, symbols: 12, publishers: 12, rate: 5/s}}
  subscriptions: {{subscribers: 48, selectivity: 5%}}
timeline: {{join: 5s, run: 20s}}
vary: {{routing.protocol: {{{name}: {{program: {argv}}}, flooding: ./flooding.py, tid: tid}}}}
"""
_PROGRAM_TEST = """\
#!/bin/sh
# The router passes the cases without faults, and delivers in the scenario.
set -eu
cd "$(dirname "$0")"
{build}brokerlab protocol check {checked}
runs=$(mktemp -d)
trap 'rm -rf "$runs"' EXIT
brokerlab emulate compare.yaml --runtime simulated --no-spark --no-report --out "$runs"
"""
_EXAMPLES = FILES / "examples" / "routers"


@dataclass(frozen=True, slots=True)
class _Language:
    """A language of programs. In texts, `{module}` and `{router}` stand for the protocol's name in small and in camel
    letters."""

    router: str
    """Name of the example that the router begins as."""
    pipe: str
    """Name of the file that holds what there is to the pipe."""
    file: str
    """Name of the router's file."""
    argv: str
    """Argument vector, as YAML has it."""
    checked: str
    """The program, as the command line names it."""
    build: str = ""
    """The command that makes the program of its sources."""


_PROGRAMS: Mapping[str, _Language] = {
    "node": _Language("reverse_paths.js", "brokerlab.js", "{module}.js", "[./{module}.js]", "./{module}.js"),
    "go": _Language(
        "reverse_paths.go",
        "brokerlab.go",
        "{module}.go",
        "[./{module}]",
        "./{module}",
        "go build -o {module} {module}.go brokerlab.go",
    ),
    "java": _Language(
        "Flooding.java",
        "Brokerlab.java",
        "{router}.java",
        "[java, -XX:TieredStopAtLevel=1, -XX:+UseSerialGC, -cp, ./classes, {router}]",
        '"program:java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp ./classes {router}"',
        "javac -d classes {router}.java Brokerlab.java",
    ),
}
PYTHON = "python"
LANGUAGES = (PYTHON, *_PROGRAMS)


_Written = tuple[dict[str, str], tuple[str, ...]]
"""Texts of files by their names, and the commands that build the protocol and check it."""


@dataclass(frozen=True, slots=True)
class Skeleton:
    """The files of a new protocol."""

    files: tuple[Path, ...]
    next_steps: tuple[str, ...]
    """Commands that build the protocol and try it, to be called in its directory."""


def write_skeleton(name: str, directory: Path, language: str = PYTHON) -> Skeleton:
    """Writes the files into a new directory. Raises `BadInputError`."""
    if language not in LANGUAGES:
        raise BadInputError(
            f"there is no skeleton in {language!r}; choose {', '.join(LANGUAGES[:-1])} or {LANGUAGES[-1]}"
        )
    if re.fullmatch(r"[a-z][a-z0-9_-]{0,40}", name) is None:
        raise BadInputError(f"{name!r} is no name for a protocol: use lower-case letters, digits, `-` and `_`")
    if directory.exists():
        raise BadInputError(f"{directory} is there already; choose another name, or remove it")
    module = name.replace("-", "_")
    if module in _TAKEN:
        raise BadInputError(f"{module} is the name of another file beside the protocol; choose another name")
    router = "".join(word.capitalize() for word in module.split("_"))
    program = _PROGRAMS.get(language)
    files, steps = _in_python(name, module, router) if program is None else _in_program(program, name, module, router)
    directory.mkdir(parents=True)
    for file, text in files.items():
        (directory / file).write_text(text, encoding="utf-8")
        if text.startswith("#!"):
            (directory / file).chmod(0o755)
    return Skeleton(tuple(directory / file for file in files), (*steps, _COMPARE))


def _in_python(name: str, module: str, router: str) -> _Written:
    files = {
        f"{module}.py": _EXAMPLE.read_text(encoding="utf-8").replace("ReversePaths", router),
        "flooding.py": _FLOODING.read_text(encoding="utf-8"),
        "compare.yaml": _SCENARIO.format(name=name, module=module),
        f"test_{module}.py": _TEST.replace("{module}", module),
    }
    return files, (f"brokerlab protocol check {module}.py",)


def _in_program(language: _Language, name: str, module: str, router: str) -> _Written:
    def named(text: str) -> str:
        return text.replace("{module}", module).replace("{router}", router)

    build, checked = named(language.build), named(language.checked)
    example = (_EXAMPLES / language.router).read_text(encoding="utf-8")
    files = {
        named(language.file): re.sub(r"\bFlooding(?=\b[^:])", router, example),
        language.pipe: (_EXAMPLES / language.pipe).read_text(encoding="utf-8"),
        "flooding.py": _FLOODING.read_text(encoding="utf-8"),
        "compare.yaml": _PROGRAM_SCENARIO.format(name=name, argv=named(language.argv)),
        "test.sh": _PROGRAM_TEST.format(build=f"{build}\n" if build else "", checked=checked),
    }
    check = f"brokerlab protocol check {checked}"
    return files, (build, check) if build else (check,)
