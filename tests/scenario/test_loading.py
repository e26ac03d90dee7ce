"""From YAML to a scenario: what comes out, and what is said of what cannot."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from scenario.loading import load
from scenario.model import Scenario
from scenario.yaml_files.errors import ScenarioError
from topology.files import save
from topology.links import Range

GOOD = """\
name: small
topology:
  kind: ring
  brokers: 4
  link: {delay: 5ms, bandwidth: 10mbit}
routing: {protocol: tid, publications: fixed}
workload:
  publications:
    publishers: 2
    rate: 60/min
  subscriptions:
    subscribers: 3
    selectivity: 2%
timeline: {join: 2s, run: 10s}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "s.yaml"
    path.write_text(GOOD)
    return path


def error(file: Path, text: str, **overrides: str) -> str:
    """The error of loading this text, without the file's directory."""
    file.write_text(text)
    with pytest.raises(ScenarioError) as raised:
        load(file, overrides)
    return str(raised.value).replace(f"{file.parent}/", "")


def test_values_and_defaults(file: Path) -> None:
    scenario = load(file)
    assert scenario.name == "small"
    assert scenario.topology.link.delay == Range.fixed(0.005)
    assert scenario.topology.link.bandwidth == Range.fixed(1e7)
    assert scenario.routing.protocol == "tid"
    assert scenario.routing.options == {"publications": "fixed"}
    assert scenario.workload.publications is not None
    assert scenario.workload.publications.rate == Range.fixed(1.0)
    assert (scenario.timeline.drain, scenario.seed) == (5.0, 0)
    assert scenario.timeline.duration == 17


