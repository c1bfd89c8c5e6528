"""Distance of a client's local model from its start, eqs. (69)-(79) of App. C.5."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from fedspec.algorithms.local import local_solve
from fedspec.mixing.accumulation import accumulation
from fedspec.problems.quadratic import given
from fedspec.readings import Solver
from fedspec_proofs.claim import Dropped, Extent, Finding, Severity, claim, refutation
from fedspec_proofs.engines import Statement, all_proved, decide, every, exact
from fedspec_proofs.engines.draw import At, Draw, curried, several
from fedspec_proofs.engines.identities import Body, identities
from fedspec_proofs.fednova.kit.bounds import rational
from fedspec_proofs.fednova.kit.responses import left_over


def _after(solver: Solver, k: int, vector: str, tau: int) -> Body:
    """x_0 - x_k - eta sum_(s<k) a_s g_s, with the first k entries of a^(tau) or with a^(k)."""
    return lambda draw: -left_over(draw, solver, k, solver, tau if vector == "whole" else k)


PAIRS = tuple((k, tau) for tau in (2, 3, 4) for k in range(1, tau))


def _distance(solver: Solver) -> Finding:
    """|x_0 - x_1|^2 and eta^2 |a_0 g_0|^2 at rho = alpha = 1/2, eta = 1, tau = 2, g = 1."""
    h = {"eta_l": rational(1), "mu": rational(1, 2), "rho": rational(1, 2)}
    x, g = exact.vector(0), [exact.vector(1), exact.vector(1)]
    a = accumulation(solver, 2, alpha=rational(1, 2), rho=rational(1, 2))
    one, two = (local_solve(solver, x, given(g), k, **h) for k in (1, 2))
    return refutation(
        instance=f"{solver}, alpha = rho = 1/2, eta = 1, tau = 2, k = 1, both gradients 1, a = ({a[0]}, {a[1]})",
        conditions={
            "Delta = -eta G a": two[0] - x[0] == -sum(a),
            "a >= 0": min(a) >= 0,
            "no noise (Assumption 2, sigma^2 = 0)": g[0][0] == g[1][0],
        },
        left=(x - one)[0] ** 2,
        right=a[0] ** 2,
        relation="=",
    )


@claim(
    "fednova.eq-69",
    statement="E|x_0 - x_k|^2 = eta^2 E|sum_(s<k) a_s g_s|^2 for proximal SGD",
    source="eq. (69) (L526)",
    severity=Severity.PROOF_BREAKS,
)
def not_proximal() -> Finding:
    """Counterexample: the right side is a quarter of the left, so <= fails too, and with it Theorem 1's C."""
    return _distance(Solver.PROXIMAL)


@claim(
    "fednova.eq-69-repaired",
    statement="x_0 - x_k = eta sum_(s<k) a^(k)_s g_s for every solver, a^(k) the accumulation vector of k steps",
    source="ours, in place of eq. (69) (L526)",
    sizes="k <= 3, d = 2",
    assumptions={"own": "the vector is that of k steps, not the first k entries of that of tau steps"},
)
def own_vector() -> Finding:
    """Proof for every solver, k = 1, 2, 3, any gradients; counterexample: proximal SGD with the first entries of a.

    For every k see ``fednova.accumulation-every-tau``.
    """
    bodies = {f"{s}, k = {k}": _after(s, k, "own", k) for s in Solver for k in (1, 2, 3)}
    other = {"proximal, k = 1, tau = 2": _after(Solver.PROXIMAL, 1, "whole", 2)}
    return identities(bodies, without={"own": other}, instances=10)


