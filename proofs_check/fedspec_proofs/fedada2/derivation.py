"""How the repaired eq. (11) and Theorem 20 follow from the lemmas, on the line: the inequalities between them.

Round t starts from x_(t-1), where f has the slope g. Its server has q = 1/(sqrt(v_(t-1)) + tau) before it. A local step
of round r uses a gradient g - h and has w = 1/(sqrt(v) + eps) <= W = 1/(sqrt(v_0) + eps), so that
Delta_r = -(eta_l/|S|) sum (g - h) w and gamma_r = (eta_l/|S|) sum w. Its relatives differ in w, which has a weight on
top (Theorem 25), in W, and in how many gradients are added up, which stands for K. What is left to words is that
inequalities are added with weights that are not negative: over steps and clients, over r <= t with
(1 - b) eta b^(t-r), over t <= T.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator

from fedspec_proofs.claim import Finding, Verdict
from fedspec_proofs.engines.algebra import Statement, decide
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.exact import generator
from fedspec_proofs.engines.smt import every
from fedspec_proofs.fedada2.bounds import FLOAT, Constants, Setting, c, phi2, psis, theorem_20
from fedspec_proofs.fedada2.descent import denominators
from fedspec_proofs.fedada2.logarithms import sharper_22
from fedspec_proofs.fedada2.server_steps import lemma as lemma_16
from fedspec_proofs.fedada2.sums import lemma_21
from fedspec_proofs.words import said

SETTINGS = 40

Part = Callable[[Draw], Statement]


def _smooth(draw: Draw) -> Statement:
    """The last term of the descent inequality, with Lemma 16's |s| <= eta Phi1/tau for the server's step s."""
    s, eta, phi, tau, L = (draw(name) for name in ("s", "eta", "Phi1", "tau", "L"))
    given = {
        "tau > 0, L >= 0": every(tau > 0, L >= 0),
        "Lemma 16": every(s * tau <= eta * phi, -s * tau <= eta * phi),
    }
    return Statement(given, {"L s^2/2 <= eta^2 L Phi1^2/tau^2": L * s**2 * tau**2 <= 2 * eta**2 * L * phi**2})


def _first(draw: Draw) -> Statement:
    """T_(1,r): g Delta_r times a difference of denominators, which L882 bounds by k = Delta_t^2/(tau v_t)."""
    g, G, delta, phi, difference, k = (draw(name) for name in ("g", "G", "Delta_r", "Phi1", "difference", "k"))
    given = {
        "Assumption 2": every(g <= G, -g <= G),
        "Lemma 15": every(delta <= phi, -delta <= phi),
        "L882": every(difference <= k, -difference <= k),
    }
    pairs = {"g Delta_r": g * delta, "-g Delta_r": -g * delta}
    return Statement(
        given,
        {
            **{f"{words} <= G Phi1": product <= G * phi for words, product in pairs.items()},
            "and then times the difference": every(G * phi >= 0, k >= 0),
        },
    )


def _times(draw: Draw) -> Statement:
    """u d <= U k from |u| <= U and |d| <= k."""
    u, U, d, k = (draw(name) for name in ("u", "U", "d", "k"))
    return Statement(
        {"|u| <= U": every(u <= U, -u <= U), "|d| <= k": every(d <= k, -d <= k)}, {"u d <= U k": u * d <= U * k}
    )


def _apart(draw: Draw) -> Statement:
    """h = A + B: A what f' changes from x_(r-1) to x_(t-1), B what it differs there from the gradient that was used."""
    A, B, L, gap, move, D = (draw(name) for name in ("A", "B", "L", "t - r", "Phi2", "D"))
    far, one, other, w = (draw(name) for name in ("far", "B_1", "B_2", "w"))
    given = {
        "Assumption 1": every(L * gap * move >= A, L * gap * move >= -A),
        "D": B * B <= D,
        "Lemma 16": every(L >= 0, gap >= 0, move >= 0, far <= gap * move),
        "D of two clients": every(one * one <= D, other * other <= D, w >= 0, w <= 1),
    }
    return Statement(
        given,
        {
            "h^2 <= 2 L^2 (t - r)^2 Phi2^2 + 2 D": 2 * (L * gap * move) ** 2 + 2 * D >= (A + B) ** 2,
            "one more round": far + move <= (gap + 1) * move,
            "D of a mean, a client at a time": (w * one + (1 - w) * other) ** 2 <= D,
        },
    )


