"""The PlanetLab-like mesh: its sites and its model of round trips."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from topology.link_properties import OverlayError
from topology.model import Broker
from topology.underlays.planetlab import (
    DRAWS,
    FIBRE_SPEED,
    Site,
    WideArea,
    great_circle,
    measured,
    planetlab,
    sites,
    wide_area_mesh,
)

PLACES = {site.name: site for site in sites()}


def test_44_sites_in_the_united_states_and_12_elsewhere() -> None:
    countries = [site.country for site in sites()]
    assert len(countries) == len(PLACES) == 56
    assert countries.count("US") == 44
    assert len({(site.latitude, site.longitude) for site in sites()}) == 56


@pytest.mark.parametrize(
    ("a", "b", "kilometres"),
    [("new-york", "los-angeles", 3936), ("paris", "berlin", 878), ("tokyo", "sydney", 7823), ("paris", "paris", 0)],
)
def test_great_circles(a: str, b: str, kilometres: float) -> None:
    assert great_circle(PLACES[a], PLACES[b]) == pytest.approx(kilometres, rel=0.005, abs=0.1)


def test_across_the_date_line() -> None:
    assert great_circle(Site("a", "", "", 0, 179), Site("b", "", "", 0, -179)) == pytest.approx(222.4, abs=0.1)


def test_no_round_trip_is_faster_than_light_in_fibre() -> None:
    mesh = planetlab(56, WideArea(inflation=1.0, noise=0.5, access=0.001), seed=1)
    for a, b in combinations(mesh.brokers, 2):
        light = 2 * great_circle(PLACES[a.id], PLACES[b.id]) / FIBRE_SPEED
        assert mesh.delay(a.id, b.id) + mesh.delay(b.id, a.id) >= light + 4 * 0.001 - 1e-12


def test_paths_are_as_much_longer_as_they_are_said_to_be() -> None:
    mesh = planetlab(56, WideArea(inflation=2.0, noise=0.2, access=0.0), seed=3)
    ratios = [
        mesh.delay(a.id, b.id) * FIBRE_SPEED / great_circle(PLACES[a.id], PLACES[b.id])
        for a, b in combinations(mesh.brokers, 2)
    ]
    assert np.mean(ratios) == pytest.approx(2.0, rel=0.02)
    assert np.std(np.log(ratios)) == pytest.approx(0.2, rel=0.06)


def test_without_noise_the_round_trip_is_the_formula() -> None:
    mesh = wide_area_mesh("m", [PLACES["paris"], PLACES["berlin"]], WideArea(1.5, 0.0, 0.002), seed=9)
    expected = 1.5 * great_circle(PLACES["paris"], PLACES["berlin"]) / FIBRE_SPEED + 2 * 0.002
    assert mesh.delay("paris", "berlin") == mesh.delay("berlin", "paris") == pytest.approx(expected)
    assert mesh.brokers[0] == Broker("paris", {"city": "Paris", "country": "FR", "latitude": 48.86, "longitude": 2.35})


def test_fewer_sites_change_no_round_trip() -> None:
    few, every = planetlab(10, WideArea(), seed=4), planetlab(56, WideArea(), seed=4)
    assert len(few.brokers) == 10
    for a, b in combinations(few.brokers, 2):
        assert few.delay(a.id, b.id) == every.delay(a.id, b.id)
    assert few.brokers != planetlab(10, WideArea(), seed=5).brokers
    assert not np.array_equal(every.delays, planetlab(56, WideArea(), seed=5).delays)


@pytest.mark.parametrize("brokers", [0, 57])
def test_no_more_brokers_than_sites(brokers: int) -> None:
    with pytest.raises(OverlayError, match="there are 56 sites"):
        planetlab(brokers, WideArea(), seed=1)


@pytest.mark.parametrize("model", [{"inflation": 0.9}, {"noise": -1}, {"access": -0.1}])
def test_impossible_models_are_refused(model: dict[str, float]) -> None:
    with pytest.raises(OverlayError):
        WideArea(**model)


@pytest.mark.parametrize("draw", range(DRAWS))
def test_a_draw_has_44_sites_in_the_united_states_and_12_elsewhere(draw: int) -> None:
    mesh = measured(56, draw, seed=1)
    assert len(mesh.brokers) == 56
    assert sum(broker.id.startswith("us-") for broker in mesh.brokers) == 44
    assert not np.isnan(mesh.delays).any()
    assert np.array_equal(mesh.delays, mesh.delays.T)


def test_a_measured_delay_is_half_of_the_round_trip() -> None:
    assert measured(56, 0, seed=1).delay("us-east-1", "us-east-2") == pytest.approx(79.0765e-3 / 2)


@pytest.mark.parametrize("draw", range(DRAWS))
def test_the_model_is_like_the_measured_meshes(draw: int) -> None:
    """Median round trip within 15%; share of pairs with a faster detour within a tenth of all pairs."""
    drawn, model = measured(56, draw, seed=1).delays, planetlab(56, WideArea(), seed=1).delays
    assert np.median(drawn) == pytest.approx(np.median(model), rel=0.15)
    assert _share_with_detour(drawn) == pytest.approx(_share_with_detour(model), abs=0.1)


def _share_with_detour(delays: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
    detours = np.min(delays[:, :, None] + delays[None], axis=1)
    return float((detours < delays * (1 - 1e-9)).sum()) / (len(delays) * (len(delays) - 1))


def test_fewer_measured_sites_change_no_round_trip() -> None:
    few, every = measured(10, 2, seed=4), measured(56, 2, seed=4)
    for a, b in combinations(few.brokers, 2):
        assert few.delay(a.id, b.id) == every.delay(a.id, b.id)
    assert few.brokers != measured(10, 2, seed=5).brokers


@pytest.mark.parametrize("draw", [-1, DRAWS])
def test_an_unknown_draw_is_refused(draw: int) -> None:
    with pytest.raises(OverlayError, match="numbered from 0"):
        measured(56, draw, seed=1)
