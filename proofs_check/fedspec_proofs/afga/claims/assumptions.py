"""Assumptions 4.1-4.5: toy problems that meet each of them with known constants, and some that don't."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as F
from typing import Any

from fedspec.mixing import topology
from fedspec_proofs.afga.kit.constants import Bump, Well, doubly_stochastic, keeps, mixes, only_consensus_is_fixed
from fedspec_proofs.afga.kit.network import EXACT
from fedspec_proofs.afga.kit.networks import two_tilts
from fedspec_proofs.afga.kit.rounds import clients, tossed
from fedspec_proofs.claim import Engine, Finding, Verdict, claim
from fedspec_proofs.engines import Draw, Statement, decide, decided, every, exact, identities, identity, signs


def all_checked(checks: dict[str, bool], verdict: Verdict = Verdict.CHECKED) -> Finding:
    """Finding from a list of exact checks: the given verdict if all are true, else refuted."""
    lines = "\n".join(f"{'yes' if ok else 'NO'}: {words}" for words, ok in checks.items())
    return Finding(verdict if all(checks.values()) else Verdict.REFUTED, lines)


@claim(
    "afga.assumption-4-1",
    statement="Wells s log(1 + (x - b)^2)/2 with 0 <= s <= 1 are 1-smooth; the slopes of a x^2/2 change by exactly "
    "|a| |x - y|",
    source="ours, objectives for Assumption 4.1 (L245)",
    assumptions={"s": "0 <= s <= 1"},
)
def assumption_4_1() -> Finding:
    """f'(x) - f'(y) = s (x - y)(1 - xy)/D with D = (1 + x^2)(1 + y^2) >= |1 - xy|, for all x, y; b = 0 by a shift."""

    def change(draw: Draw) -> list[Any]:
        x, y, s, a = draw("x"), draw("y"), draw("s"), draw("a")
        D, well = (1 + x * x) * (1 + y * y), Well(s, 0)
        quadratic = (a * x - a * y) ** 2 - a**2 * (x - y) ** 2
        return [(well.slope(x) - well.slope(y)) * D - s * (x - y) * (1 - x * y), quadratic]

    def body(draw: Draw) -> Statement:
        x, y, s = draw("x"), draw("y"), draw("s")
        D = (1 + x * x) * (1 + y * y)
        shown = {"s |1 - xy| <= D": every(s * (1 - x * y) <= D, s * (x * y - 1) <= D)}
        return Statement({"s": every(s >= 0, s <= 1)}, shown)

    slopes, found = identities({"change of the slope": change}), decide(body)
    verdict = found.verdict if slopes.verdict is Verdict.PROVED else Verdict.UNKNOWN
    return replace(found, verdict=verdict, evidence=f"{slopes.evidence}\n{found.evidence}")


@claim(
    "afga.assumption-4-2",
    statement="Noise of plus or minus nu by a fair coin has mean zero and variance nu^2, so that sigma = nu is the "
    "smallest",
    source="ours, noise for Assumption 4.2 (L249)",
)
@identity("both outcomes")
def assumption_4_2(draw: Draw) -> list[Any]:
    """Both noise outcomes, through the gradient of a client of the toy networks, for any nu."""
    nu, x = draw("nu"), exact.vector(3)
    net = replace(two_tilts((1, -1), 0), nu=nu)
    gradients = [(p, clients(net, tossed({(0, 0): 0}, coin))[0](0, x)[0]) for p, coin in signs(1)]
    noise = [(p, g - net.c[0]) for p, g in gradients]
    return [sum(p * xi for p, xi in noise), sum(p * xi**2 for p, xi in noise) - nu**2]


@claim(
    "afga.assumption-4-3",
    statement="Wells have slopes of at most |s|/2 and bumps (x-b)^2/(1 + (x-b)^2) of at most 13/20; quadratics have "
    "no bound",
    source="ours, objectives for Assumption 4.3 (L255)",
)
@decided()
def assumption_4_3(draw: Draw) -> Statement:
    """For all x, comparing squares. The quadratic x^2/2 has no bound: at G + 1 its slope exceeds any G."""
    x, s, G = draw("x"), draw("s"), draw("G")
    well, bump = Well(1, 0).slope(x), Bump(1, 0).slope(x)
    shown = {
        "well": 4 * well * well <= 1,
        "s times a well": 4 * Well(s, 0).slope(x) * (1 + x * x) == 4 * s * well * (1 + x * x),
        "bump": bump * bump <= F(13, 20) ** 2,
        "quadratic": (G + 1) > G,
    }
    return Statement({}, shown)


def _unlike(draw: Draw, n: int) -> list[Any]:
    """Mean square of grad f_i - grad f minus its constant, for clients s + c_i with any slope s."""
    s, c = draw("s"), draw("c", n)
    net = replace(two_tilts((1, -1), 0), n=n, a=(F(1),) * n, c=tuple(c))
    g = [f(0, exact.vector(1))[0] for f in clients(net, lambda t, i: 0, lambda x: x * 0 + s)]
    return [_variance(g) - _variance(list(c))]


def _variance(values: list[Any]) -> Any:
    centre = sum(values) / F(len(values))
    return sum((v - centre) ** 2 for v in values) / F(len(values))


def _curved(draw: Draw) -> list[Any]:
    """Mean square for two quadratics, minus the square that it equals."""
    x, a, c = draw("x", 1), draw("a", 2), draw("c", 2)
    net = replace(two_tilts((1, -1), 0), a=tuple(a), c=tuple(c))
    g = [f(0, x)[0] for f in clients(net, lambda t, i: 0)]
    return [_variance(g) - ((a[0] - a[1]) * x[0] + c[0] - c[1]) ** 2 / 4]


@claim(
    "afga.assumption-4-4",
    statement="1/N sum |grad f_i - grad f|^2 is constant for a common function tilted by c_i x, so that sigma_g^2 is "
    "the variance of the c_i; for two quadratics it is ((a_1 - a_2) x + c_1 - c_2)^2/4, without a bound where their "
    "curvatures differ",
    source="ours, objectives for Assumption 4.4 (L260)",
    sizes="N = 2 and 3 clients for the first, N = 2 for the second, d = 1",
)
def assumption_4_4() -> Finding:
    """Computed through the gradients of the toy networks; s stands for the common slope at any point."""
    return identities(
        {"N = 2": lambda draw: _unlike(draw, 2), "N = 3": lambda draw: _unlike(draw, 3), "two quadratics": _curved}
    )


@claim(
    "afga.assumption-4-5",
    statement="Of four clients: the ring meets Assumption 4.5 with rho = 1/3 exactly, J with 0; I and two parted pairs "
    "fix more than consensus; the cyclic permutation fixes consensus only, and still has rho = 1",
    source="ours, matrices for Assumption 4.5 (L269)",
    engine=Engine.EXACT,
)
def assumption_4_5() -> Finding:
    """rho exactly: rho^2 I - (W - J)'(W - J) has no negative eigenvalue, and some x has |(W - J)x| = rho |x|."""
    ring, J = topology.ring(4, EXACT), topology.complete(4, EXACT)
    turn = topology.permutation((1, 2, 3, 0), EXACT)
    parted, x = topology.clustered([topology.complete(2, EXACT)] * 2), exact.vector(1, 0, -1, 0)
    checks = {
        "ring of 4: doubly stochastic, null(I - W) = span(1)": doubly_stochastic(ring)
        and only_consensus_is_fixed(ring),
        "ring of 4: rho = 1/3": mixes(ring, F(1, 3)) and keeps(ring, x, F(1, 3)),
        "J: rho = 0": mixes(J, F(0)),
        "I: fixes everything": not only_consensus_is_fixed(topology.alone(4, EXACT)),
        "parted: fixes more": not only_consensus_is_fixed(parted),
        "cyclic: fixes consensus only, rho = 1": only_consensus_is_fixed(turn)
        and mixes(turn, F(1))
        and keeps(turn, x, F(1)),
    }
    return all_checked(checks, Verdict.PROVED)
