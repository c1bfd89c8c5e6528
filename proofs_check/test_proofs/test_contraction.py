"""The certified worst cases of a round: every certificate, the page that prints them, and rounds that were run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_proofs.scripts import PAGE, script

from fedspec.algorithms.synchronous import run_round
from fedspec.catalogue import CATALOGUE, Program
from fedspec.plan import Oracle, Plan, Setup
from fedspec.problems.quadratic import QuadraticClients
from fedspec_proofs.engines.worst_case.forms import form
from fedspec_proofs.fednova.claims import best_rates
from fedspec_proofs.fednova.claims.round_numbers import TABLE, by_round
from fedspec_proofs.worst_cases.one_round import HELD, MU, OTHERS, Round, state_of
from fedspec_suite.report.styles import style_of

pytestmark = [pytest.mark.long, pytest.mark.table(10)]

ROWS = TABLE.rows()


FALLING = [row for row in ROWS if row["algorithm"] in HELD]


@pytest.mark.parametrize("algorithm", HELD)
def test_tilted_clients_make_the_same_round(algorithm: str) -> None:
    """With every gradient, and every c_i, moved by the slope at x*, no slope is left in what the form is made of."""
    for row in (row for row in FALLING if row["algorithm"] == algorithm and row["eta_l"] == "1/4"):
        before, after, _, _ = state_of(TABLE.asked(row))
        n = len(row["steps"])
        moved = {f"s{i}": form({f"s{i}": Fraction(1)}) for i in range(n - 1)}
        moved[f"s{n - 1}"] = form({name: Fraction(-1) for name in moved})
        for u in (*before, *after):
            total = u
            for name, c in u.parts:
                whose = name.partition(".")[0][1:]
                if name[0] in "cF":
                    total = total + c * moved[f"s{whose}"]
            assert not [name for name, _ in total.parts if name[0] == "s"]


def ended(r: Round, clients: Sequence[Oracle], slopes: Any, u: Any) -> Any:
    """x and all c_i - s_i after a round in floats, of one coordinate, from such a state."""
    n, run, (server, client) = len(r.steps), CATALOGUE[r.algorithm].run, HELD[r.algorithm]
    assert isinstance(run, Program)
    h = run.hyper(eta_l=float(r.rate), **OTHERS[r.algorithm])
    c_i = (u[1:] + slopes)[:, None]
    begun = run.init(h, u[:1], Setup((1,) * n, {"x": (1,)}))
    state, _ = run.step(h, replace(begun, **{server: c_i.mean(0), client: c_i}), clients, r.plan)
    return np.concatenate([state.x, getattr(state, client)[:, 0] - slopes])


@pytest.mark.slow
@pytest.mark.table(1)
@pytest.mark.parametrize("algorithm", HELD)
def test_forms_of_rounds_that_are_run_fall_as_certified_and_come_near(algorithm: str) -> None:
    """Parabolas with curvatures in [mu, 1] and minimisers of their own: the largest ratio is an eigenvalue."""
    rng, near = np.random.default_rng(0), []
    for row in (row for row in FALLING if row["algorithm"] == algorithm):
        r = TABLE.asked(row)
        n, P, largest = len(r.steps), np.array(r.P, float), 0.0
        for _ in range(60):
            curves = np.where(rng.random(n) < 0.8, rng.choice([float(MU), 1.0], n), rng.uniform(float(MU), 1, n))
            slopes = rng.normal(size=n)
            slopes -= slopes.mean()
            clients = QuadraticClients(curves.reshape(n, 1, 1), -slopes.reshape(n, 1)).clients
            # The round is linear in the state, however unlike the clients are.
            assert np.allclose(ended(r, clients, slopes, np.zeros(n + 1)), 0, atol=1e-12)
            M = np.array([ended(r, clients, slopes, e) for e in np.eye(n + 1)]).T
            largest = max(largest, np.linalg.eigvals(np.linalg.solve(P, M.T @ P @ M)).real.max())
        assert largest <= float(Fraction(row["bound"])) + 1e-9
        near.append(largest / float(Fraction(row["bound"])))
    assert max(near) > 0.99, near


def test_the_page_prints_what_is_certified() -> None:
    made = script().tables(ROWS)
    assert all(table in PAGE for table in made.values())
    asked = [(r.algorithm, r.steps, r.eta_l, r.zeta2) for r in script().table_rounds()]
    kept = [*by_round(ROWS)]
    assert kept[: len(asked)] == asked and len(kept) == len(ROWS)
    # Beside them the best rates, where they are none of these.
    best = {(r.algorithm, r.steps, r.eta_l, r.zeta2) for r in (one.round for one in best_rates.averaged())}
    assert {*kept[len(asked) :]} == best - {*asked}


def test_another_program_is_asked_for_every_number_of_the_page() -> None:
    """The cells that PEPit is asked for: all cells but those that say as whom, and the lower numbers."""
    every = [(name, number) for name, number, _ in script("worst_cases_again").table_checks(PAGE)]
    some = [(name, number) for name, number in every if not name.startswith("rates: ")]
    asked = [(name, number) for name, number in some if " rounds, " not in name]
    assert len(some) - len(asked) == 84, "several rounds, but for eight at once"
    cells = [cell for table in script().tables(ROWS).values() for cell in re.findall(r"\d\.\d{3}(?= \|)", table)]
    lower = 2 * len(script().APART) * len(script().RATES) + len(best_rates.ASKED["averaged"])
    assert len(asked) == len(cells) - lower == 204
    assert sum(number > 2.7 for _, number in asked) == PAGE.count("2.788") + PAGE.count("2.710")


@pytest.mark.slow
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


ALIKE = [row for row in ROWS if not row["zeta2"] and row["algorithm"] == "fedavg"]


@pytest.mark.parametrize("bounded", ALIKE, ids=[f"{row['steps']}-{row['eta_l']}" for row in ALIKE])
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
            slopes *= np.sqrt(float(Fraction(row["zeta2"])) / (slopes**2).mean())
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
