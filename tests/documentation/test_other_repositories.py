"""The GitHub action and the GitLab job of docs/ci.md, for repositories that have nothing of brokerlab but scenarios and
a protocol: their steps run here one after another, with programs in the place of `python -m venv` and `pip`."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")

PROGRAM = f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m command_line "$@"\n'
PYTHON = f"""#!/bin/sh
# `python -m venv DIRECTORY`
mkdir -p "$3/bin"
cat >"$3/bin/brokerlab" <<'PROGRAM'
{PROGRAM}PROGRAM
printf '#!/bin/sh\\necho "$@" >>"%s/installed"\\n' "$PWD" >"$3/bin/pip"
chmod +x "$3/bin/brokerlab" "$3/bin/pip"
"""


@dataclass
class Repository:
    """A repository of somebody else, on a runner."""

    directory: Path
    inputs: Mapping[str, str] = field(default_factory=dict)

    def run(self) -> tuple[list[int], str]:
        """Runs the action's steps, as a runner does: after a failure only those that always run."""
        codes: list[int] = []
        output = ""
        for step in ACTION["runs"]["steps"]:
            if "run" in step and (not any(codes) or step.get("if") == "always()"):
                done = self._shell(step["run"], {name: self._value(text) for name, text in step["env"].items()})
                codes.append(done.returncode)
                output += done.stdout + done.stderr
        return codes, output

    def _value(self, text: str) -> str:
        found = re.fullmatch(r"\$\{\{ inputs\.([\w-]+) \}\}", text)
        assert found is not None, text
        return str(self.inputs.get(found[1], ACTION["inputs"][found[1]]["default"]))

    def _shell(self, script: str, variables: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        runner = {
            "RUNNER_TEMP": str(self.directory / "temporary"),
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_STEP_SUMMARY": str(self.directory / "shown.md"),
            "HOME": str(self.directory),
            "JAVA_HOME": "/nonexistent",  # where pip installs brokerlab alone there is no Spark
            "PATH": f"{self.directory / 'programs'}:/usr/bin:/bin",
        }
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
            cwd=self.directory, env=runner | dict(variables), capture_output=True, text=True, timeout=200, check=False,
        )  # fmt: skip


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, text in (("python", PYTHON), ("pip", "#!/bin/sh\n"), ("brokerlab", PROGRAM)):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    text = (ROOT / "scenarios" / "line-3.yaml").read_text(encoding="utf-8")
    (tmp_path / "mine.yaml").write_text(text)
    (tmp_path / "limited.yaml").write_text(text.replace("name: line-3", "name: limited") + "expect: {mean: 1us}\n")
    return Repository(tmp_path)


def cases(file: Path) -> list[str]:
    return [case.get("name", "") for case in Xml.parse(file).getroot().iter("testcase")]


@pytest.mark.proof
def test_scenarios_of_ones_own_are_simulated_and_shown(repository: Repository) -> None:
    repository.inputs = {"scenarios": "mine.yaml line-3", "requirement": "brokerlab-1-py3-none-any.whl"}
    codes, output = repository.run()
    assert codes == [0, 0, 0], output
    results = repository.directory / "brokerlab-results"
    assert (repository.directory / "installed").read_text() == "install brokerlab-1-py3-none-any.whl\n"
    assert len(list((results / "runs").glob("*/report/index.html"))) == 2
    assert "base: delivery" in cases(results / "junit-1.xml")
    shown = (repository.directory / "shown.md").read_text()
    assert shown.count("| base: delivery | passed |") == 2


@pytest.mark.proof
def test_a_violation_fails_the_build_and_is_shown(repository: Repository) -> None:
    """The limit on the mean delay is shorter than any link."""
    repository.inputs = {"scenarios": "limited.yaml mine.yaml"}
    codes, output = repository.run()
    assert codes == [0, 1, 0], output
    shown = (repository.directory / "shown.md").read_text()
    assert "**failed**" in shown
    assert "| base: delivery | passed |" in shown, "the second scenario was not run"


