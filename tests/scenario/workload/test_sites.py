"""Sites: which clients are on each, and mistakes that name the field."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from emulation.planning.plan import make_plan
from record.errors import BadInputError
from scenario.loading import load_text
from topology.sites import Site, load_sites, save_sites

BASE: dict[str, Any] = {
    "name": "sites",
    "topology": {"kind": "line", "brokers": 3, "link": {"delay": "1ms"}},
    "routing": {"protocol": "tid"},
    "workload": {
        "publications": {"source": "stocks", "publishers": 1, "rate": "1/s", "placement": ["B1"]},
        "subscriptions": {"subscribers": 6, "selectivity": "10%", "placement": ["B2", "B3"]},
        "operations": [{"at": "1s", "client": "X", "broker": "B1", "id": "x", "subscribe": "[class,eq,'STOCK']"}],
    },
    "timeline": {"join": "2s", "run": "2s"},
    "seed": 1,
}


def text(clients: object) -> str:
    return yaml.safe_dump({**BASE, "clients": clients})


def sites(clients: object) -> dict[str, Site]:
    (variant,) = make_plan(load_text(text(clients), "sites.yaml")).variants
    return {site.name: site for site in variant.sites}


def test_clients_are_where_a_site_lists_them_or_take_turns() -> None:
    found = sites(
        {
            "sites": {
                "here": {"broker": "B3", "clients": ["S1..S3"], "delay": "20ms", "to_clients": {"delay": "30ms"}},
                "there": {"broker": "B3"},
            },
            "every_broker": {"sites": 2, "delay": "5ms..9ms"},
        }
    )
    assert {name: site.clients for name, site in found.items()} == {
        "here": ("S1", "S2", "S3"),
        "there": ("S4",),
        "B1-site1": ("P1",),
        "B1-site2": ("X",),
        "B2-site1": ("S5",),
        "B2-site2": (),
        "B3-site1": ("S6",),
        "B3-site2": (),
    }
    assert (found["here"].up.delay, found["here"].down.delay) == (0.02, 0.03)
    drawn = {found[f"B{number}-site1"].up.delay for number in (1, 2, 3)}
    assert len(drawn) == 3
    assert all(0.005 <= delay <= 0.009 for delay in drawn)


def test_a_generated_client_is_at_the_broker_of_its_site() -> None:
    clients = {"sites": {"here": {"broker": "B1", "clients": "S1"}}}
    (variant,) = make_plan(load_text(text(clients), "sites.yaml")).variants
    assert variant.workload.clients["S1"] == "B1"
    assert {operation.broker for operation in variant.workload.operations() if operation.client == "S1"} == {"B1"}


@pytest.mark.parametrize(
    ("clients", "field", "sentence"),
    [
        ({}, "clients", "neither `sites` nor `every_broker`"),
        ({"sites": {"here": {"delay": "5ms"}}}, "clients.sites.here.broker", "required"),
        ({"sites": {"here": {"broker": "B9"}}}, "clients.sites.here.broker", "no broker 'B9'"),
        ({"sites": {"here": {"broker": "B1", "clients": ["S9"]}}}, "clients.sites.here.clients", "no client 'S9'"),
        ({"sites": {"here": {"broker": "B2", "clients": ["X"]}}}, "clients.sites.here.clients", "client of B1"),
        ({"sites": {"here": {"broker": "B1", "clients": ["S3..S1"]}}}, "clients.sites.here.clients", "no range"),
        ({"sites": {"B1": {"broker": "B1"}}}, "clients.sites.B1", "the name of a broker"),
        ({"sites": {"here": {"broker": "B1", "loss": "120%"}}}, "clients.sites.here.loss", ""),
        ({"sites": {"here": {"broker": "B1", "send_time": "1ms"}}}, "clients.sites.here", "send_time"),
        (
            {"sites": {name: {"broker": "B1", "clients": ["S1"]} for name in ("a", "b")}},
            "clients.sites.b.clients",
            "at site a already",
        ),
        ({"sites": {"B1-site1": {"broker": "B1"}}, "every_broker": {}}, "clients.every_broker", "taken"),
        ({"sites": {"here": {"broker": "B1", "reads": "0/s"}}}, "clients.sites.here.reads", "a rate above 0"),
        ({"sites": {"here": {"broker": "B1", "reads": 5}}}, "clients.sites.here.reads", "a unit is missing"),
        ({"reads": "5/s", "every_broker": {}}, "clients.reads", ""),
        (
            {
                "sites": {"here": {"broker": "B1", "clients": ["S1"], "reads": "5/s"}},
                "programs": {"S1": {"command": ["true"]}},
            },
            "clients",
            "S1 is a program",
        ),
        ({"every_broker": {"sites": 10_000}}, "clients.every_broker.sites", "30,000 sites"),
    ],
)
def test_mistakes_name_file_and_field(clients: object, field: str, sentence: str) -> None:
    with pytest.raises(BadInputError) as error:
        load_text(text(clients), "sites.yaml")
    assert "sites.yaml" in str(error.value)
    assert field in str(error.value)
    assert sentence in str(error.value)


def test_sites_are_read_as_they_were_written(tmp_path: Any) -> None:
    found = tuple(sites({"every_broker": {"jitter": "10%", "delay": "5ms", "reads": "3/s"}}).values())
    assert [site.reads for site in found] == [3.0] * 3
    save_sites(found, tmp_path / "sites.json")
    assert load_sites(tmp_path / "sites.json") == found
