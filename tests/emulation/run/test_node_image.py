"""The image of the broker in Node, built from its own Dockerfile: the verdict on runs of its containers.

A registry's image of Node is not asked for. The base is that of brokerlab's own image, with this host's Node and npm.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import docker
import msgspec
import pytest

from emulation.host import images
from emulation.host.docker_host import docker_client
from emulation.host.images import ImageRecipe

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "examples" / "brokers" / "node"
LIBRARIES = ("libstdc++.so.6", "libgcc_s.so.1")
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
BASE = """\
ARG BASE_IMAGE
FROM ${BASE_IMAGE}
LABEL brokerlab="1"
COPY node /usr/local/bin/
COPY npm /usr/local/lib/node_modules/npm
COPY *.so.* /usr/local/lib/
COPY *.crt /etc/ssl/certs/
RUN ldconfig && ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm
ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt
"""
_FORWARDS = "if (name !== source && wanting.has(name))"
_FORWARDS_MOST = "if (name !== source && wanting.has(name) && message.id.length % 2)"


def _npm_answers() -> bool:
    if not all(map(shutil.which, ("node", "npm"))):
        return False
    return subprocess.run(["npm", "ping"], capture_output=True, check=False, timeout=30).returncode == 0


pytestmark = [
    pytest.mark.container,
    pytest.mark.proof,
    pytest.mark.skipif(
        os.geteuid() != 0
        or not all(map(shutil.which, ("mnexec", "docker", "node", "npm")))
        or not CERTIFICATES.exists(),
        reason="needs root, Docker, Mininet, Node and npm",
    ),
]


@pytest.fixture
def client() -> Iterator[docker.DockerClient]:
    client = docker_client()
    yield client
    client.close()


@pytest.fixture
def base(client: docker.DockerClient, tmp_path: Path) -> str:
    """An image with this host's Node, in place of the one that the Dockerfile names."""
    if not _npm_answers():
        pytest.skip("npm reaches no registry")
    (context := tmp_path / "base").mkdir()
    node = Path(shutil.which("node") or "").resolve()
    shutil.copy(node, context / "node")
    shutil.copytree(Path(shutil.which("npm") or "").resolve().parents[1], context / "npm", symlinks=True)
    listed = subprocess.run(["ldd", str(node)], capture_output=True, text=True, check=True).stdout
    for name, path in (row.split()[0:3:2] for row in listed.splitlines() if row.split()[0] in LIBRARIES):
        shutil.copy(Path(path).resolve(), context / name)
    shutil.copy(CERTIFICATES, context)
    (context / "Dockerfile").write_text(BASE)
    recipe = ImageRecipe(context, context / "Dockerfile")
    return recipe.build(client, "brokerlab-test:node-base", images.base_image(client, lambda _: None)).name


def _verdicts(client: docker.DockerClient, base: str, folder: Path, scenario: str, forwards: str) -> list[str]:
    """The verdicts on a run of the image, whose broker forwards as stated."""
    context = folder / "context"
    shutil.copytree(EXAMPLE, context)
    shutil.copytree(ROOT / "proto", context / "proto")
    tree = context / "wire" / "tree.js"
    assert _FORWARDS in tree.read_text()
    tree.write_text(tree.read_text().replace(_FORWARDS, forwards))
    image = ImageRecipe(context, context / "Dockerfile", network="host").build(client, "brokerlab-test:node", base).name
    (file := folder / scenario).write_text((EXAMPLE / scenario).read_text().replace("my/broker", image))
    command = [sys.executable, "-m", "command_line", "emulate", str(file), "--runtime", "container", "--no-spark"]
    done = subprocess.run(
        [*command, "--no-report", "--out", str(folder / "runs")], cwd=ROOT, capture_output=True, text=True, check=False
    )
    summary = next((folder / "runs").glob("*/summary.json"), None)
    assert summary is not None, done.stdout + done.stderr
    (variant,) = msgspec.json.decode(summary.read_bytes())["variants"]
    found: list[str] = variant["delivery"]["verdicts"]
    return found


@pytest.mark.parametrize(
    ("scenario", "forwards", "verdict"),
    [
        ("smoke.yaml", _FORWARDS, "correct"),
        ("mixed.yaml", _FORWARDS, "correct"),
        ("mixed.yaml", _FORWARDS_MOST, "lost"),
    ],
)
def test_the_verdict_on_containers_of_a_broker_in_node(
    client: docker.DockerClient, base: str, tmp_path: Path, scenario: str, forwards: str, verdict: str
) -> None:
    assert _verdicts(client, base, tmp_path, scenario, forwards) == [verdict]
