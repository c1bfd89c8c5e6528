"""Derivation of the corrected eq. (11) and Theorem 20 from the lemmas: the inequalities between them.

Round t starts from x_(t-1), where f has the slope g. Its server has q = 1/(sqrt(v_(t-1)) + tau) before it. A local step
of round r uses a gradient g - h and has w = 1/(sqrt(v) + eps) <= W = 1/(sqrt(v_0) + eps), so that Delta_r =
-(eta_l/|S|) sum (g - h) w and gamma_r = (eta_l/|S|) sum w. The relatives of Theorem 20 differ in w, which has a weight
on top (Theorem 25), in W, and in the number of gradients that are added up, which replaces K. These are lines of one
coordinate, or of lengths; :mod:`.assembly` adds them up, over coordinates, over r <= t with (1 - b) eta b^(t-r), over t
<= T.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from fedspec_proofs.claim import Finding, claim
from fedspec_proofs.engines import Draw, Statement, all_proved, decide, every, identities, several
from fedspec_proofs.fedada2.claims.assembly import round_falls, theorem_adds_up
from fedspec_proofs.fedada2.claims.descent import ends
from fedspec_proofs.fedada2.kit.bounds import Constants, Functions, theorem_20

TIMEOUT_MS = 4000

Part = Callable[[Draw], Statement]


def _smooth(draw: Draw) -> Statement:
    """The last term of the descent inequality, with Lemma 16's |s| <= eta Phi1/tau for the server's step s."""
    s, eta, phi, tau, L = several(draw, "s, eta, Phi1, tau, L")
    given = {
        "tau > 0, L >= 0": every(tau > 0, L >= 0),
        "Lemma 16": every(s * tau <= eta * phi, -s * tau <= eta * phi),
    }
    return Statement(given, {"L s^2/2 <= eta^2 L Phi1^2/tau^2": L * s**2 * tau**2 <= 2 * eta**2 * L * phi**2})


def _first(draw: Draw) -> Statement:
    """T_(1,r): g Delta_r times a difference of denominators, which L882 bounds by k = Delta_t^2/(tau v_t)."""
    g, G, delta, phi, difference, k = several(draw, "g, G, Delta_r, Phi1, difference, k")
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
    u, U, d, k = several(draw, "u, U, d, k")
    return Statement(
        {"|u| <= U": every(u <= U, -u <= U), "|d| <= k": every(d <= k, -d <= k)}, {"u d <= U k": u * d <= U * k}
    )


def apart(draw: Draw) -> Statement:
    """Bound of h = A + B: A is f's change of slope from x_(r-1) to x_(t-1), B its gap there to the gradient used."""
    A, B, L, gap, move, D = several(draw, "A, B, L, t - r, Phi2, D")
    far, one, other, w = several(draw, "far, B_1, B_2, w")
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
    """A gradient of T_(2,r): q g h w <= (alpha/2) q g^2 + (E + D) W^2/(alpha tau), E = L^2 (t - r)^2 Phi2^2."""
    g, h, w, W, alpha, share, ED, X, Z = several(draw, "g, h, w, W, alpha, q tau, E + D, X, Z")
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
    total, weights, n, square, rest, term, w = several(draw, "sum, sum w, n, q g^2, (alpha/2) q g^2 + Z, term, w")
    gamma, rate, alpha, low, Y = several(draw, "gamma, eta_l K, alpha, alpha1, Y")
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


Bounds = Callable[[Draw], tuple[Any, Constants, Any, Any]]
"""Returns symbols: the setting, a statement's constants, the number of gradients in a client's change, and W, which
bounds a gradient's weight over its denominator.
"""


def of_theorem_20(draw: Draw) -> tuple[Any, Constants, Any, Any]:
    """Symbols of Theorem 20: one gradient per step; v_0 = w^2."""
    s, by = symbols(draw)
    return s, theorem_20(s, by, printed=False), s.K, 1 / (by.sqrt(s.v0) + s.eps)


def symbols(draw: Draw) -> tuple[Any, Functions]:
    """Symbolic setting with a rational root of v_0; every other root is one variable."""
    names = ("K", "d", "eta_l", "eps", "tau", "G", "updates", "z")
    w, root, log = several(draw, "w, root, log", positive=True)
    s = SimpleNamespace(**{name: draw(name, positive=True) for name in names}, v0=w**2)
    return s, Functions(lambda q: w if q == w**2 else root, lambda _: log)


def fitting(of: Bounds) -> Finding:
    """Proved if the factor of Psi3 and Psi4 is the assembly's 2 rate^2 W^2/(eta_l gamma1 tau) with rate = eta_l n."""

    def off(draw: Draw) -> list[Any]:
        s, k, n, W = of(draw)
        return [k.drift * k.gamma1 * s.tau - 2 * s.eta_l * n**2 * W**2]

    return identities({"the statement's own constants": off})


def fits_gamma(of: Bounds, least: Callable[[Draw, Any], Any]) -> Finding:
    """Proved if a statement's gamma_1 is the lower bound of gamma_r in fedada2.gamma-lower, with the statement's M.

    Args:
        of: function that returns the statement's setting and constants, from the variables.
        least: function that returns the lower bound, from the variables and the setting.
    """

    def off(draw: Draw) -> list[Any]:
        s, k, _, _ = of(draw)
        return [k.gamma1 - least(draw, s)]

    return identities({"gamma_1": off})


ROUND: tuple[Part, ...] = (_smooth, _first, _times, apart, _young, _gathered, ends)
"""Lines that add up to eq. (11)."""


def derived(of: Bounds) -> list[Finding]:
    """Findings that add up to a theorem: one round, all rounds, and the theorem's own constants."""
    return [round_falls.body(), theorem_adds_up.body(), fitting(of)]


@claim(
    "fedada2.round-lines",
    statement="The lines between the lemmas and eq. (11): T_1 by Assumption 2, Lemma 15 and the change of the "
    "denominators, the drift h by way of two gradients, Young's inequality with alpha = gamma/(2 eta_l n), which "
    "leaves -(3/4) gamma, and the lower ends of gamma_r and of 1/(sqrt(v_t) + tau)",
    source="ours: steps of the proof of Theorem 20 (L872-948), repaired",
    assumptions={
        "Assumption 1": "f changes its slope by at most L times the way, (t - r) |Phi2| at most",
        "Assumption 2": "|grad f| <= G in every coordinate",
        "D": "what the squared distance between the gradients is at most: the drift of the clients",
        "L882": "the denominators change by at most Delta_t^2/(tau v_t): fedada2.l882",
        "Lemma 15": "|Delta_r| <= Phi1: the lemma on the clients' changes",
        "alpha": "alpha = gamma/(2 eta_l n)",
        "w": "0 <= w <= W, the weight of a gradient over its denominator",
    },
    chain="l882 lemma-16",
)
def round_lines() -> Finding:
    """Per coordinate, or for lengths; means over clients and sums over steps by induction."""
    bodies = {body.__name__.strip("_"): decide(body, instances=10, timeout_ms=TIMEOUT_MS) for body in ROUND}
    return all_proved(bodies, {"Assumption 1", "Assumption 2", "D", "L882", "Lemma 15", "alpha", "w"})