# ruff: noqa: E501 - a message stands on one line
REPLACEMENTS = {
    "unknown field": (("    publishers: 2", "    publisher: 2"), "s.yaml:9: workload.publications.publisher: "
                      "unknown field 'publisher'; did you mean 'publishers'?"),
    "unknown section": (("name: small", "name: small\nfailing: []"), "s.yaml:2: failing: unknown field 'failing'; there are "
                        "brokers, clients, description, expect, faults, logs, motion, name, routing, search, seed, time_dilation, timeline, topology, "
                        "vary, workload"),
    "wrong unit": (("rate: 60/min", "rate: 60Hz"), "s.yaml:10: workload.publications.rate: unknown unit 'Hz' in '60Hz': "
                   "write a message rate with one of /s, /min, /h"),
    "no unit": (("run: 10s", "run: 10"), "s.yaml:14: timeline.run: a unit is missing in 10: "
                "write a duration with one of s, ms, us, ns, min, h"),
    "missing": (("timeline: {join: 2s, run: 10s}", "timeline: {run: 10s}"), "s.yaml:14: timeline.join: "
                "this field is required"),
    "missing section": (("timeline: {join: 2s, run: 10s}", ""), "s.yaml:1: timeline: this field is required"),
    "unknown kind": (("kind: ring", "kind: rings"), "s.yaml:2: topology: unknown kind 'rings'; did you mean 'ring'?"),
    "no kind": (("  kind: ring\n", ""), "s.yaml:2: topology: the field 'kind' is required"),
    "not a number": (("brokers: 4", "brokers: four"), "s.yaml:4: topology.brokers: must be a valid integer, not 'four'"),
    "not above zero": (("brokers: 4", "brokers: 0"), "s.yaml:4: topology.brokers: must be greater than or equal to 1, "
                       "not 0"),
    "not a mapping": (("{join: 2s, run: 10s}", "12s"), "s.yaml:14: timeline: must be a mapping of fields, not '12s'"),
    "not one of": (("selectivity: 2%", "popularity: most"), "s.yaml:13: workload.subscriptions.popularity: "
                   "must be 'zipf' or 'uniform', not 'most'"),
    "word or list": (("selectivity: 2%", "placement: near"), "s.yaml:13: workload.subscriptions.placement: "
                     "must be 'uniform' or 'spread', not 'near'"),
    "list or word": (("selectivity: 2%", "placement: [B1, 2]"), "s.yaml:13: workload.subscriptions.placement[1]: "
                     "must be a valid string, not 2"),
    "source": (("    publishers: 2", "    publishers: 2\n    source: {file: q.csv, form: csv}"), "s.yaml:10: "
               "workload.publications.source.form: unknown field 'form'; did you mean 'format'?"),
    "bad name": (("name: small", "name: a/b"), "s.yaml:1: name: 'a/b' is not a name; "
                 "use letters, digits and any of _.+- (a letter or digit first)"),
    "impossible overlay": (("brokers: 4", "brokers: 2"), "s.yaml:2: topology: a ring needs at least 3 brokers, not 2"),
    "unknown protocol": (("protocol: tid", "protocol: tit"), "s.yaml:6: routing.protocol: unknown routing protocol 'tit'; "
                         "did you mean 'tid'?"),
    "unknown option": (("publications: fixed", "publication: fixed"), "s.yaml:6: routing.publication: "
                       "the protocol tid has no option 'publication'; did you mean 'publications'?"),
    "bad option": (("publications: fixed", "publications: fixes"), "s.yaml:6: routing.publications: "
                   "unknown value 'fixes'; did you mean 'fixed'?"),
    "bad time": (("publications: fixed", "status_interval: 0.0"), "s.yaml:6: routing: "
                 "status_interval must be more than 0"),
    "placement": (("selectivity: 2%", "placement: [B1, B9]"), "s.yaml:13: workload.subscriptions.placement[1]: "
                  "the overlay has no broker 'B9'; there are B1, B2, B3, B4"),
    "advertising too long": (("timeline: {join: 2s, run: 10s}", "timeline: {join: 2s, run: 10s, advertise: 1h}"), "s.yaml:14: "
                             "timeline: advertise must be half of join (1 s) at most"),
    "advertising in a mix": (("timeline: {join: 2s, run: 10s}", "timeline: {join: 2s, run: 10s, join_order: mixed, advertise: 1s}"), "s.yaml:14: "
                             "timeline: advertise is for join_order: advertisements-first; remove it"),
    "subscribing too long": (("timeline: {join: 2s, run: 10s}", "timeline: {join: 2s, run: 10s, subscribe: 1s}"), "s.yaml:14: "
                             "timeline: subscribe must be three tenths of join (0.6 s) at most"),
    "subscribing in a mix": (("timeline: {join: 2s, run: 10s}", "timeline: {join: 2s, run: 10s, join_order: mixed, subscribe: 1s}"), "s.yaml:14: "
                             "timeline: subscribe is for join_order: advertisements-first; remove it"),
    "no rate": (("rate: 60/min", "rate: 0"), "s.yaml:8: workload.publications: rate must be more than 0"),
    "no such publisher": (("rate: 60/min", "rate: 60/min\n    individually: {P3: {joins: 1s}}"), "s.yaml:8: "
                          "workload.publications: individually: P3 is not one of the publishers P1 to P2"),
    "no such own broker": (("rate: 60/min", "rate: 60/min\n    individually: {P2: {broker: B7}}"), "s.yaml:11: "
                           "workload.publications.individually.P2.broker: the overlay has no broker 'B7'; there are B1, B2, B3, B4"),
    "silent": (("rate: 60/min", "rate: 60/min\n    individually: {P2: {rate: 0/min}}"), "s.yaml:11: "
               "workload.publications.individually.P2: rate must be more than 0, unless it is 0 and there are `bursts`"),
    "burst too long": (("rate: 60/min", "rate: 60/min\n    individually: {P2: {bursts: [{at: 5s, publications: 100, rate: 10/s}]}}"),
                       "s.yaml:11: workload.publications.individually.P2.bursts[0]: lasts until 15 s, beyond the run phase of 10 s: "
                       "start it sooner"),
    "follows nobody": (("selectivity: 2%", "followers: [{of: P9, subscribers: 1}]"), "s.yaml:7: workload: "
                       "subscriptions.followers: P9 is not one of the publishers P1 to P2"),
    "too many followers": (("selectivity: 2%", "followers: [{of: P1, subscribers: 4}]"), "s.yaml:11: workload.subscriptions: "
                           "there are 4 followers, but only 3 subscribers"),
    "too many symbols": (("selectivity: 2%", "followers: [{of: P1, subscribers: 1, symbols: 3}]"), "s.yaml:7: workload: "
                         "subscriptions.followers: there are no more than 2 symbols"),
    "follower's broker": (("selectivity: 2%", "followers: [{of: P1, subscribers: 1, placement: [B7]}]"), "s.yaml:13: "
                          "workload.subscriptions.followers[0].placement[0]: the overlay has no broker 'B7'; there are B1, B2, B3, B4"),
    "leaves too early": (("rate: 60/min", "rate: 60/min\n    individually: {P2: {joins: 3s, leaves: 1s}}"), "s.yaml:11: "
                         "workload.publications.individually.P2: leaves (1 s) is before joins (3 s)"),
    "joins too late": (("rate: 60/min", "rate: 60/min\n    individually: {P2: {joins: 10s}}"), "s.yaml:11: "
                       "workload.publications.individually.P2.joins: after the run phase, which lasts 10 s"),
    "no name": (("name: small", "name: ''"), "s.yaml:1: name: must not be empty"),
    "three brokers": (("routing:", "motion: {kind: script, changes: [{at: 1s, vanish: [B1, B2, B3]}]}\nrouting:"), "s.yaml:6: "
                      "motion.changes[0].vanish: takes 2 at most, got ['B1', 'B2', 'B3']"),
    "vary": (("name: small", "vary: {routing.publications: [fixed, mixed]}\nname: small"), "s.yaml:1: "
             "vary.routing.publications: variant mixed: unknown value 'mixed'; did you mean 'fixed'?"),
    "vary a unit": (("name: small", "vary:\n  timeline.run: [5s, 5]\nname: small"), "s.yaml:2: vary.timeline.run: "
                    "variant 5: timeline.run: a unit is missing in 5: write a duration with one of s, ms, us, ns, min, h"),
    "vary twice the same": (("name: small", "vary:\n  seed: [1, 1]\nname: small"), "s.yaml:1: vary: "
                            "two variants would be called '1'; let their values differ"),
    "vary without values": (("name: small", "vary: {seed: 5}\nname: small"), "s.yaml:1: vary: seed needs values: "
                            "a list `[first, second]`, or `{name: first, other: second}`"),
    "vary by a bad name": (("name: small", "vary: {seed: {a+b: 5}}\nname: small"), "s.yaml:1: vary: "
                           "seed: 'a+b' cannot be part of a variant's name: use letters, digits, _, . and -"),
    "vary the name": (("name: small", "name: small\nvary: {name: [a, b]}"), "s.yaml:2: vary: name cannot vary; leave it out of `vary`"),
    "twice": (("name: small", "name: small\nname: big"), "s.yaml:2: field 'name' appears twice; the first is on line 1"),
    "bad YAML": (("{join: 2s, run: 10s}", "{join: 2s, run: 10s"), "s.yaml:14: not valid YAML: "
                 "while parsing a flow mapping, did not find expected ',' or '}'"),
    "tag": (("name: small", "name: !!python/name:os.system small"), "s.yaml:1: "
            "YAML tag !!python/name:os.system is not supported"),
    "merge": (("name: small", "<<: {a: 1}\nname: small"), "s.yaml:1: merge keys (<<) are not supported; "
              "write the fields out"),
}  # fmt: skip


