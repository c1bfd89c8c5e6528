"""The certified factors of peers: every certificate, spoiled ones, quadratics that are run, and what is known."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from fedspec.algorithms.d2 import Before
from fedspec.catalogue import CATALOGUE
from fedspec.errors import MixingError, ParameterError
from fedspec.plan import Exchange
from fedspec.problems.quadratic import QuadraticClients
from fedspec_proofs.afga.claims.exchange_numbers import TABLE
from fedspec_proofs.engines.worst_case.forms import ORIGIN, basis
from fedspec_proofs.fednova.claims import round_numbers
from fedspec_proofs.worst_cases.exchanges import KEPT, OTHERS, Exchanged, circulant, mixing_of
from fedspec_proofs.worst_cases.one_round import MU
from fedspec_proofs.worst_cases.search.forms import certified

pytestmark = [pytest.mark.long, pytest.mark.table(1)]

ROWS = TABLE.rows()


def named(row: Mapping[str, Any]) -> str:
    return f"{row['algorithm']}-{len(row['W'])}-{row['W'][0][0].replace('/', '_')}-{row['tau']}-{row['eta_l']}"


def ran(r: Exchanged, clients: Any, slopes: Any, u: Any) -> Any:
    """All X_i and c_i + s_i but the last after an exchange in floats, from such a state, [2 n - 1, d]."""
    run: Any = CATALOGUE[r.algorithm].run
    n, (begin, read) = r.n, KEPT[r.algorithm]
    h = run.hyper(eta_l=float(Fraction(r.eta_l)), **{name: float(c) for name, c in OTHERS[r.algorithm].items()})
    c = u[n:] - slopes[:-1]
    c = np.concatenate([c, -c.sum(0, keepdims=True)])
    plan = Exchange((), (tuple(range(n)),) * r.tau, mixing_of(r.W).astype(float))
    state, _ = run.step(h, begin(h, u[:n], c, clients, r.tau), clients, plan)
    return np.concatenate([state.X, (read(h, state, r.tau) + slopes)[:-1]])


def drawn(rng: np.random.Generator, n: int, d: int) -> Any:
    """Hessians with eigenvalues in [mu, 1], most often at the ends, each in directions of its own."""
    sizes = np.where(rng.random((n, d)) < 0.8, rng.choice([float(MU), 1.0], (n, d)), rng.uniform(float(MU), 1, (n, d)))
    turned = np.linalg.qr(rng.normal(size=(n, d, d)))[0]
    H = np.einsum("nij,nj,nkj->nik", turned, sizes, turned)
    return (H + H.transpose(0, 2, 1)) / 2


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", KEPT)
def test_forms_of_quadratics_that_are_run_fall_as_certified_and_come_near(algorithm: str) -> None:
    """In one and two coordinates; the exchange is linear in the state, however unlike the clients are.

    Of any one of them the largest ratio is an eigenvalue, and no form falls faster than its spectral radius squared.
    """
    rng, near, slowest = np.random.default_rng(0), [], []
    for row in (row for row in ROWS if row["algorithm"] == algorithm):
        r, bound, largest, radius = TABLE.asked(row), float(Fraction(row["bound"])), 0.0, 0.0
        for d, count in ((1, 40), (2, 10)):
            P = np.kron(np.array(r.P, float), np.eye(d))
            for _ in range(count):
                H, slopes = drawn(rng, r.n, d), rng.normal(size=(r.n, d))
                slopes -= slopes.mean(0)
                clients = QuadraticClients(H, -slopes).clients
                size = (2 * r.n - 1) * d
                assert np.allclose(ran(r, clients, slopes, np.zeros((2 * r.n - 1, d))), 0, atol=1e-11)
                units = np.eye(size).reshape(size, -1, d)
                M = np.array([ran(r, clients, slopes, e).ravel() for e in units]).T
                largest = max(largest, np.linalg.eigvals(np.linalg.solve(P, M.T @ P @ M)).real.max())
                radius = max(radius, np.abs(np.linalg.eigvals(M)).max() ** 2)
        assert radius <= largest + 1e-9 and largest <= bound + 1e-9
        near.append(largest / bound)
        slowest.append(radius / bound)
    assert min(near) > 0.9 and max(near) > 0.998, near
    assert max(slowest) > 0.998, "so that no form of that exchange has a factor a thousandth smaller"


def test_parabolas_need_nearly_all_of_nearly_every_number_and_digings_large_ones_are_not_the_forms() -> None:
    """F_i = mu x^2 / 2 or x^2 / 2: the square of the spectral radius, by which no form falls faster."""
    far, over = [], []
    for row in ROWS:
        r, radius = TABLE.asked(row), 0.0
        slopes = np.zeros((r.n, 1))
        for curves in product([float(MU), 1.0], repeat=r.n):
            clients = QuadraticClients(np.reshape(curves, (r.n, 1, 1)), slopes).clients
            M = np.array([ran(r, clients, slopes, e[:, None]).ravel() for e in np.eye(2 * r.n - 1)]).T
            radius = max(radius, np.abs(np.linalg.eigvals(M)).max() ** 2)
        far += [named(row)] if radius < 0.98 * float(Fraction(row["bound"])) else []
        over += [(r.algorithm, round(radius, 3))] if Fraction(row["bound"]) > 1 else []
    assert len(ROWS) == 84 and len(far) == 3, far
    assert over == [("diging", 1.0), ("diging", 2.618), ("diging", 1.0), ("diging", 6.854)]


@pytest.mark.parametrize("algorithm", KEPT)
def test_what_is_seen_has_no_slope_left_when_clients_are_tilted(algorithm: str) -> None:
    """With every gradient moved by the slope at x*, and every c_i against it."""
    r = Exchanged(algorithm, circulant("1/2", "1/4", "1/4"), 2, "1/3")
    before, after, _, _ = r.state()
    slopes = [basis("s0"), basis("s1")]
    slopes.append(-slopes[0] - slopes[1])
    for u in (*before, *after):
        total = u
        for name, c in u.parts:
            if name[0] in "cF":
                total = total + c * (1 if name[0] == "F" else -1) * slopes[int(name.partition(".")[0][1:])]
        assert not [name for name, _ in total.parts if name[0] == "s"]


def test_d2_sees_of_the_step_before_one_vector_and_is_led_with_one_step() -> None:
    W, eta_l = circulant("1/2", "1/4", "1/4"), 0.25
    d2, led = (Exchanged(a, W, 1, "1/3").state()[1] for a in ("d2", "led"))
    assert d2 == led
    run: Any = CATALOGUE["d2"].run
    X, before, G, now = np.random.default_rng(1).integers(-4, 5, (4, 3, 2)).astype(float)
    clients = [lambda k, x, g=g: g for g in now]
    plan = Exchange((), ((0, 1, 2),), mixing_of(W).astype(float))
    kinds = [(before, G), (before - eta_l * G, 0 * G)]
    h = run.hyper(eta_l=eta_l)
    states = []
    for old, g in kinds:
        begun = Before(X, old, g)
        states.append(run.step(h, begun, clients, plan)[0])
    assert np.array_equal(states[0].X, states[1].X)


@pytest.mark.parametrize("tau", [1, 2])
@pytest.mark.parametrize("eta_l", ["1/4", "1"])
def test_k_gt_where_everybody_hears_everybody_has_scaffolds_factor(tau: int, eta_l: str) -> None:
    """Its round is that of SCAFFOLD there, which the other table has."""
    (known,) = (
        row["bound"]
        for row in round_numbers.TABLE.rows()
        if (row["algorithm"], row["steps"], row["eta_l"]) == ("scaffold", [tau, tau], eta_l)
    )
    assert certified(Exchanged("k-gt", circulant("1/2", "1/2"), tau, eta_l)).bound == Fraction(known)


def test_nothing_is_faster_than_clients_that_are_alike_and_flat() -> None:
    """F_i = mu x^2 / 2 from one model: (1 - eta_l mu)^(2 tau), whatever the matrix; many a number is that one."""
    over = [Fraction(row["bound"]) - (1 - Fraction(row["eta_l"]) * MU) ** (2 * row["tau"]) for row in ROWS]
    assert min(over) >= 0 and sum(o < Fraction(2, 1000) for o in over) > len(over) / 3


def test_what_is_no_exchange_of_these_is_refused() -> None:
    with pytest.raises(ParameterError, match="got dsgd; it must be one of k-gt, diging, d2, led"):
        Exchanged("dsgd", circulant("1/2", "1/2"), 1, "1/4").state()
    with pytest.raises(MixingError, match="doubly stochastic"):
        Exchanged("led", (("1/2", "1/2"), ("1/4", "3/4")), 1, "1/4").state()
    with pytest.raises(ParameterError, match=r"rows of \[2, 1\] entries"):
        mixing_of((("1/2", "1/2"), ("1",)))
    with pytest.raises(ParameterError, match="such as 1/4"):
        mixing_of((("a",),))
    assert sum(Exchanged("led", circulant("1/2", "1/2"), 1, "1/4").state()[0], ORIGIN) != ORIGIN
