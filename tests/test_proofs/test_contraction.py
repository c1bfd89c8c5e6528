"""The certified worst cases of a round: every certificate, the page that prints them, and rounds that were run."""

from __future__ import annotations

import re
from fractions import Fraction
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedspec.algorithms.synchronous import run_round
from fedspec.catalogue import CATALOGUE
from fedspec.plan import Plan
from fedspec.problems.quadratic import QuadraticClients
from fedspec_proofs.contraction import MU, OTHERS, problem_of
from fedspec_proofs.engines.worst_case.proof import flaw
from fedspec_proofs.fednova.round_numbers import round_of, rows
from fedspec_suite.report.styles import style_of

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[2]
ROWS = rows()


def script() -> Any:
    spec = spec_from_file_location("worst_cases", ROOT / "scripts" / "worst_cases.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(round_of(row)))
def test_every_number_is_certified(row: dict[str, Any]) -> None:
    proof, bound = {n: Fraction(c) for n, c in row["proof"].items()}, Fraction(row["bound"])
    assert flaw(problem_of(round_of(row), bound), proof) == ""
    assert 0 <= bound - Fraction(row["worst"]) <= Fraction(4, 1000), "and close to what the program attains"
    assert flaw(problem_of(round_of(row), bound * Fraction(9, 10)), proof) != ""


def test_the_page_prints_what_is_certified() -> None:
    made, page = script().tables(ROWS), (ROOT / "docs" / "worst-cases.md").read_text(encoding="utf-8")
    assert all(table in page for table in made.values())
    asked = [(r.algorithm, r.steps, r.eta_l, r.zeta2) for r in script().asked()]
    assert asked == [(r.algorithm, r.steps, r.eta_l, r.zeta2) for r in map(round_of, ROWS)]


def test_the_picture_has_the_lines_of_all_pictures_and_their_names(tmp_path: Path) -> None:
    module = script()
    module.PICTURE = tmp_path / "drawn.svg"
    module.draw(ROWS)
    drawn = module.PICTURE.read_text(encoding="utf-8")
    colours = {*re.findall(r"stroke: (#[0-9a-f]{6})", drawn)}
    own = {style_of(algorithm).colour for algorithm in ("fedavg", "fednova", "scaffold", "feddyn")}
    assert own <= colours and not colours & {f"#{c}" for c in ("1f77b4", "2ca02c", "ff7f0e", "d62728")}
    named = [f"{a}, steps {s}" for a in ("fedavg", "scaffold", "feddyn") for s in ("1, 1", "2, 2", "4, 4", "1, 3")]
    assert all(f"<!-- {name} -->" in drawn for name in (*named, "fednova, steps 1, 3"))


@pytest.mark.parametrize("bounded", [row for row in ROWS if not row["zeta2"] and row["algorithm"] == "fedavg"], ids=str)
def test_at_one_minimiser_it_is_the_known_factor(bounded: dict[str, Any]) -> None:
    """Each client contracts by (1 - eta_l mu) a step; equal functions of that curvature attain the mean of it."""
    factors = [(1 - Fraction(bounded["eta_l"]) * MU) ** tau for tau in bounded["steps"]]
    assert Fraction(bounded["worst"]) == pytest.approx((sum(factors) / len(factors)) ** 2, abs=1e-5)


@pytest.mark.parametrize("algorithm", ["fedavg", "fedprox", "fednova"])
def test_rounds_that_are_run_stay_within_and_come_near(algorithm: str) -> None:
    """Parabolas with random curvatures in [mu, 1], most often at the ends, and random minimisers."""
    rng, near = np.random.default_rng(0), []
    for row in (row for row in ROWS if row["algorithm"] == algorithm and row["zeta2"]):
        steps, largest = tuple(row["steps"]), 0.0
        n, run = len(steps), CATALOGUE[algorithm].run
        h = run.hyper(eta_l=float(Fraction(row["eta_l"])), **OTHERS[algorithm])  # type: ignore[union-attr]
        for _ in range(30):
            curves = np.where(rng.random(n) < 0.8, rng.choice([float(MU), 1.0], n), rng.uniform(float(MU), 1, n))
            slopes = rng.normal(size=n)
            slopes -= slopes.mean()
            slopes /= np.sqrt((slopes**2).mean())
            # F_i' = h_i x + s_i, so that x* = 0.
            clients = QuadraticClients(curves.reshape(n, 1, 1), -slopes.reshape(n, 1)).clients
            for x in (-1.0, 1.0):
                plan = Plan(tuple(range(n)), steps, (1,) * n)
                how = {"local": run.local, "norm": run.norm, "server": run.server}  # type: ignore[union-attr]
                end = run_round(h, np.array([x]), clients, plan, **how).state
                largest = max(largest, float(end @ end))
        assert largest <= float(Fraction(row["bound"])) + 1e-12
        near.append(largest / float(Fraction(row["bound"])))
    assert max(near) > 0.9