def _young(draw: Draw) -> Statement:
    """One gradient of T_(2,r): q g h w <= (alpha/2) q g^2 + (E + D) W^2/(alpha tau), E = L^2 (t - r)^2 Phi2^2."""
    g, h, w, W, alpha, share, ED, X, Z = (
        draw(name) for name in ("g", "h", "w", "W", "alpha", "q tau", "E + D", "X", "Z")
    )
    given = {
        "h": h * h <= 2 * ED,
        "w": every(w >= 0, w <= W),
        "q tau": every(share >= 0, share <= 1),
        "X, Z": every(Z >= X, Z >= 0),
    }
    return Statement(
        given,
        {
            "2 alpha g h w - alpha^2 g^2 <= h^2 w^2": 2 * alpha * g * h * w - alpha**2 * g**2 <= h**2 * w**2,
            "h^2 w^2 <= 2 (E + D) W^2": h**2 * w**2 <= 2 * ED * W**2,
            "times q tau": share * X <= Z,
        },
    )


def _gathered(draw: Draw) -> Statement:
    """The sum over n steps of all clients, a step at a time; then alpha = gamma/(2 eta_l K), at least alpha1."""
    total, weights, n, square, rest, term, w = (
        draw(name) for name in ("sum", "sum w", "n", "q g^2", "(alpha/2) q g^2 + Z", "term", "w")
    )
    gamma, rate, alpha, low, Y = (draw(name) for name in ("gamma", "eta_l K", "alpha", "alpha1", "Y"))
    given = {
        "so far": total <= -square * weights + n * rest,
        "one more": term <= -square * w + rest,
        "alpha": every(rate > 0, 2 * rate * alpha == gamma),
        "alpha >= alpha1": every(alpha >= low, low > 0, Y >= 0),
    }
    return Statement(
        given,
        {
            "after it": total + term <= -square * (weights + w) + (n + 1) * rest,
            "-gamma + eta_l K alpha/2 = -(3/4) gamma": 4 * (-gamma + rate * alpha / 2) == -3 * gamma,
            "Y/alpha <= Y/alpha1": Y / alpha <= Y / low,
        },
    )


def _ends(draw: Draw) -> Statement:
    """The lower end of w, and of q with v_(t-1) <= vt_0 + T Phi1^2: both fall as their roots rise."""
    a, top, add = draw("root"), draw("largest root"), draw("stabiliser")
    given = {"roots": every(a >= 0, top >= 0, a * a <= top * top), "stabiliser > 0": add > 0}
    return Statement(given, {"1/(root + stabiliser) >= its lower end": 1 / (a + add) >= 1 / (top + add)})


def _scaled(draw: Draw) -> Statement:
    """y a <= y b from a <= b and y >= 0: how a lemma is put into its place in the sum."""
    y, a, b = draw("y"), draw("a"), draw("b")
    return Statement({"y >= 0": y >= 0, "a <= b": a <= b}, {"y a <= y b": y * a <= y * b})


