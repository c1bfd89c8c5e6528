"""Style of an algorithm's line: the same in every picture, and distinct among algorithms that are often compared."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from itertools import combinations, pairwise

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgb
from test_judge.support import python

from fedspec.catalogue import CATALOGUE
from fedspec_suite.report.styles import darkened, style_of

TRAINED = tuple(a.id for a in CATALOGUE.values() if {"round", "trace"} & {*a.levels})
COMPARED = (
    "fedada2 fedavg fednova fedadam scaffold fed-lamb afga",
    "fedavg fedavgm fedadagrad fedadam fedyogi fedamsgrad fedams",
    "fedavg fedprox fednova scaffold feddyn fedadam fedavgm",
    "fedavg fedprox fednova scaffold feddyn vrl-sgd fedexp",
    "fedavg fedadam joint-local joint-direct fedada2 fedadaadagrad fedadaadam",
    "fed-lamb fed-ams fed-sgd fedavg fedadam",
    "afga afga-a cafga cafga-a gossip-fedamsgrad dsgd dadam",
    "dsgd dadam gossip-pga afga cafga fedavg",
    "cc-fedavg cc-fedsgd cc-fedavgm cc-fedadagrad cc-fedadam cc-fedams",
    "fedavg fedbuff fedasync cc-fedavg cc-fedadam cc-fedavgm",
    "fednova fednova-momentum fednova-adaptive fednova-vr fednova-alg2 fednova-sampled fednova-solvers",
    "fedavg median trimmed-mean fedavg-normalised",
    "fedavg dp-fedavg dp-joint joint-local fedadam",
)
"""Algorithms that are compared: in README; FedOpt and its baselines; for unlike clients; variants of one row; families.
"""

# Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB.
SIGHT = {
    "usual": np.eye(3),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
}
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(colour: str) -> np.ndarray:
    c = np.array(to_rgb(colour))
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def lab(light: np.ndarray) -> np.ndarray:
    """CIELAB under the white of sRGB."""
    t = XYZ @ light / XYZ.sum(1)
    f = np.where(t > (6 / 29) ** 3, np.cbrt(t), t / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast(colour: str) -> float:
    """On white, by WCAG."""
    return float(1.05 / (XYZ[1] @ linear(colour) + 0.05))


def test_no_two_trained_rows_are_alike_and_each_is_told_apart_from_an_own_algorithm() -> None:
    styles = [style_of(name) for name in TRAINED]
    assert len({*styles}) == len(TRAINED) >= 50
    # A new row may do without a line in the table; what is there is a row, and taken for no own algorithm.
    told = tomllib.loads(files("fedspec_suite.report").joinpath("styles.toml").read_text(encoding="utf-8"))
    assert {*told["lines"]} <= {*TRAINED} and not any(style_of(name).marker for name in told["lines"])
    assert all(style_of(f"mine-{number}").marker for number in range(100))


@pytest.mark.parametrize("names", COMPARED)
def test_what_is_often_compared_differs_in_colour_for_every_kind_of_sight(names: str) -> None:
    assert {*names.split()} <= {*TRAINED}
    for one, other in combinations(names.split(), 2):
        for kind, seen in SIGHT.items():
            a, b = (lab(np.clip(seen @ linear(style_of(name).colour), 0, 1)) for name in (one, other))
            # A just noticeable difference is about 2.3; lines are thin, and not seen side by side.
            apart = float(np.linalg.norm(a - b))
            assert apart > 15, (one, other, kind)
            assert apart > 25 or style_of(one).dashes != style_of(other).dashes, (one, other, kind)


def test_the_palette_is_okabe_and_itos_less_its_yellow() -> None:
    theirs = [to_hex(c) for c in matplotlib.color_sequences["okabe_ito"]]
    assert {style_of(name).colour for name in TRAINED} == {*theirs} - {"#f0e442"}
    assert contrast("#f0e442") < 1.5 < 2 < min(contrast(style_of(name).colour) for name in TRAINED)


def test_fednova_does_not_hide_fedavg() -> None:
    assert style_of("fedavg").dashes == () != style_of("fednova").dashes


def test_an_own_algorithm_has_the_same_line_in_every_process() -> None:
    said = "from fedspec_suite.report.styles import style_of; print([style_of(f'own-{n}') for n in range(9)])"
    told = [python("-c", said, env={"PYTHONHASHSEED": seed}).stdout for seed in ("1", "2")]
    assert told[0] == told[1] == f"{[style_of(f'own-{n}') for n in range(9)]}\n"
    assert len({style_of(f"own-{n}") for n in range(9)}) > 6


def test_text_in_a_colour_can_be_read_on_white() -> None:
    for name in TRAINED:
        own = style_of(name)
        assert contrast(own.ink) >= 4.5
        # No darker than that takes, and of the same hue: shares of light are kept.
        assert own.ink == own.colour or contrast(own.ink) < 4.7
        light, dark = linear(own.colour), linear(own.ink)
        assert np.allclose(light * dark.sum(), dark * light.sum(), atol=0.02)
    grades = [contrast(darkened("#e69f00", wanted)) for wanted in (3, 4.5, 7, 12)]
    assert all(a < b for a, b in pairwise(grades))
