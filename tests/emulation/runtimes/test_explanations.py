"""Messages for users when the host refuses."""

from __future__ import annotations

import docker.errors
import pytest

from emulation.runtimes.containers import docker_errors, explain
from emulation.runtimes.interface import Ending
from record.errors import HostError


@pytest.mark.parametrize(
    ("refusal", "remedy"),
    [
        ('Conflict. The container name "/x" is already in use by container "abc".', "brokerlab clean"),
        ("write /var/lib/docker: no space left on device", "Make room"),
    ],
)
def test_known_refusals_come_with_a_remedy(refusal: str, remedy: str) -> None:
    error = docker.errors.APIError("500 Server Error", explanation=refusal)  # type: ignore[no-untyped-call]
    assert refusal.rstrip(".") in explain(error)
    assert remedy in explain(error)


@pytest.mark.parametrize(
    "problem", ["executable file not found in $PATH: unknown", "stat /x: no such file or directory: unknown"]
)
def test_a_program_that_the_image_lacks_is_named_and_nothing_of_how_containers_start(problem: str) -> None:
    refusal = f'failed to create shim task: OCI runtime create failed: unable to start container: exec: "/x": {problem}'
    error = docker.errors.APIError("400 Client Error", explanation=refusal)  # type: ignore[no-untyped-call]
    assert explain(error) == "there is no program /x in its image; correct its `command`"


def test_a_missing_image_says_how_to_build_it() -> None:
    with pytest.raises(HostError, match="make image"), docker_errors("start container c1"):
        raise docker.errors.ImageNotFound("404")  # type: ignore[no-untyped-call]


def test_other_errors_pass_unchanged() -> None:
    with pytest.raises(KeyError), docker_errors("start container c1"):
        raise KeyError("a fault of our own")


@pytest.mark.parametrize(
    ("ending", "text"),
    [
        (
            Ending("B1", 1, ("Traceback", "OSError: port taken")),
            "broker B1 ended with exit code 1: OSError: port taken",
        ),
        (Ending("B1", -9, ()), "broker B1 got signal 9 without output"),
        (Ending("B1", None, ()), "broker B1 ended without output"),
    ],
)
def test_an_ending_reads_as_a_sentence(ending: Ending, text: str) -> None:
    assert str(ending) == text
