"""A designer's first files: a protocol that works, a scenario that compares it, and a test of both."""

from __future__ import annotations

import re
from pathlib import Path

from record.errors import BadInputError

_EXAMPLE = Path(__file__).with_name("reverse_paths.py")
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


def write_skeleton(name: str, directory: Path) -> tuple[Path, ...]:
    """Writes the files into a new directory, and returns their paths. Raises `BadInputError`."""
    if re.fullmatch(r"[a-z][a-z0-9_-]{0,40}", name) is None:
        raise BadInputError(f"{name!r} is no name for a protocol: use lower-case letters, digits, `-` and `_`")
    if directory.exists():
        raise BadInputError(f"{directory} is there already; choose another name, or remove it")
    module = name.replace("-", "_")
    if module == "flooding":
        raise BadInputError("flooding is what the scenario compares with; choose another name")
    router = "".join(word.capitalize() for word in module.split("_"))
    files = {
        f"{module}.py": _EXAMPLE.read_text(encoding="utf-8").replace("ReversePaths", router),
        "flooding.py": _EXAMPLE.with_name("flooding.py").read_text(encoding="utf-8"),
        "compare.yaml": _SCENARIO.format(name=name, module=module),
        f"test_{module}.py": _TEST.replace("{module}", module),
    }
    directory.mkdir(parents=True)
    for file, text in files.items():
        (directory / file).write_text(text, encoding="utf-8")
    return tuple(directory / file for file in files)
