"""The lines that a reader may paste from the pages, and for each who executes it, or why nobody does.

A line is one of a shell block, or one that begins with a program in any other block. Rules are tried in their order:
the first that fits a line says it all.
"""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.documentation.markdown import PAGES, PROGRAM, ROOT

_FENCE = re.compile(r"^ *```(\w*)\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
_SHELLS = ("bash", "sh", "console", "shell")
_PROGRAMS = ("brokerlab", "docker-compose", "make", "pip")
_OTHERS = re.compile(r"(?:sudo )?(?:lab/bin/\S+|pip|pipx|python3|docker|docker-compose|tar|cd|\.) ")


@dataclass(frozen=True, slots=True)
class ShownLine:
    """A line that a page shows to be pasted."""

    page: str
    line: str

    def __str__(self) -> str:
        return f"{self.page}: {self.line}"


@dataclass(frozen=True, slots=True)
class ExecutedBy:
    """Another test executes it: the page's own text, or the same command with the same options."""

    test: str

    def unspoken(self, shown: ShownLine) -> list[str]:
        """The words of the command that the test never says: none where it takes its lines from the page."""
        source = (ROOT / self.test).read_text(encoding="utf-8")
        if f'"{Path(shown.page).name}"' in source:
            return []
        words = shlex.split(shown.line, comments=True)
        programs = [index for index, word in enumerate(words) if Path(word).name in _PROGRAMS]
        said = words[programs[-1] + 1 :] if programs else words
        named = list(itertools.takewhile(re.compile(r"[a-z-]+").fullmatch, said))
        options = [word.partition("=")[0] for word in said if re.match(r"--[a-z]", word)]
        return [word for word in (*named, *options) if not re.search(rf"(?<![\w-]){word}(?![\w-])", source)]


@dataclass(frozen=True, slots=True)
class ExecutedHere:
    """`test_shown_commands` executes it in the simulator, or where it runs nothing."""


@dataclass(frozen=True, slots=True)
class NotExecuted:
    """No test executes it; `test_commands` checks that the command has these options, and that files exist."""

    reason: str


Fate = ExecutedBy | ExecutedHere | NotExecuted


@dataclass(frozen=True, slots=True)
class Rule:
    """The fate of the lines of some pages that match a pattern."""

    pages: str
    """A pattern for the whole name."""
    pattern: str
    """A pattern for the beginning of the line."""
    fate: Fate

    def fits(self, shown: ShownLine) -> bool:
        return bool(re.fullmatch(self.pages, shown.page) and re.match(self.pattern, shown.line))


_HERE = ExecutedHere()
_REAL = NotExecuted("takes minutes on real brokers; other tests run real brokers, and this scenario in the simulator")
_HOURS = NotExecuted("takes minutes to hours of processor time; tests run the same command on less")
_STAYS = NotExecuted("serves a page until it is interrupted; tests/analysis/live looks at such pages")
_HOSTS = ExecutedBy("tests/emulation/multi_host/test_three_hosts.py")
_CLUSTER = NotExecuted("needs the services of docker-compose.yml, on which tests/setup/test_compose.py analyses a run")
_OWN = NotExecuted("is about a file of the reader's own")
_BROKER = ExecutedBy("tests/documentation/test_broker_of_your_own.py")
_NODE = NotExecuted("needs an image in Node; tests/studies/broker_kit/test_node_broker.py tries the broker in it")
_BASELINE = ExecutedBy("tests/documentation/test_own_baseline.py")
_PACKAGE = ExecutedBy("tests/setup/test_package.py")
_SCRIPT = ExecutedBy("tests/documentation/test_continuous_integration.py")

RULES = (
    Rule("docs/held-runs.md", "brokerlab ", ExecutedBy("tests/documentation/test_held_runs.py")),
    Rule("docs/hosts.md", "brokerlab hosts prepare", NotExecuted("installs packages on other hosts")),
    Rule("docs/hosts.md", "brokerlab ", _HOSTS),
    Rule("docs/(index|installing).md", "(pip|lab/bin/|python3|brokerlab) ?", _PACKAGE),
    Rule("docs/ci.md", r"\.venv/bin/brokerlab baseline", _BASELINE),
    Rule("docs/ci.md", r"\.venv/bin/brokerlab emulate .*--against", _BASELINE),
    Rule("docs/ci.md", r"\.venv/bin/brokerlab emulate scenarios/smoke.yaml --runtime container", _REAL),
    Rule("docs/ci.md", r"\.venv/bin/brokerlab emulate scenarios/smoke.yaml --runtime simulated", _HERE),
    Rule("docs/ci.md", ".", _SCRIPT),
    Rule(
        "docs/writing-a-protocol.md",
        "brokerlab protocol new",
        ExecutedBy("tests/studies/protocol_kit/test_protocol_kit.py"),
    ),
    Rule("docs/broker-of-your-own.md", "brokerlab conformance --command", _BROKER),
    Rule("docs/broker-of-your-own.md", ".", _NODE),
    Rule(".*", r"brokerlab emulate .*(--twin|--live)", _REAL),
    Rule(".*", r"brokerlab replay runs/", _STAYS),
    Rule(".*", r"brokerlab campaign .*--live", _STAYS),
    Rule(".*", r"brokerlab \w+ .*--master", _CLUSTER),
    Rule(".*", r"brokerlab calibrate", _REAL),
    Rule(".*", r"brokerlab explore", _HOURS),
    Rule(".*", r"brokerlab search", ExecutedBy("tests/command_line/commands/test_search.py")),
    Rule(".*", r"brokerlab reproduce --list", _HERE),
    Rule(".*", r"brokerlab reproduce", _HOURS),
    Rule(".*", r"python -m studies\.", _HOURS),
    Rule(".*", r"brokerlab campaign", _HOURS),
    Rule(".*", r"brokerlab conformance my-", _OWN),
    Rule(".*", r"brokerlab conformance .*--runtime all", _REAL),
    Rule(".*", r"brokerlab conformance", ExecutedBy("tests/conformance/test_conformance.py")),
    Rule(".*", r"brokerlab workload show trace.parquet", _OWN),
    Rule(".*", r"brokerlab emulate .*--calibration", _REAL),
    Rule(".*", r"brokerlab emulate .*--runtime simulated --no-spark", _HERE),
    Rule(".*", r"(\.venv/bin/)?brokerlab emulate", _REAL),
    Rule(".*", r"brokerlab check scenarios/cyclic-30", ExecutedBy("tests/command_line/commands/test_check.py")),
    Rule(".*", r"brokerlab (baseline|compare|query|replay|report|topology|workload) ", _HERE),
    Rule(".*", r"docker-compose run --rm emulator doctor", ExecutedBy("tests/setup/test_compose.py")),
    Rule(".*", r"docker-compose run --rm emulator emulate", _REAL),
    Rule("docs/docker-compose.md", r"docker-compose ", _CLUSTER),
    Rule("docs/client-programs.md", "(npm install|tar )", NotExecuted("downloads the packages of an example")),
    Rule(".*", r"make smoke", ExecutedBy("tests/setup/test_compose.py")),
    Rule("CONTRIBUTING.md", r"make (test|lint)", NotExecuted("is the test run itself")),
    Rule(
        ".*",
        r"make gauntlet",
        NotExecuted("takes minutes; tests/gauntlet/test_gauntlet.py runs a part of the same trials"),
    ),
    Rule(".*", r"make (setup|emulate|emulator-image)", NotExecuted("installs packages, and is what CI begins with")),
)


def shown_lines(page: Path) -> Iterator[ShownLine]:
    """The lines of a page, each once."""
    text = page.read_text(encoding="utf-8")
    name = str(page.relative_to(ROOT))
    indented = [line.removeprefix("    ") for line in _FENCE.sub("", text).split("\n") if line.startswith("    ")]
    blocks = [*_FENCE.findall(text), ("", "\n".join([*indented, ""]))]
    found: dict[ShownLine, None] = {}
    for language, block in blocks:
        for line in map(str.strip, re.sub(r"\\\n\s*", "", block).splitlines()):
            pasted = PROGRAM.match(f"{line} ") or _OTHERS.match(line)
            if line and (language in _SHELLS or (language == "" and pasted)):
                found[ShownLine(name, line)] = None
    return iter(found)


SHOWN = [line for page in PAGES for line in shown_lines(page)]


def rule_of(shown: ShownLine) -> Rule | None:
    """The rule for a line; None where nothing is said about it."""
    return next((rule for rule in RULES if rule.fits(shown)), None)
