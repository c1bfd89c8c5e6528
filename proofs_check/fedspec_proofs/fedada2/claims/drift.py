"""The drift of the clients, L917-925, and eq. (11), which uses it: here the proof of Theorem 20 fails."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import sqrt
from typing import Any

import numpy as np

from fedspec.algorithms import fedada2
from fedspec.client.sm3_delayed import begin, sm3_ii_delayed
from fedspec.plan import Plan, Setup
from fedspec_proofs.claim import Extent, Finding, Severity, Verdict, claim, refutation
from fedspec_proofs.engines import Inequality, Sides, decide, exact, searched
from fedspec_proofs.fedada2.claims.assembly import round_falls
from fedspec_proofs.fedada2.claims.derivation import apart
from fedspec_proofs.fedada2.kit import runs
from fedspec_proofs.fedada2.kit.bounds import ABOVE, FLOAT, Functions, Setting, phi1, phi2
from fedspec_proofs.fedada2.kit.conditions import PRINTED, printed, smooth
from fedspec_proofs.fedada2.kit.problems import floating, gradients, problem
from fedspec_proofs.fedada2.kit.rational import F
from fedspec_proofs.kit.adding import confirmed, in_setting

STEP = "proof of Theorem 20 (L922-925)"
EQ_11 = "eq. (11) (L948)"
PAIR = problem((1, 1), (1, -1))


@claim(
    "fedada2.l922-smooth",
    statement="|grad F_i(x) - grad F_i(y)|^2 <= L |x - y|^2 for an L-smooth F_i, by which L922 bounds its first sum",
    source="ours, about the proof of Theorem 20 (L922)",
    verdict=Verdict.REFUTED,
)
def lost_square() -> Finding:
    """Squaring Assumption 1 gives L^2 in place of L."""
    f = problem((10, 0))
    (client,) = f.clients
    x, y = exact.vector("1/2"), exact.vector(0)
    (change,) = client(0, x) - client(0, y)
    return refutation(
        instance="a Huber client of scale 10 at x = 1/2 and y = 0",
        conditions={"Assumption 1 with L = 10 (z3)": smooth(f, F(10))},
        left=change**2,
        right=10 * (x - y)[0] ** 2,
    )


def _drift_right(s: Setting, by: Functions, gap: int) -> Any:
    """2 L (t - r)^2 |Phi2|^2 + 2 Ltilde |Phi1|^2."""
    phi = phi1(s, by)
    Ltilde = 2 * by.sqrt(s.d) * s.G / (s.eta_l * s.eps_s)
    return 2 * s.L * gap**2 * s.d * phi2(s, by, phi) ** 2 + 2 * Ltilde * s.d * phi**2


@claim(
    "fedada2.l922",
    statement="|grad f(x_(t-1)) - grad F_i(x^r_(i,p-1))|^2 <= 2 L (t - r)^2 |Phi2|^2 + 2 Ltilde |Phi1|^2",
    source=STEP,
    severity=Severity.PROOF_BREAKS,
    assumptions=PRINTED,
)
def drift() -> Finding:
    """Counterexample before the first step, where t = r = p = 1: nothing has moved, but the clients differ."""
    x, eta_l = exact.vector("1/2"), F(1, 1000)
    h = fedada2.FedAda2(eta_l=eta_l, eps=F(1), eta=F(1), beta1=F(0), tau=F(1), v0=F(1), eps_s=F(1, 4))
    s = Setting(1, 1, 1, 1, h.eta, eta_l, h.eps, h.eps_s, h.tau, h.beta1, F(0), h.v0, PAIR.L, PAIR.G, PAIR.gap(x))
    g = PAIR.clients[0](0, x)
    return refutation(
        instance="two Huber clients of scale 1 about 1 and -1, x_0 = 1/2, t = r = p = 1, K = z = d = 1, "
        "eps = tau = eta = 1, eta_l = 1/1000, eps_s = 1/4; the right side is a rational upper bound",
        conditions={
            **printed(PAIR, F(1), F(1), h),
            "the step is longer than eps_s": abs(g[0]) / (abs(g[0]) + 1) >= h.eps_s,
        },
        left=((PAIR.gradient(x) - g) ** 2).sum(),
        right=_drift_right(s, ABOVE, 0),
    )


def _watched(case: runs.Case, T: int) -> tuple[list[Any], list[list[Any]], list[Any]]:
    """Some rounds in floating point: x_0, x_1, ...; the gradients that each round used; the server after each."""
    f, h = case.f.floats(), floating(case.h)
    state = fedada2.init(h, np.zeros(1), Setup((1,) * len(f.scales), {"w": (1,)}))
    xs, used, servers = [state.x], [], [state.server]
    for _ in range(T):
        rows = gradients(fedada2.step, h, f, state.x, case.who)
        used.append([g * taken for row in rows for g, taken in row])
        state, _ = fedada2.step(h, state, f.clients, case.who)
        xs.append(state.x)
        servers.append(state.server)
    return xs, used, servers


def _drift(*, as_printed: bool) -> Inequality[runs.Case]:
    def sides(case: runs.Case) -> Iterator[Sides]:
        T = min(case.T, 3)
        xs, used, _ = _watched(case, T)
        s, f = runs.setting(case, T), case.f.floats()
        D = runs.largest_drift(case, xs[:-1]) * float(case.D)
        moved = float(phi2(s, FLOAT, phi1(s, FLOAT, printed=False))) ** 2
        for r in range(1, T + 1):
            for t in range(r, T + 1):
                server, clients = 2 * float(s.L) ** 2 * (t - r) ** 2 * moved, 2 * D
                repaired = {"2 L^2 (t - r)^2 |Phi2|^2": server, "2 D": clients}
                right = float(_drift_right(s, FLOAT, t - r)) if as_printed else repaired
                for g in used[r - 1]:
                    yield float(((f.gradient(xs[t - 1]) - g) ** 2).sum()), right

    return Inequality(runs.drawn(runs.algorithm_2), {**runs.MET} if as_printed else {**runs.MET, **runs.DRIFT}, sides)


@claim(
    "fedada2.l922-repaired",
    statement="|grad f(x_(t-1)) - grad F_i(x^r_(i,p-1))|^2 <= 2 L^2 (t - r)^2 |Phi2|^2 + 2 D",
    source=STEP,
    extent=Extent.WHOLE,
    assumptions={**runs.WORDS, **runs.DRIFT_WORDS, **runs.ALGORITHM_2},
    chain="round-lines lemma-16",
)
def drift_repaired() -> Finding:
    """L and Ltilde are squared, and Ltilde^2 |Phi1|^2 becomes the drift D; triangle inequality via grad f(x_(r-1)).

    The search has d = 1 and up to three rounds.
    """
    looked = in_setting(searched(_drift(as_printed=False), 600), runs.ALGORITHM_2)
    return confirmed((decide(apart, ablate=False),), looked, 600)


def _roots(case: runs.Case, x: Any, i: int) -> Iterator[Any]:
    """sqrt(v_p) + eps of each local step of a client from x."""
    f = case.f.floats()
    cover = fedada2.init(case.h, exact.vector(0), Setup((1,) * len(f.scales), {"w": (1,)})).cover
    state = begin(x, cover)
    rates: dict[str, Any] = {"eta_l": float(case.h.eta_l), "eps": float(case.h.eps), "eps_s": float(case.h.eps_s)}
    for k in range(case.K):
        state = sm3_ii_delayed(state, f.clients[i](k, state.x), cover, z=case.h.z, **rates)
        yield sqrt(state.nu[0]) + float(case.h.eps)


RISES = ("T_1", "server", "clients")
"""Names of the results of :func:`_rises`: bound of T_(1,r), drift of the server since round r, drift of the clients
in round r.
"""


def _rises(s: Setting, by: Functions, phi: Any, alpha: Any, gap: int, square: Any, D: Any) -> tuple[Any, Any, Any]:
    """Terms that eq. (11) adds for a round r that lies ``gap`` rounds back, without its factor (1 - b) eta b^(t-r).

    ``square`` is Delta_t^2 / v_t; D is None for the printed right side.
    """
    scale = s.eta_l * s.K / (alpha * s.tau * (by.sqrt(s.v0) + s.eps) ** 2)
    length = by.sqrt(s.d) * phi
    moved = s.d * phi2(s, by, phi) ** 2
    Ltilde = 2 * by.sqrt(s.d) * s.G / (s.eta_l * s.eps_s)
    late = (s.L if D is None else s.L**2) * gap**2 * moved
    return length * s.G / s.tau * square, scale * late, scale * (Ltilde * s.d * phi**2 if D is None else D)


@claim(
    "fedada2.eq-11",
    statement="Eq. (11): f(x_t) - f(x_(t-1)) is at most its four sums, the last of which is negative",
    source=EQ_11,
    severity=Severity.PROOF_BREAKS,
    assumptions={
        **PRINTED,
        "sampling": "clients are sampled by any scheme (L670), and eq. (11) is claimed of every draw",
    },
)
def descent() -> Finding:
    """Counterexample: in the only round just one client takes part, which points uphill for f: f rises, while the right
    side is below 0.

    v_0 = 1 and Delta = 2n/(n^2 - 1) make the root of v_1 rational.
    """
    n, x = 10001, exact.vector("1/2")
    delta = F(2 * n, n * n - 1)
    g = PAIR.clients[0](0, x)[0]
    u = abs(g) / (abs(g) + 1)
    h = fedada2.FedAda2(eta_l=delta / u, eps=F(1), eta=F(1), beta1=F(0), tau=F(1), v0=F(1), eps_s=F(1, 4))
    s = Setting(1, 1, 1, 1, h.eta, h.eta_l, h.eps, h.eps_s, h.tau, h.beta1, F(0), h.v0, PAIR.L, PAIR.G, PAIR.gap(x))
    state = fedada2.init(h, x, Setup((1, 1), {"w": (1,)}))
    after, _ = fedada2.step(h, state, PAIR.clients, Plan((0,), (1,), (1,)))
    gamma = h.eta_l / (abs(g) + h.eps)
    phi, slope = phi1(s, ABOVE), PAIR.gradient(x)[0]
    square = (after.server.v[0] - h.v0) / after.server.v[0]
    rises = h.eta**2 * s.L * phi**2 / h.tau**2 + h.eta * sum(
        _rises(s, ABOVE, phi, gamma / (2 * h.eta_l), 0, square, None)
    )
    falls = F(3, 4) * h.eta * gamma * slope**2 / (1 + h.tau)
    return refutation(
        instance="two Huber clients of scale 1 about 1 and -1, f their mean, the first is drawn; x_0 = 1/2, t = "
        "1, K = z = d = 1, "
        f"eps = tau = eta = v_0 = 1, beta1 = 0, eps_s = 1/4, eta_l = {h.eta_l}; the right side is a rational "
        "upper bound",
        conditions={**printed(PAIR, F(1), F(1), h), "the step is longer than eps_s": u >= h.eps_s},
        left=PAIR.value(after.x) - PAIR.value(x),
        right=rises - falls,
    )


def _descent(*, as_printed: bool) -> Inequality[runs.Case]:
    """Bound with the negative sum on the left side."""

    def sides(case: runs.Case) -> Iterable[Sides]:
        T = min(case.T, runs.ROUNDS, 3)
        xs, _, servers = _watched(case, T)
        s, f = runs.setting(case, T), case.f.floats()
        D = None if as_printed else runs.largest_drift(case, xs[:-1]) * float(case.D)
        phi, b, S = phi1(s, FLOAT, printed=as_printed), float(s.b), case.who.participants
        inverse = [[1 / root for i in S for root in _roots(case, x, i)] for x in xs[:-1]]
        gammas = [float(s.eta_l) * sum(row) / len(S) for row in inverse]
        out = []
        for t in range(1, T + 1):
            now, ago = float(servers[t].v[0]), float(servers[t - 1].v[0])
            square = (now - ago) / now if now else 0.0
            slope = float(f.gradient(xs[t - 1])[0]) ** 2 / (sqrt(ago) + float(s.tau))
            left = float(f.value(xs[t]) - f.value(xs[t - 1]))
            right = dict.fromkeys(RISES, 0.0)
            right["step"] = float(s.eta**2 * s.L * s.d * s.d * F(phi) ** 2 / s.tau**2)
            for r in range(1, t + 1):
                share = (1 - b) * float(s.eta) * b ** (t - r)
                alpha = gammas[r - 1] / (2 * float(s.eta_l) * s.K)
                left += share * 0.75 * gammas[r - 1] * slope
                for name, part in zip(RISES, _rises(s, FLOAT, phi, alpha, t - r, square, D), strict=True):
                    right[name] += share * float(part)
            out.append((left, right))
        return out

    return Inequality(runs.drawn(runs.algorithm_2), {**runs.MET} if as_printed else {**runs.MET, **runs.DRIFT}, sides)


@claim(
    "fedada2.eq-11-repaired",
    statement="Eq. (11) with Phi1 as the proof has it, L^2 in place of L in its third sum and D in place of "
    "Ltilde |Phi1|^2",
    source=EQ_11,
    extent=Extent.WHOLE,
    assumptions={**runs.WORDS, **runs.DRIFT_WORDS, **runs.ALGORITHM_2},
    chain="round-assembly lemma-15-repaired",
)
def descent_repaired() -> Finding:
    """Bound with the gamma_r of every round: a sum of the lines of a round, in every dimension.

    The search measures gamma_r, on the line, in up to three rounds, and stays far below the bound.
    """
    looked = in_setting(searched(_descent(as_printed=False), 400, drop=150), runs.ALGORITHM_2)
    return confirmed((round_falls.body(),), looked, 400)