def _summed(draw: Draw) -> Statement:
    """All rounds: the descent inequalities added up, f(x_T) >= f*, and what each sum is at most."""
    fall, sum6, least6 = draw("f(x_0) - f(x_T)"), draw("sum6"), draw("least Psi6")
    psi1, psi2 = draw("Psi1"), draw("Psi2")
    sums = {i: (draw(f"sum{i}"), draw(f"Psi{i}")) for i in (3, 4, 5)}
    given = {
        "f(x_T) >= f*": fall <= psi1,
        "added up": sum6 <= fall + psi2 + sum(total for total, _ in sums.values()),
        "every slope is at least the least": least6 <= sum6,
        "D sum_t (1 - b^t) <= D T (1 - b^T)": sums[3][0] <= sums[3][1],
        "Lemma 21": sums[4][0] <= sums[4][1],
        "Lemma 22": sums[5][0] <= sums[5][1],
    }
    above = psi1 + psi2 + sum(psi for _, psi in sums.values())
    return Statement(given, {"least Psi6 <= Psi1 + ... + Psi5": least6 <= above})


Bounds = tuple[Constants, float, float]
"""The constants that a statement is typed with, how many gradients a client's change adds up, each with its weight and
denominator, and W."""


def composed(s: Setting, D: float, k: Constants, n: float, W: float) -> tuple[float, ...]:
    """Psi1 to Psi6 as the steps above put them together from Phi1 and gamma1, d = 1."""
    phi, rate = float(k.phi1), s.eta_l * n
    Z = W**2 * 2 * rate / (k.gamma1 * s.tau)
    late = (1 - s.b) * s.eta * rate * (s.L * phi2(s, FLOAT, phi)) ** 2 * Z
    return (
        s.gap,
        s.eta**2 * s.L * phi**2 / s.tau**2 * s.T,
        s.eta * rate * D * Z * s.T * (1 - s.b**s.T),
        late * c(s.b) * s.T,
        s.eta * phi * s.G / s.tau * (1 - s.b + math.log(1 + s.T * phi**2 / s.tau**2)),
        3 / 4 * s.eta * (1 - s.b) * k.gamma1 * s.T / (math.sqrt(s.vt0 + s.T * phi**2) + s.tau),
    )


def of_theorem_20(s: Setting) -> Bounds:
    """One gradient a step."""
    return theorem_20(s, FLOAT, printed=False), s.K, 1 / (math.sqrt(s.v0) + s.eps)


def same_terms(of: Callable[[Setting], Bounds]) -> Finding:
    """Whether they are the terms that the repaired statement is typed with, at random settings."""
    rng = generator()
    for k in range(SETTINGS):
        T, K, z = (int(rng.integers(1, n)) for n in (100, 6, 4))
        eta, eta_l, eps, tau, v0, more, L, G, gap, D = (float(v) for v in rng.uniform(0.1, 3, 10))
        b = (0.0, 0.25, 0.5, 0.9)[k % 4]
        s = Setting(T, K, z, 1, eta, eta_l, eps, 0.1, tau, b, v0, tau**2 + more, L, G, gap)
        constants, n, W = of(s)
        typed, own = psis(s, constants, FLOAT, D), composed(s, D, constants, n, W)
        wrong = [i for i, pair in enumerate(zip(typed, own, strict=True), 1) if not math.isclose(*pair, rel_tol=1e-12)]
        if wrong:
            return Finding(Verdict.UNKNOWN, f"Psi{wrong[0]} is typed otherwise than it is composed, at {said(s)}")
    return Finding(Verdict.PROVED, f"Psi1 to Psi6 as typed are those of the steps, at {SETTINGS} settings to 1e-12")


ROUND: tuple[Part, ...] = (_smooth, _first, _times, _apart, _young, _gathered, _ends)
"""What eq. (11) puts together."""


def shown(parts: tuple[Part, ...]) -> Iterator[Finding]:
    """Each part, by z3."""
    return (decide(part, ablate=False, instances=10) for part in parts)


ALL: tuple[Part, ...] = (*ROUND, _scaled, _summed)
"""What Theorem 20 does, and its relatives with other constants."""


def derived(of: Callable[[Setting], Bounds], clients: Iterable[Finding]) -> Iterator[Finding]:
    """The whole derivation: what bounds the clients, the lemmas on the server and the sums, and all between them."""
    yield from clients
    for one in (lemma_16, denominators, lemma_21, sharper_22):
        yield one.body()
    yield from shown(ALL)
    yield same_terms(of)
