"""The environment of brokers and drivers: what they need, and no secret of the user."""

from __future__ import annotations

from emulation.host.environment import environment_of_node


def test_secrets_of_the_user_are_left_out_and_what_python_needs_is_kept() -> None:
    given = {
        "PATH": "/bin",
        "LC_ALL": "C",
        "PYTHONDONTWRITEBYTECODE": "1",
        "BROKERLAB_PROOF": "1",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "GITHUB_TOKEN": "secret",
        "SSH_AUTH_SOCK": "/tmp/agent",
        "HOME": "/root",
        "PYTHONPATH": "/elsewhere",
    }
    kept = environment_of_node("run-1", given)
    needed = {"PATH", "LC_ALL", "PYTHONDONTWRITEBYTECODE", "BROKERLAB_PROOF"}
    assert kept.keys() == needed | {"BROKERLAB_RUN", "PYTHONPATH"}
    assert kept["BROKERLAB_RUN"] == "run-1"
    assert "secret" not in kept.values()
    assert kept["PYTHONPATH"] != "/elsewhere"