@pytest.mark.proof
def test_a_protocol_and_a_campaign_are_run(repository: Repository) -> None:
    protocol = ROOT / "studies" / "protocol_kit" / "reverse_paths.py"
    (repository.directory / "mine.py").write_text(protocol.read_text(encoding="utf-8"))
    campaign = "name: small\nscenario: mine.yaml\nseeds: [1]\nruntime: simulated\n"
    (repository.directory / "small.yaml").write_text(campaign)
    repository.inputs = {"protocols": "mine.py", "campaigns": "small.yaml"}
    codes, output = repository.run()
    assert codes == [0, 0, 0], output
    assert "protocol check mine.py" in output
    assert (repository.directory / "brokerlab-results" / "campaign-1" / "report" / "index.html").is_file()


def test_without_a_file_nothing_passes(repository: Repository) -> None:
    codes, output = repository.run()
    assert codes == [0, 2, 0]
    assert "nothing to run" in output


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [("results", "mine.yaml", "no directory that can be written"), ("on-unjudged", "wran", "write fail or warn")],
)
def test_a_wrong_input_is_no_violation(repository: Repository, name: str, value: str, said: str) -> None:
    repository.inputs = {"scenarios": "line-3", name: value}
    codes, output = repository.run()
    assert codes[:2] == [0, 2]
    assert said in output


@pytest.mark.parametrize(
    ("ends", "unjudged", "expected"),
    [
        ((0, 0), "fail", 0), ((3, 0), "fail", 3), ((3, 0), "warn", 0), ((3, 1), "fail", 1), ((1, 3), "fail", 1),
        ((2, 1), "fail", 1), ((4, 2), "fail", 2), ((1, 5), "fail", 5), ((3, 4), "warn", 4),
    ],
)  # fmt: skip
def test_the_gravest_end_is_the_builds(
    repository: Repository, ends: tuple[int, int], unjudged: str, expected: int
) -> None:
    brokerlab = repository.directory / "programs" / "brokerlab"
    brokerlab.write_text('#!/bin/sh\nexit "$2"\n')
    done = subprocess.run(
        ["bash", ROOT / "setup" / "in_ci.sh"],
        cwd=repository.directory,
        env={
            "PATH": f"{brokerlab.parent}:/usr/bin:/bin",
            "SCENARIOS": " ".join(map(str, ends)),
            "ON_UNJUDGED": unjudged,
        },
        capture_output=True,
        check=False,
    )
    assert done.returncode == expected


def gitlab() -> dict[str, Any]:
    (text,) = re.findall(r"```yaml\n(deliveries:.*?)```", PAGE, re.DOTALL)
    job: dict[str, Any] = yaml.safe_load(text)["deliveries"]
    return job


@pytest.mark.proof
def test_the_gitlab_job_leaves_what_it_says(repository: Repository) -> None:
    job = gitlab()
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", "\n".join(job["script"])],
        cwd=repository.directory,
        env={
            "PATH": f"{repository.directory / 'programs'}:/usr/bin:/bin",
            "HOME": str(repository.directory),
            "JAVA_HOME": "/nonexistent",
            "CI_PROJECT_DIR": str(repository.directory),
            **{name: os.path.expandvars(value) for name, value in job["variables"].items()},
        },
        capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "base: delivery" in cases(repository.directory / job["artifacts"]["reports"]["junit"])
    for kept in job["artifacts"]["paths"]:
        assert list((repository.directory / kept).rglob("index.html"))


def test_the_workflow_gives_the_action_inputs_that_it_has() -> None:
    (text,) = re.findall(r"```yaml\n(name: deliveries\non: \[push\]\njobs:\n  simulated:.*?)```", PAGE, re.DOTALL)
    steps = yaml.safe_load(text)["jobs"]["simulated"]["steps"]
    (given,) = [step["with"] for step in steps if "brokerlab" in step.get("uses", "")]
    assert set(given) <= set(ACTION["inputs"])