@pytest.mark.parametrize("case", REPLACEMENTS)
def test_messages(file: Path, case: str) -> None:
    (old, new), message = REPLACEMENTS[case]
    assert old in GOOD
    assert error(file, GOOD.replace(old, new, 1)) == message


def test_every_mistake_is_told(file: Path) -> None:
    text = GOOD.replace("brokers: 4", "brokers: 0").replace("60/min", "60").replace("run: 10s", "run: 1x")
    assert [line.split(" ")[0] for line in error(file, text).splitlines()] == ["s.yaml:4:", "s.yaml:10:", "s.yaml:14:"]


def test_a_protocols_times_may_have_units(file: Path) -> None:
    file.write_text(GOOD.replace("publications: fixed", "status_interval: 20ms, reconcile_after: 3"))
    assert load(file).routing.options == {"status_interval": 0.02, "reconcile_after": 3}
    output = error(file, GOOD.replace("publications: fixed", "status_interval: 20 parsecs"))
    assert output.startswith("s.yaml:6: routing: status_interval: unknown unit 'parsecs'")


@pytest.mark.parametrize(
    ("other", "command"),
    [("campaigns/smoke.yaml", "campaign"), ("tests/conformance/lines.json", "conformance")],
)
def test_a_file_of_another_kind_is_sent_to_its_command(other: str, command: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        load(Path(other))
    assert str(raised.value) == f"{other}:1: not a scenario; give it to `brokerlab {command}`"


def test_what_is_no_scenario(file: Path) -> None:
    assert error(file, "") == ("s.yaml: empty; a scenario needs at least a name, a topology, routing and a workload")
    assert error(file, "- 1\n") == "s.yaml:1: a scenario is a mapping of fields such as name, topology and workload"
    with pytest.raises(ScenarioError, match=r"none\.yaml: cannot be read: No such file or directory"):
        load(file.parent / "none.yaml")
    with pytest.raises(ScenarioError, match="cannot be read: Is a directory"):
        load(file.parent)


def test_hostile_files_are_refused(file: Path) -> None:
    bomb = "a: &a [1, 2, 3, 4, 5, 6, 7, 8, 9]\n"
    for name, inner in zip("bcdefgh", "abcdefg", strict=True):
        bomb += f"{name}: &{name} [{', '.join([f'*{inner}'] * 9)}]\n"
    assert "more than 200,000 values" in error(file, bomb)
    assert "nested" in error(file, "a: &a [*a]\n")
    assert "nested" in error(file, "[" * 100_000)
    assert "larger than the 4 MiB" in error(file, "#" * (5 << 20))
    file.write_bytes(b"name: small\nx: \xff\n")
    with pytest.raises(ScenarioError, match=r"s\.yaml:2: not UTF-8 text"):
        load(file)


def test_aliases_may_be_used(file: Path) -> None:
    file.write_text(GOOD.replace("join: 2s, run: 10s", "join: &t 3s, run: *t"))
    assert load(file).timeline.run == 3


def test_overrides(file: Path) -> None:
    scenario = load(file, {"routing.publications": "dynamic", "topology.brokers": "6", "brokers.limits.window": "7",
                           "workload.subscriptions.placement": "[B6]"})  # fmt: skip
    assert scenario.routing.options == {"publications": "dynamic"}
    assert len(scenario.overlay().brokers) == 6
    assert scenario.brokers.limits.limits().window == 7
    assert scenario.workload.subscriptions is not None
    assert scenario.workload.subscriptions.placement == ("B6",)


def test_an_override_replaces_what_would_vary(file: Path) -> None:
    file.write_text(GOOD + "vary: {routing.publications: [fixed, dynamic], seed: [1, 2]}\n")
    assert [variant.name for variant in load(file).variants()] == ["fixed+1", "fixed+2", "dynamic+1", "dynamic+2"]
    scenario = load(file, {"routing.publications": "dynamic"})
    assert [variant.name for variant in scenario.variants()] == ["1", "2"]
    assert {variant.scenario.routing.options["publications"] for variant in scenario.variants()} == {"dynamic"}


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("timeline.run", "10", "--set timeline.run=10: a unit is missing in 10: write a duration with one of "
         "s, ms, us, ns, min, h"),
        ("timeline.runs", "10s", "--set timeline.runs=10s: unknown field 'runs'; did you mean 'run'?"),
        ("name.x", "1", "--set name.x=1: name is the value 'small' and has no field 'x'"),
        ("topology", "{kind: line, brokers: x}", "--set topology={kind: line, brokers: x}: topology.brokers: "
         "must be a valid integer, not 'x'"),
        ("vary", "{vary.seed: [1]}", "--set vary={vary.seed: [1]}: vary.seed cannot vary; leave it out of `vary`"),
        ("seed", "\t1", "--set seed=\t1: not valid YAML: a tab, and YAML is indented by spaces"),
        ("seed", "[1", "--set seed=[1: not valid YAML: while parsing a flow sequence, did not find expected ',' or ']'"),
        ("a..b", "1", "--set a..b=1: 'a..b' is not a dotted path such as routing.publications"),
        ("topology.brokers", "1", "s.yaml:2 (with --set topology.brokers=1): topology: a ring needs at least 3 brokers, not 1"),
    ],
)  # fmt: skip
def test_override_errors_name_the_key(file: Path, key: str, value: str, message: str) -> None:
    assert error(file, GOOD, **{key: value}) == message


