"""EF21 under any compressor: every certificate, spoiled ones, its row with top-k, and parabolas that are run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from fedspec.algorithms.ef21 import State
from fedspec.catalogue import CATALOGUE
from fedspec.plan import Plan
from fedspec_proofs.engines.worst_case.proof import flaw
from fedspec_proofs.fednova.claims.compressed_factors import TABLE
from fedspec_proofs.worst_cases.compressed import Compressed, among
from fedspec_proofs.worst_cases.one_round import MU
from fedspec_proofs.worst_cases.search.forms import certified
from fedspec_proofs.worst_cases.tabled import proof_of

pytestmark = [pytest.mark.long, pytest.mark.table(1)]

ROWS = TABLE.rows()


def named(row: Mapping[str, Any]) -> str:
    return f"{row['alpha']}-{row['eta']}".replace("/", "_")


def test_it_is_the_rows_round_where_the_compressor_is_top_k_which_is_one_of_them() -> None:
    """In fractions: the same model and the same g_i, and alpha = k/d."""
    rng = np.random.default_rng(0)
    run: Any = CATALOGUE["ef21"].run
    for k, _ in product((1, 2, 3), range(5)):
        draw = np.vectorize(lambda c: Fraction(int(c), 4), otypes=[object])
        x, g_i, slopes = (draw(rng.integers(-9, 10, shape)) for shape in (4, (3, 4), (3, 4)))
        clients = [lambda t, y, s=s: y / 2 + s for s in slopes]
        h = run.hyper(eta=Fraction(1, 3), kept=k)
        state, shown = run.step(h, State(x=x, g_i=g_i, t=1), clients, Plan((0, 1, 2), (1, 1, 1), (1, 1, 1)))
        whole = [f(0, x) - g for f, g in zip(clients, g_i, strict=True)]
        sent = shown["c_i"].reshape(3, 4)
        end, known = Compressed("1/2", "1/3", n=3).after(x, [*g_i], clients, lambda i, p, sent=sent: sent[i])
        assert np.array_equal(end, state.x) and np.array_equal(np.stack(known), state.g_i)
        for p, c in zip(whole, sent, strict=True):
            assert 4 * ((p - c) ** 2).sum() <= (4 - k) * (p**2).sum()


def grown(r: Compressed, curves: Any, sent: Any) -> float:
    """The largest ratio of the form over states of one coordinate, of which parts are sent."""
    n, eta = r.n, float(Fraction(r.eta))

    def after(u: Any) -> Any:
        known = [curves[i] * u[:1] + u[1 + i : 2 + i] for i in range(n)]
        x = u[:1] - eta * np.mean(known, axis=0)
        clients = [lambda k, y, c=c: c * y for c in curves]
        _, ended = r.after(x, known, clients, lambda i, p: sent[i] * p)
        return np.concatenate([x, *(g - c * x for g, c in zip(ended, curves, strict=True))])

    M, P = np.array([after(e) for e in np.eye(n + 1)]).T, np.array(r.P, float)
    return float(np.linalg.eigvals(np.linalg.solve(P, M.T @ P @ M)).real.max())


def test_rounds_that_are_run_fall_as_certified_and_come_near() -> None:
    """Parabolas, and the part 1 + s or 1 - s of every vector, s^2 = 1 - alpha, as far off as a compressor may be."""
    near = []
    for row in ROWS:
        r, bound = TABLE.asked(row), float(Fraction(row["bound"]))
        s = float(1 - Fraction(r.alpha)) ** 0.5
        tried = product(product((float(MU), 0.5, 1.0), repeat=2), product((1 - s, 1.0, 1 + s), repeat=2))
        largest = max(grown(r, curves, sent) for curves, sent in tried)
        assert largest <= bound + 1e-9
        near.append(largest / bound)
    assert min(near) > 0.95 and max(near) > 0.998, near


def test_two_clients_have_what_one_has() -> None:
    one, two = (certified(Compressed("1/2", "1/8", n)).worst for n in (1, 2))
    assert one == pytest.approx(two, abs=1e-3)


@pytest.mark.parametrize("row", ROWS, ids=named)
def test_more_clients_have_the_number_by_the_multipliers_divided_among_them(row: dict[str, Any]) -> None:
    """Two clients with the form made symmetric, and 4; neither those of two for each of them nor less of a bound."""
    r, bound = TABLE.asked(row), Fraction(row["bound"])
    proof = proof_of(row)
    for n in (2, 4) if row["eta"] == "1/8" else (4,):
        more, divided = among(r, proof, n)
        assert more.n == n and not flaw(more.problem(bound), divided)
        assert flaw(more.problem(bound * Fraction(99, 100)), divided)
        whole = {name: c * n / 2 for name, c in divided.items()}
        assert n == 2 or flaw(more.problem(bound), whole)
        # The form of two clients, entry by entry, in place of that in means.
        P = [["1", *["0"] * n], *([["0"] * (1 + i) + [r.form[1][1]] + ["0"] * (n - 1 - i) for i in range(n)])]
        assert n == 2 or flaw(replace(more, form=tuple(map(tuple, P))).problem(bound), divided)


def test_a_form_says_of_copies_what_it_says_of_the_clients() -> None:
    """Each of the two clients three times: the same mean, and the same mean square off it, by a loop in fractions."""
    row = next(row for row in ROWS if (row["alpha"], row["eta"]) == ("1/4", "1/8"))
    more, _ = among(TABLE.asked(row), {}, 6)
    same, _ = among(TABLE.asked(row), {}, 2)
    u = [Fraction(2), Fraction(-3, 2), Fraction(5, 7)]
    copied = [u[0], *[u[1]] * 3, *[u[2]] * 3]

    def of(P: Any, v: list[Fraction]) -> Fraction:
        return sum((c * v[i] * v[j] for i, line in enumerate(P) for j, c in enumerate(line)), Fraction(0))

    assert of(more.P, copied) == of(same.P, u) > 0


def test_rounds_of_more_clients_fall_as_certified() -> None:
    """Parabolas of five clients at random, of which parts are sent that are as far off as a compressor may be."""
    rng = np.random.default_rng(1)
    for row in ROWS:
        r, bound = TABLE.asked(row), float(Fraction(row["bound"]))
        more, _ = among(r, {}, 5)
        s = float(1 - Fraction(r.alpha)) ** 0.5
        largest = max(
            grown(more, rng.choice([float(MU), 0.5, 1.0], 5), rng.choice([1 - s, 1.0, 1 + s], 5)) for _ in range(30)
        )
        assert largest <= bound + 1e-9
