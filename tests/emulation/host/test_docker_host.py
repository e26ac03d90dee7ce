"""The broker image: named after its content, usable by an unprivileged broker."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import docker
import pytest

from emulation.host import images
from emulation.host.docker_host import LATEST, docker_client, ensure_image, find_image, image_reference
from record.errors import HostError

HARDENED: dict[str, Any] = {
    "read_only": True,
    "cap_drop": ["ALL"],
    "security_opt": ["no-new-privileges"],
    "network_mode": "none",
    "remove": True,
}


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of what the image is made from, which tests may change."""
    for name in ("Dockerfile", ".dockerignore", "pyproject.toml", "constraints.txt"):
        shutil.copy(images.ROOT / name, tmp_path / name)
    for name in ("setup", "broker_service", "brokerlab", "record"):
        shutil.copytree(images.ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(images, "ROOT", tmp_path)
    monkeypatch.delenv("BASE_IMAGE", raising=False)
    return tmp_path


def _append(name: str) -> Callable[[Path], None]:
    def change(tree: Path) -> None:
        with (tree / name).open("a") as file:
            file.write("\n# changed\n")

    return change


@pytest.mark.parametrize(
    "name", ["Dockerfile", ".dockerignore", "constraints.txt", "broker_service/core/broker.py", "record/log.py"]
)
def test_another_input_is_another_image(tree: Path, name: str) -> None:
    before = image_reference()
    _append(name)(tree)
    assert image_reference() != before


def test_a_renamed_module_is_another_image(tree: Path) -> None:
    before = image_reference()
    (tree / "broker_service/core/broker.py").rename(tree / "broker_service/renamed.py")
    assert image_reference() != before


def test_what_a_broker_does_not_import_leaves_the_image_alone(tree: Path) -> None:
    before = image_reference()
    project = (tree / "pyproject.toml").read_text()
    (tree / "pyproject.toml").write_text(project.replace("line-length = 120", "line-length = 100"))
    (tree / "broker_service/generated/broker_pb2.pyi").touch()
    (tree / "broker_service/__pycache__").mkdir()
    assert image_reference() == before
    (tree / "pyproject.toml").write_text(project.replace('"msgspec", ', ""))
    assert image_reference() != before


def test_another_base_is_another_image(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = image_reference()
    monkeypatch.setenv("BASE_IMAGE", "debian:bookworm")
    assert image_reference() != before


def test_missing_generated_code_is_named(tree: Path) -> None:
    shutil.rmtree(tree / "broker_service/generated")
    with pytest.raises(HostError, match="make proto"):
        image_reference()


def test_a_dockerfile_without_a_base_is_named(tree: Path) -> None:
    (tree / "Dockerfile").write_text("FROM scratch\n")
    with pytest.raises(HostError, match="ARG BASE_IMAGE"):
        images.pinned_base()


def test_a_daemon_that_does_not_answer_is_told_with_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    with pytest.raises(HostError) as failure:
        docker_client()
    assert str(failure.value) == (
        f"Docker does not answer ({tmp_path}/nobody.sock: No such file or directory); start it with `make setup`, "
        "or use the process runtime"
    )


def test_a_daemon_that_one_may_not_speak_to_is_no_matter_of_set_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> docker.DockerClient:
        try:
            raise PermissionError(13, "Permission denied")
        except PermissionError as error:
            raise docker.errors.DockerException("Error while fetching server API version") from error

    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setattr(docker, "from_env", refuse)
    with pytest.raises(HostError, match=r"\(/var/run/docker.sock: Permission denied\); run this as root, or with sudo"):
        docker_client()


@pytest.fixture
def client() -> Iterator[docker.DockerClient]:
    client = docker_client()
    yield client
    client.close()


@pytest.mark.container
def test_an_image_is_built_once(client: docker.DockerClient) -> None:
    built = ensure_image(client)
    steps: list[str] = []
    again = ensure_image(client, steps.append)
    assert again == built == find_image(client)
    assert steps == []
    assert built.identifier is not None
    assert client.images.get(LATEST).id == client.images.get(image_reference().name).id


@pytest.mark.container
def test_the_image_runs_a_broker_without_privileges_or_compiling(client: docker.DockerClient) -> None:
    program = """
import os, sys
import broker_service.__main__
assert os.getuid() == os.getgid() == 10001, (os.getuid(), os.getgid())
cached = {name: getattr(module, "__cached__", None) for name, module in sys.modules.items()}
print([name for name, path in cached.items() if path and not os.path.exists(path)])
"""
    output = client.containers.run(ensure_image(client).name, ["python", "-c", program], **HARDENED)
    assert output == b"[]\n"


@pytest.mark.container
def test_the_image_serves_as_a_sandbox_in_little_memory(client: docker.DockerClient) -> None:
    output = client.containers.run(ensure_image(client).name, ["sleep", "0"], mem_limit="16m", pids_limit=4, **HARDENED)
    assert output == b""


@pytest.mark.container
def test_a_base_that_cannot_be_had_is_named(client: docker.DockerClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BASE_IMAGE", "brokerlab-no-such-base:1")
    with pytest.raises(HostError, match="brokerlab-no-such-base:1"):
        ensure_image(client)


@pytest.mark.container
def test_images_of_former_trees_do_not_pile_up(client: docker.DockerClient) -> None:
    """On names of the test's own for the real image, whose real names must stay."""
    real = ensure_image(client).name
    image = client.images.get(real)
    repository, kept = "brokerlab-test-former-trees", 5

    def names() -> set[str]:
        image.reload()
        return {name for name in image.tags if name.startswith(f"{repository}:")}

    try:
        for tag in ("present", "latest", *(f"former{number}" for number in range(kept + 3))):
            image.tag(repository, tag)
        images.remove_former(client, f"{repository}:present", kept)
        assert names() > {f"{repository}:present", f"{repository}:latest"}
        assert len(names()) == 2 + kept
        assert real in image.tags
    finally:
        for name in names():
            client.images.remove(name)


MOST_ADDED = 96_500_000
"""Bytes of the broker and its packages in the image, beside its base."""


@pytest.mark.container
def test_the_image_holds_only_what_brokers_load(client: docker.DockerClient) -> None:
    name = ensure_image(client).name
    base = images.base_image(client, lambda _: None)
    assert client.images.get(name).attrs["Size"] - client.images.get(base).attrs["Size"] <= MOST_ADDED
    program = """
import pathlib
found = {path.suffix for path in pathlib.Path("/opt/brokerlab").rglob("*")}
print(sorted(found & {".a", ".c", ".h", ".pxd", ".pyi", ".pyx"}))
"""
    assert client.containers.run(name, ["python", "-c", program], **HARDENED) == b"[]\n"