def test_variants_differ_in_what_varies_only(file: Path) -> None:
    file.write_text(GOOD + "vary: {routing.publications: [fixed, dynamic]}\n")
    fixed, dynamic = load(file).variants()
    assert (fixed.name, dynamic.name) == ("fixed", "dynamic")
    assert dynamic.settings == {"routing.publications": "dynamic"}
    assert fixed.scenario.overlay() == dynamic.scenario.overlay()
    assert fixed.scenario.workload == dynamic.scenario.workload
    assert fixed.scenario.routing != dynamic.scenario.routing
    assert dynamic.scenario.variants()[0].name == "base"


def test_what_varies_may_be_set(file: Path) -> None:
    scenario = load(file, {"vary.routing.publications": "[dynamic, fixed]"})
    assert [variant.name for variant in scenario.variants()] == ["dynamic", "fixed"]
    assert error(file, GOOD, **{"vary.routing.publications": "[fixed, x]"}).startswith(
        "--set vary.routing.publications=[fixed, x]: variant x: unknown value 'x'"
    )


def test_without_vary_there_is_the_base_variant(file: Path) -> None:
    (base,) = load(file).variants()
    assert (base.name, base.settings) == ("base", {})


def test_the_resolved_scenario_loads_again(file: Path) -> None:
    scenario = load(file)
    again = file.parent / "again.yaml"
    again.write_text(yaml.safe_dump(scenario.resolved()))
    assert load(again) == scenario


