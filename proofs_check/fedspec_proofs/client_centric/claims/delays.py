"""Term A_8, and the distance that the model moves while clients compute."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any

from fedspec.algorithms.cc_fedsgd import CCFedSGD, cc_fedsgd, init
from fedspec.arith import Vector
from fedspec.plan import Arrival, Setup
from fedspec.problems.quadratic import constant as affine
from fedspec_proofs.claim import Extent, Finding, claim
from fedspec_proofs.client_centric.kit import every_size, term_sums
from fedspec_proofs.client_centric.kit.every_size import prove_each
from fedspec_proofs.client_centric.kit.local_runs import ASSUMED, Local, local_run
from fedspec_proofs.client_centric.kit.problems import Clients
from fedspec_proofs.client_centric.kit.runs import mean_gradient
from fedspec_proofs.client_centric.kit.term_sums import added_up
from fedspec_proofs.engines import Choose, Draw, Inequality, identities, searched
from fedspec_proofs.kit.adding import confirmed
from fedspec_proofs.kit.balls import squared_mean


def _a_8() -> Inequality[Local]:
    def sides(r: Local) -> Any:
        n = r.clients.n
        u = sum((mean_gradient(r.hyper, r.clients, i, r.points[i], r.steps[i]) for i in range(n)), start=r.x * 0) / n
        apart = r.clients.gradient(r.x) - u
        late = sum((r.x - p) @ (r.x - p) for p in r.points) / n
        drift = sum(r.drift(i, k) / r.steps[i] for i in range(n) for k in range(r.steps[i])) / n
        yield apart @ apart, {"delays": 2 * r.L**2 * late, "drift": 2 * r.L**2 * drift}

    def quiet(choose: Choose) -> Local:
        r = local_run(choose, True, False)
        clients = Clients(r.clients.slopes[-3:])
        return Local(clients, r.x, r.points[-3:], r.steps[-3:], r.eta_l, r.L, r.sigma_l2, r.sigma_g2)

    return Inequality(quiet, {"smooth": ASSUMED["smooth"]}, sides)


@claim(
    "client-centric.a-8",
    statement="A_8 = (eta eta_l/2) |grad f(x_t) - u_t|^2, weighted by a_t, is at most (eta eta_l L^2 / eps) times the "
    "mean over clients of |x_t - x_(t - tau)|^2 and of the mean drift; with E for eps where sqrt(v_hat_t) + eps >= E",
    source="bound of A_8 (L711-732)",
    extent=Extent.WHOLE,
    assumptions={"smooth": "assumption 1"},
)
def a_8() -> Finding:
    """Searched over eta eta_l / (2 eps). The weight a_t <= 1/E bounds a square by itself over E. The square of a mean
    over clients and steps is at most the mean of squares, each at most L^2 |x_t - x^i_k|^2, which is split at x_(t -
    tau), per coordinate.

    The search has exact gradients, one dimension, up to three clients, any points and steps.
    """
    proof = prove_each(squared_mean, every_size.by_way_of, sample=every_size.on_the_line)
    proof += prove_each(every_size.quotient)
    proof.append(added_up(a_8=term_sums.a_8))
    return confirmed(proof, searched(_a_8(), 700, drop=300), 700)


def _versions(draw: Draw, s: int) -> list[Vector]:
    """x_(t-s), ..., x_t of CC-FedSGD on any changes."""
    g, eta, x = draw("g", s, 2), draw("eta", positive=True), draw("x", 2)
    h = CCFedSGD(buffer=1, eta_l=1, eta=eta)
    state = init(h, x, Setup((1,), {"w": (2,)}))
    for k in range(s):
        state, _ = cc_fedsgd(h, state, [affine(g[k])], Arrival(0, 1, 0))
    return list(state.versions)


def _delay(draw: Draw, s: int, drop: bool = False) -> Any:
    """s sum |x_(k+1) - x_k|^2 - |x_t - x_(t-s)|^2 is a sum of squares."""
    x = _versions(draw, s)
    y = [b - a for a, b in pairwise(x)]
    total = x[-1] - x[0]
    squares = sum((y[k] - y[j]) @ (y[k] - y[j]) for j in range(s) for k in range(j))
    return [(s - drop) * sum(one @ one for one in y) - total @ total - squares]


def _one_more_step(draw: Draw) -> Any:
    """s sum y^2 - (sum y)^2 is the sum of the squares, from s steps to s + 1; nothing is left of it for one step."""
    s, squares, total, y = draw("s", positive=True), draw("squares"), draw("total"), draw("y")
    differences = s * squares - total**2 + s * y**2 - 2 * y * total + squares
    return [(s + 1) * (squares + y**2) - (total + y) ** 2 - differences]


@claim(
    "client-centric.delay",
    statement="|x_t - x_(t-s)|^2 = s eta^2 sum |y_k|^2 less a sum of squares, y_k = (x_(k+1) - x_k) / eta: at most "
    "tau eta^2 sum |y_k|^2 for s <= tau",
    source="delay term (L741-748), with y_k as L748 and L957 use it",
    extent=Extent.WHOLE,
    assumptions={"s": "the number of rounds between is in front"},
)
def delay() -> Finding:
    """The squares cover all differences of steps; a step y adds s y^2 - 2 y sum y_k + sum y_k^2: induction.

    At s = 1 to 5 the steps are those of CC-FedSGD on any changes, in two dimensions.

    L751 defines y_k with the eta that L748 has in front of it; the other uses have it once.
    """
    return identities(
        {"any s": _one_more_step} | {f"s = {s}": partial(_delay, s=s) for s in (1, 2, 3, 4, 5)},
        without={"s": {"s = 2, one less in front": lambda draw: _delay(draw, 2, True)}},
    )


@dataclass(frozen=True)
class Waits:
    """Squared steps, and one delay per round (the largest among the clients')."""

    squares: tuple[Fraction, ...]
    delays: tuple[int, ...]
    tau: int


def _waits(choose: Choose) -> Waits:
    T = choose.whole(1, 6)
    squares = tuple(choose.rational(0, 2, 2) for _ in range(T))
    return Waits(squares, tuple(min(t, choose.whole(0, 3)) for t in range(T)), choose.whole(0, 3))


@claim(
    "client-centric.delay-sum",
    statement="sum_t tau sum_(k = t - tau_t)^(t-1) |y_k|^2 <= tau^2 sum_t |y_t|^2",
    source="sum of the delay terms, step from L992 to L1006",
    extent=Extent.WHOLE,
    assumptions={"delays": "tau_(t,i) <= tau"},
)
def delay_sum() -> Finding:
    """Each y_k is counted in at most tau later rounds: terms s rounds ago sum to at most all terms, by induction
    over T, and there are tau such s. The search has T up to 6, delays up to 3.
    """
    proof = prove_each(every_size.one_more_round, every_size.one_more_lag, sample=every_size.on_the_line)

    def sides(w: Waits) -> Any:
        left = sum(w.tau * sum(w.squares[t - s : t], Fraction(0)) for t, s in enumerate(w.delays))
        yield left, w.tau**2 * sum(w.squares)

    looked = searched(Inequality(_waits, {"delays": lambda w: max(w.delays) <= w.tau}, sides), 2000)
    return confirmed(proof, looked, 2000)
