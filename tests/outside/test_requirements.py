"""Requirements of a protocol from outside: read without running it, named where they are missing, and in an image."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import docker
import pytest

from broker_service.routing.outside import ProtocolError
from broker_service.routing.registry import found_protocol, requirements_of
from broker_service.routing.requirements import requirements_at
from emulation.host.docker_host import docker_client, ensure_image
from emulation.host.protocol_image import REPOSITORY, image_for
from record.exit_codes import ExitCode
from tests.outside.flooding import SOURCE

ROOT = Path(__file__).resolve().parents[2]
WHEEL = "brokerlab_trial-1.5-py3-none-any.whl"
SCENARIO = """
name: required
topology: {kind: line, brokers: 2}
routing: {protocol: ./mine.py}
workload:
  operations:
    - {at: 0s, client: P, broker: B1, id: a, advertise: "[class,eq,'STOCK']"}
    - {at: 0s, client: S, broker: B2, id: s, subscribe: "[class,eq,'STOCK']"}
    - {at: 3s, client: P, broker: B1, id: p1, publish: "[class,'STOCK']"}
timeline: {join: 2s, run: 2s, drain: 1s}
"""


def block(*dependencies: str) -> str:
    return f"# /// script\n# dependencies = {list(dependencies)}\n# ///\n".replace("'", '"')


def protocol(directory: Path, head: str, name: str = "mine.py") -> Path:
    path = directory / name
    path.write_text(head + SOURCE)
    return path


def wheel(directory: Path) -> Path:
    """A package that nobody else has: `brokerlab_trial`, whose `ANSWER` is 42."""
    path = directory / WHEEL
    about = "brokerlab_trial-1.5.dist-info"
    files = {
        "brokerlab_trial.py": "ANSWER = 42\n",
        f"{about}/METADATA": "Metadata-Version: 2.1\nName: brokerlab-trial\nVersion: 1.5\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{name},,\n" for name in (*files, f"{about}/RECORD"))
    with zipfile.ZipFile(path, "w") as packed:
        for name, content in {**files, f"{about}/RECORD": record}.items():
            packed.writestr(name, content)
    return path


def test_a_device_is_not_read() -> None:
    """Reading one might never end."""
    assert requirements_at("/dev/zero") == ()
    with pytest.raises(ProtocolError, match="there is no file /dev/zero"):
        found_protocol("/dev/zero")


def test_a_file_names_them_in_a_block_of_comments(tmp_path: Path) -> None:
    path = protocol(tmp_path, block("msgspec>=0.18", "Sorted_Containers[fast] >= 2", f"wheels/{WHEEL}", "brokerlab"))
    first, second, third = requirements_at(str(path))
    assert (first.name, first.extras, second.name, second.extras) == ("msgspec", "", "sorted-containers", "[fast]")
    assert (third.name, third.file) == ("brokerlab-trial", tmp_path / "wheels" / WHEEL)
    assert first.version is not None
    assert second.version is None


def test_a_package_names_them_in_its_first_module(tmp_path: Path) -> None:
    package = tmp_path / "packaged"
    package.mkdir()
    protocol(package, block("msgspec"), "__init__.py")
    assert [requirement.name for requirement in requirements_of(str(package))] == ["msgspec"]


def test_other_protocols_have_none(tmp_path: Path) -> None:
    assert requirements_of("tid") == requirements_of(str(protocol(tmp_path, ""))) == ()


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        (
            block("nobody-has-this>=2", "msgspec", "nor-this") + "import nobody_has_this\n",
            r"{path} needs nobody-has-this>=2, nor-this, which this Python does not have; install it by "
            r"`pip install 'nobody-has-this>=2' 'nor-this'`",
        ),
        ("# /// script\n# dependencies = [\n# ///\n", "{path}: its block `# /// script` is no TOML: "),
        (
            "# /// script\n# dependencies = 'msgspec'\n# ///\n",
            "{path}: `dependencies` is no list of texts in its block",
        ),
        (block("=2"), "{path}: '=2' is no requirement; write it as `sortedcontainers>=2.4`"),
    ],
)
def test_mistakes_are_named_in_one_sentence(tmp_path: Path, head: str, reason: str) -> None:
    path = protocol(tmp_path, head)
    with pytest.raises(ProtocolError) as caught:
        found_protocol(str(path))
    assert str(caught.value).startswith(reason.format(path=path))


@pytest.mark.container
def test_an_image_is_built_once_for_equal_requirements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client, lines = docker_client(), list[str]()
    base = ensure_image(client).name
    monkeypatch.syspath_prepend(wheel(tmp_path))
    mine = str(protocol(tmp_path, block(f"./{WHEEL}")))
    made = image_for(client, base, mine, lines.append)
    try:
        assert made.startswith(f"{REPOSITORY}:")
        assert lines == [f"building the image {made}: the broker image with {WHEEL}"]
        protocol(tmp_path, block(f"./{WHEEL}") + "# another line\n", "other.py")
        assert image_for(client, base, str(tmp_path / "other.py"), lines.append) == made
        assert len(lines) == 1
        assert _said_in(client, made, "import brokerlab_trial, msgspec; print(brokerlab_trial.ANSWER)") == "42"
        assert image_for(client, base, "tid", lines.append) == base
    finally:
        client.images.remove(made)
        client.close()


@pytest.mark.proof
@pytest.mark.container
@pytest.mark.skipif(
    os.geteuid() != 0 or not all(map(shutil.which, ("mnexec", "docker"))), reason="needs root, Docker and Mininet"
)
def test_brokers_in_containers_have_what_their_protocol_needs(tmp_path: Path) -> None:
    protocol(tmp_path, block(f"./{WHEEL}") + "import brokerlab_trial\n")
    (tmp_path / "scenario.yaml").write_text(SCENARIO)
    command = ["emulate", tmp_path / "scenario.yaml", "--runtime", "container", "--no-spark", "--no-report"]
    done = subprocess.run(
        [sys.executable, "-m", "command_line", *map(str, command), "--out", tmp_path / "runs"],
        cwd=ROOT, capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONPATH": str(wheel(tmp_path))},
    )  # fmt: skip
    client = docker_client()
    try:
        assert done.returncode in {ExitCode.CORRECT, ExitCode.INVALID}, done.stdout + done.stderr
        assert "1 published; 1 notification delivered" in done.stdout
    finally:
        for line in done.stdout.splitlines():
            if line.startswith("building the image "):
                client.images.remove(line.split()[3].rstrip(":"))
        client.close()


def _said_in(client: docker.DockerClient, image: str, program: str) -> str:
    output: bytes = client.containers.run(image, ["python", "-c", program], remove=True, network_disabled=True)
    return output.decode().strip()