@pytest.mark.parametrize("path", sorted(Path("scenarios").rglob("*.yaml")), ids=lambda path: path.stem)
def test_the_scenarios_that_come_along(path: Path) -> None:
    scenario = load(path)
    assert scenario.name == path.stem
    assert Scenario.model_validate(scenario.resolved()) == scenario


OPERATIONS = """\
name: written
topology: {kind: explicit, links: [[A, B], {between: [B, C], delay: 20ms}], link: {delay: 1ms, loss: 1%}}
routing: {protocol: tid}
workload:
  operations:
    - {at: 0s, client: P, broker: A, id: a1, advertise: "[class,eq,'STOCK']"}
    - {at: 1s, client: S, broker: C, id: s1, subscribe: "[class,eq,'STOCK']"}
    - {at: 2s, client: P, broker: A, publish: "[class,'STOCK']"}
timeline: {join: 2s, run: 1s}
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("client: S, broker: C", "client: S, broker: D", "s.yaml:7: workload.operations[1].broker: "
         "the overlay has no broker 'D'; there are A, B, C"),
        ("client: S, broker: C", "client: P, broker: C", "s.yaml:7: workload.operations[1].broker: "
         "P is already a client of A; a client has one broker"),
        ("at: 2s", "at: 3s", "s.yaml:8: workload.operations[2].at: after the run phase, which ends 3 s after the start"),
        (", id: a1", "", "s.yaml:6: workload.operations[0]: an operation that does advertise needs an `id`"),
        ("publish:", "subscribe: x, publish:", "s.yaml:8: workload.operations[2]: "
         "needs exactly one of advertise, unadvertise, subscribe, unsubscribe, publish, composite; got subscribe, publish"),
        ("publish: ", "within: 1s, publish: ", "s.yaml:8: workload.operations[2]: "
         "leave `within` out: it belongs to `composite`, not to publish"),
        ("links: [[A, B],", "links: [[A, A],", "s.yaml:2: topology: link A - A: a broker cannot be linked to itself"),
        ("links: [[A, B],", "links: [[A, D],", "s.yaml:2: topology: the overlay is disconnected: 2 parts, "
         "one of them {A, D}; add a link between each two parts"),
        ("between: [B, C]", "between: [A, B]", "s.yaml:2: topology: link A - B is listed twice"),
    ],
)  # fmt: skip
def test_messages_about_written_operations(file: Path, old: str, new: str, message: str) -> None:
    assert error(file, OPERATIONS.replace(old, new, 1)) == message


def test_malformed_content_is_placed(file: Path) -> None:
    output = error(file, OPERATIONS.replace("publish: \"[class,'STOCK']\"", "publish: \"[class,'STOCK'\""))
    assert output.startswith("s.yaml:8: workload.operations[2].publish: line 1, column 15:")


@pytest.mark.parametrize(
    ("composite", "message"),
    [
        ("composite: '{[class,eq,A]}&{[x,>,$I$X]}'", "composite: part 2, {[x,>,$I$X]}: nothing binds $I$X, which 'x' is "
         "compared with, in some way to fulfil the pattern; "
         "bind it with [ATTRIBUTE,=,$I$X] in this part or in one that is joined to it by '&'"),
        ("id: s1, composite: '[class,eq,A]'", "id: S has used the id 's1' already, and has not withdrawn it since"),
    ],
)  # fmt: skip
def test_messages_about_composite_subscriptions(file: Path, composite: str, message: str) -> None:
    """A composite subscription shares the names of its client's subscriptions."""
    named = composite if "id:" in composite else f"id: c1, {composite}"
    item = f"    - {{at: 1s, client: S, broker: C, {named}}}\ntimeline:"
    assert error(file, OPERATIONS.replace("timeline:", item, 1)) == f"s.yaml:9: workload.operations[3].{message}"