@claim(
    "fednova.eq-69-momentum-bound",
    statement="For momentum a^(k)_s <= a_s for s < k <= tau: where (69) fails its right side is the larger one, entry "
    "by entry",
    source="ours, about eqs. (69)-(75) (L526-545)",
    assumptions={"rho": "rho >= 0"},
)
def momentum_bound() -> Finding:
    """Proof on the vectors for tau <= 4 and every k < tau, and for every tau by induction.

    a^(k)_s = S_(k-s) with S_n = 1 + rho + ... + rho^(n-1), and S grows with n: S_(n+1) = S_n + rho^n, rho^n >= 0.
    """

    def body(draw: Draw) -> Statement:
        rho = draw("rho")
        pairs = [
            (accumulation(Solver.MOMENTUM, k, rho=rho)[s], accumulation(Solver.MOMENTUM, tau, rho=rho)[s])
            for k, tau in PAIRS
            for s in range(k)
        ]
        shown = {f"pair {n}": below <= above for n, (below, above) in enumerate(pairs)}
        return Statement({"rho": rho >= 0}, shown)

    def one_more(draw: Draw) -> Statement:
        rho, S, power = draw("rho"), draw("S"), draw("power")
        return Statement(
            {"rho": rho >= 0, "so far": power >= 0}, {"S_(n+1) >= S_n": S + power >= S, "rho^(n+1)": rho * power >= 0}
        )

    def entries(draw: Draw) -> Iterable[Any]:
        rho = draw("rho")
        for tau in range(1, 7):
            a = accumulation(Solver.MOMENTUM, tau, rho=rho)
            yield from (a[s] - sum(rho**j for j in range(tau - s)) for s in range(tau))

    parts = {
        "tau <= 4": decide(body),
        "from n to n + 1": decide(one_more),
        "a_s = S_(tau-s)": identities({"tau <= 6": entries}),
    }
    return all_proved(parts, ("rho",))


@curried
def _weighted(draw: Draw, tau: int, power: int) -> Statement:
    """(76) or (78) for a vector of tau entries."""
    a = draw("a", tau)
    left, norm, before, _ = _sums(list(a), power)
    signs = [*(a_k >= 0 for a_k in a), norm > 0]
    # Times ||a||_1 > 0, which spares z3 a division.
    return Statement({"positive": every(*signs)}, {"bound": left <= before * norm})


def _sums(a: list[Any], power: int) -> tuple[Any, Any, Any, Any]:
    """sum_k a_k sum_(s<k) a_s^power, ||a||_1, and sum a_s^power without and with the last entry."""
    left = sum(a[k] * sum(a[s] ** power for s in range(k)) for k in range(1, len(a)))
    before = sum(a_s**power for a_s in a[:-1])
    return left, sum(a), before, before + a[-1] ** power


@curried
def _one_more(draw: Draw, power: int) -> Statement:
    """Step from a vector to a vector with a further entry a: the bound, with the needed facts about the sums."""
    left, norm, before, whole, a = several(draw, "left, norm, before, whole, a")
    so_far = [left <= norm * before, norm >= 0, before >= 0, whole >= before]
    return Statement(
        {"positive": a >= 0, "so far": every(*so_far)},
        {
            "bound": left + a * whole <= (norm + a) * whole,
            "again": every(norm + a >= 0, whole >= 0, whole + a**power >= whole),
        },
    )


def _vectors(power: int, **negative: int) -> Finding:
    """Induction over tau, from a single entry, where both sides are 0; the sums of tau + 1 entries by definition."""

    def sums(draw: Draw) -> Iterable[Any]:
        a = list(draw("a", 4))
        (left, norm, _, whole), later = _sums(a[:3], power), _sums(a, power)
        yield from (
            x - y for x, y in zip(later, (left + a[3] * whole, norm + a[3], whole, whole + a[3] ** power), strict=True)
        )

    there = _weighted(2, power)(At({name: rational(value) for name, value in negative.items()}))
    without = Dropped(not there.given["positive"] and not there.shown["bound"], f"a = {tuple(negative.values())}")
    parts = {
        "tau = 2": decide(_weighted(2, power), ablate=False),
        "from tau to tau + 1": decide(_one_more(power), ablate=False),
        "what one more entry adds": identities({"tau = 3": sums}),
    }
    return replace(all_proved(parts, ()), dropped={"positive": without})


POSITIVE = {"positive": "a_k >= 0, not all of them 0"}


@claim(
    "fednova.eq-76",
    statement="sum_k a_k sum_(s<k) a_s^2 / ||a||_1 <= ||a||_2^2 - a_(-1)^2",
    source="eqs. (76)-(77) (L540-541)",
    extent=Extent.WHOLE,
    assumptions=POSITIVE,
)
def squares_before() -> Finding:
    """Proof for every number of steps: the inner sum is largest for the last k."""
    return _vectors(2, a_0=-1, a_1=2)


@claim(
    "fednova.eq-78",
    statement="sum_k a_k sum_(s<k) a_s / ||a||_1 <= ||a||_1 - a_(-1)",
    source="eqs. (78)-(79) (L542-543)",
    extent=Extent.WHOLE,
    assumptions=POSITIVE,
)
def entries_before() -> Finding:
    """Proof for every number of steps: the inner sum is largest for the last k."""
    return _vectors(1, a_0=-2, a_1=1)
