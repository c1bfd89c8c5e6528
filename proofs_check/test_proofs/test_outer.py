"""Servers that keep something: every certificate, spoiled ones, rounds that are run, and what is known already."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from fedspec.errors import ParameterError
from fedspec_proofs.worst_cases.one_round import MU
from fedspec_proofs.worst_cases.outer import Outer
from fedspec_proofs.worst_cases.outer_claims import TABLE
from fedspec_proofs.worst_cases.search.forms import certified

pytestmark = [pytest.mark.long, pytest.mark.table(1)]

ROWS = TABLE.rows()


def linear(r: Outer, curves: Any) -> Any:
    """A round on states of one coordinate; client i has curvature curves[i][k] at step k."""
    size = len(r.names)
    clients = [lambda k, y, c=c: c[k] * y for c in curves]
    units = np.eye(size).astype(object).reshape(size, size, 1)
    return np.array([[y[0] for y in r.after([*e], clients)] for e in units], float).T


def grown(r: Outer, curves: Any) -> float:
    """The largest ratio of the form over states of one coordinate."""
    M, P = linear(r, curves), np.array(r.P, float)
    return float(np.linalg.eigvals(np.linalg.solve(P, M.T @ P @ M)).real.max())


def test_rounds_that_are_run_come_closer_as_certified_and_need_nearly_all_of_it() -> None:
    """Both runs' gradients at a step differ by a curvature in [mu, 1] times what their points do.

    Of several steps at a long rate the worst functions turn in more coordinates than one.
    """
    rng, near = np.random.default_rng(0), []
    for row in ROWS:
        r, bound = TABLE.asked(row), float(Fraction(row["bound"]))
        tried = [[c, c] for c in product([float(MU), 1.0], repeat=r.tau)]
        tried += [*rng.uniform(float(MU), 1, (20, 2, r.tau))]
        largest = max(grown(r, curves) for curves in tried)
        assert largest <= bound + 1e-9
        near.append(largest / bound)
    assert min(near) > 0.94 and sum(n > 0.995 for n in near) >= len(near) - 9, near


def radius(r: Outer, c: float) -> float:
    """Growth per round of a state with clients F_i = c x^2 / 2, in the long run."""
    return float(np.abs(np.linalg.eigvals(linear(r, [[c] * r.tau] * r.n))).max())


def test_parabolas_converge_with_every_momentum_and_below_a_known_rate_with_a_delay() -> None:
    """A change of the only model D versions old: eta_l c < 2 sin(pi / (4 D + 2)), which no form can be beyond."""
    for row in (row for row in ROWS if row["algorithm"] == "fedavgm"):
        assert max(radius(TABLE.asked(row), c) for c in np.linspace(float(MU), 1, 19)) < 1
    for D in (1, 2, 4):
        limit = 2 * np.sin(np.pi / (4 * D + 2))
        assert round(limit, 3) in (1, 0.618, 0.347)
        inside, outside = (Outer("cc-fedavg", 1, str(Fraction(limit) * s), (), D) for s in (Fraction(99, 100), 1))
        assert radius(inside, 1.0) < 1 <= radius(replace(outside, eta_l=str(Fraction(limit) * Fraction(101, 100))), 1.0)
        found = [row for row in ROWS if (row["delay"], row["tau"]) == (D, 1) and Fraction(row["bound"]) < 1]
        assert found and all(Fraction(row["eta_l"]) < limit for row in found)


def test_without_momentum_or_delay_it_is_what_clients_that_are_flat_have() -> None:
    """(1 - eta_l mu)^(2 tau) of FedAvg; of CC-FedAvg a step of a tau-th of the change; both rounded up."""
    seen = 0
    for row in ROWS:
        r = TABLE.asked(row)
        one = 1 - Fraction(r.eta_l) * MU
        if r.algorithm == "fedavgm" and dict(r.numbers)["beta"] == "0":
            known = one ** (2 * r.tau)
        elif r.algorithm == "cc-fedavg" and not r.delay:
            known = (1 - (1 - one**r.tau) / r.tau) ** 2
        else:
            continue
        seen += 1
        assert 0 <= Fraction(row["bound"]) - known <= Fraction(2, 1000)
    assert seen == 12 + 12


@pytest.mark.parametrize("beta", ["1/2", "9/10"])
def test_slowmo_at_one_rate_is_fedavgm(beta: str) -> None:
    found = [certified(Outer(a, 2, "1/4", (("eta", "1"), ("beta", beta)))) for a in ("fedavgm", "slowmo")]
    assert found[0].worst == pytest.approx(found[1].worst, abs=2e-3)


def test_what_is_no_such_server_is_refused() -> None:
    with pytest.raises(ParameterError, match="got fedavg; it must be one of fedavgm, slowmo, cc-fedavg"):
        Outer("fedavg", 1, "1/4").state()
    for algorithm, delay in (("fedavgm", 1), ("cc-fedavg", 9), ("cc-fedavg", -1)):
        with pytest.raises(ParameterError, match="it must be 0 to 8 for cc-fedavg"):
            Outer(algorithm, 1, "1/4", delay=delay).state()