def test_an_id_may_be_used_again_once_it_is_withdrawn(file: Path) -> None:
    withdrawn = "    - {at: 1s, client: S, broker: C, unsubscribe: s1}\n"
    again = "    - {at: 2s, client: S, broker: C, id: s1, subscribe: '[class,eq,A]'}\n"
    file.write_text(OPERATIONS.replace("timeline:", f"{withdrawn}{again}timeline:", 1))
    assert len(load(file).workload.operations) == 5
    assert error(file, OPERATIONS.replace("timeline:", f"{again}{again}timeline:", 1)).endswith(
        "id: S has used the id 's1' already, and has not withdrawn it since"
    )


def test_absurd_numbers_of_detections_are_refused(file: Path) -> None:
    """Each three publications of a minute, out of 12,000 in the run, are a detection."""
    composite = "'{[class,eq,STOCK]}&{[class,eq,STOCK]}&{[class,eq,STOCK]}'"
    item = f"  operations:\n    - {{at: 0s, client: C, broker: B1, id: c, composite: {composite}}}\ntimeline:"
    text = GOOD.replace("rate: 60/min", "rate: 600/s").replace("timeline:", item)
    assert error(file, text) == (
        "s.yaml:15: workload.operations[0].composite: makes about 1,728,000,000,000 detections; there may be 10,000,000 "
        "in a run; give a shorter `within` or parts that match less"
    )
    file.write_text(text.replace("id: c,", "id: c, within: 1ms,").replace("600/s", "60/s"))
    assert load(file).workload.operations[0].within == 0.001


def test_links_that_differ_keep_the_rest(file: Path) -> None:
    file.write_text(OPERATIONS)
    overlay = load(file).overlay()
    assert (overlay.link("A", "B").forward.delay, overlay.link("A", "B").forward.loss) == (0.001, 0.01)
    assert (overlay.link("B", "C").forward.delay, overlay.link("B", "C").backward.loss) == (0.02, 0.01)


def test_an_overlay_from_a_file(file: Path) -> None:
    file.write_text(OPERATIONS)
    overlay = load(file).overlay()
    save(overlay, file.parent / "o.json")
    text = OPERATIONS.replace(OPERATIONS.splitlines()[1], "topology: {kind: file, path: o.json}")
    file.write_text(text)
    assert load(file).overlay() == overlay
    assert error(file, text.replace("o.json", "p.json")).endswith("p.json: cannot be read: No such file or directory")


def test_generated_client_names_are_taken(file: Path) -> None:
    item = "\n  operations: [{at: 2s, client: P1, broker: B1, publish: \"[class,'STOCK']\"}]\ntimeline"
    assert error(file, GOOD.replace("\ntimeline", item)) == (
        "s.yaml:14: workload.operations[0].client: P1 is a generated client; choose another name"
    )


def test_varied_values_may_have_names(file: Path) -> None:
    file.write_text(
        GOOD
        + """vary:
  routing: {plain: {protocol: tid}, T.D: {protocol: tid, publications: dynamic}}
  seed: [1, 2]
"""
    )
    variants = load(file).variants()
    assert [variant.name for variant in variants] == ["plain+1", "plain+2", "T.D+1", "T.D+2"]
    assert [variant.scenario.routing.options for variant in variants] == [{}, {}, *2 * [{"publications": "dynamic"}]]
    assert variants[3].settings == {"routing": {"protocol": "tid", "publications": "dynamic"}, "seed": 2}
