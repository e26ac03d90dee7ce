"""A program that breaks its contract is a defect of the broker, told in one sentence."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from broker_service.messages import Operation
from broker_service.routing.program import channel as pipe
from broker_service.routing.program.channel import Channel, ProgramError
from broker_service.routing.program.lines import Declare, Index
from broker_service.routing.program.references import argv_of, reference_to
from record.errors import BrokerDefectError, ProtocolCodeError
from tests.broker_service.overlay import CoreOverlay
from tests.broker_service.routing.stocks import above

BEGINNING = """\
import json, sys, time
def say(said):
    sys.stdout.write(json.dumps(said) + "\\n")
    sys.stdout.flush()
for line in sys.stdin:
    call = json.loads(line)
    name = call["call"]
    if name == "declare":
        say({"declaration": {"contract": 1}})
    elif name != "subscribe":
        say({"actions": []})
    else:
"""
"""A program that does as it should, until a client subscribes."""

WRONG: Mapping[str, tuple[str, str]] = {
    "exit": ("sys.exit(3)", "ended with exit code 3 (call 'subscribe')"),
    "last words": ("sys.exit('no such table')", "its standard error says: no such table"),
    "signal": ("import os; os.kill(os.getpid(), 9)", "ended by SIGKILL (call 'subscribe')"),
    "garbage": ("print('hello', flush=True)", "wrote 'hello': JSON is malformed"),
    "another field": ("say({'action': []})", "Object contains unknown field `action`"),
    "nothing of it": ("say({})", "which must have one of actions, ask"),
    "a list": ("say([])", "Expected `object`, got `array`"),
    "silence": ("time.sleep(60)", "did not answer within 0.2 s (call 'subscribe')"),
    "a long line": ("print('x' * (17 << 20), flush=True)", "wrote a line of more than 16 MiB (call 'subscribe')"),
    "a foreign action": ("say({'actions': [{'do': 'jump'}]})", "Invalid value 'jump'"),
    "a lone message": (
        "say({'actions': [{'do': 'deliver', 'clients': [], 'message': {'same': 0}}]})",
        "it names message 0 of a call with 0",
    ),
    "an undeclared capability": (
        "say({'actions': [{'do': 'erase', 'key': 'k'}]})",
        "the action 'erase' needs the capability 'storage', which was not declared",
    ),
    "no actions": ("say({'tables': {}})", "the program's answer to call 'subscribe' is unfit: it has no `actions`"),
    "an unknown key": ("say({'tell': {'of': 'unindex', 'key': 'k'}})", "is unfit: 'k'"),
}  # fmt: skip


def _overlay(script: str, folder: Path) -> CoreOverlay:
    file = folder / "router.py"
    file.write_text(script)
    return CoreOverlay([("A", "B")], protocol=reference_to([sys.executable, str(file)]))


def _subscribe(overlay: CoreOverlay) -> None:
    if "A1" not in overlay.sessions:
        overlay.attach("A1", "A")
    overlay.subscribe("A1", "s1", above(0))


@pytest.mark.parametrize("wrong", WRONG)
def test_one_sentence_says_what_is_wrong(wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done, sentence = WRONG[wrong]
    overlay = _overlay(f"{BEGINNING}        {done}\n", tmp_path)
    overlay.attach("A1", "A")
    if wrong == "silence":
        monkeypatch.setattr(pipe, "ANSWER_WITHIN", 0.2)
    with pytest.raises(BrokerDefectError) as caught:
        _subscribe(overlay)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_two_answers_are_noticed_at_the_next_call(tmp_path: Path) -> None:
    overlay = _overlay(f"{BEGINNING}        say({{'actions': []}}); say({{'actions': []}})\n", tmp_path)
    with pytest.raises(BrokerDefectError, match="before the call"):
        for _ in range(100):
            _subscribe(overlay)
            overlay.request("A1", Operation.UNSUBSCRIBE, "s1")


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ("print('ready', flush=True); input()", "wrote 'ready"),
        ("", "ended with exit code 0 (call 'declare')"),
        ('input(); print(\'{"declaration": {"contract": 2}}\')', "keeps contract 2; this is contract 1"),
        ("input(); print('{\"actions\": []}')", "has no `declaration`"),
    ],
)
def test_a_program_that_does_not_declare_itself_is_named(script: str, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(ProtocolCodeError) as caught:
        _overlay(script, tmp_path)
    assert sentence in str(caught.value)


def test_output_before_the_first_call_is_refused() -> None:
    channel = Channel([sys.executable, "-c", "print('ready', flush=True); input(); input()"])
    channel._poll.poll(10_000)
    with pytest.raises(ProgramError, match="wrote 'ready' before the call"):
        channel.call(Declare(), lambda said: None)
    channel.close()


def test_a_program_that_cannot_be_started_is_named() -> None:
    with pytest.raises(ProgramError, match="/no/such/router cannot be started: No such file"):
        Channel(["/no/such/router"])


def test_a_program_ends_with_its_channel() -> None:
    channel = Channel([sys.executable, "-c", "import sys; [print('{\"actions\":[]}', flush=True) for _ in sys.stdin]"])
    channel.call(Index(), lambda said: None)
    process = channel._process
    channel.close()
    assert process.returncode == 0
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)


@pytest.mark.parametrize("reference", ["program:", "program:{}", "program:[]", "program:[1]"])
def test_what_is_no_reference_is_refused(reference: str) -> None:
    with pytest.raises(ValueError, match="program"):
        argv_of(reference)
