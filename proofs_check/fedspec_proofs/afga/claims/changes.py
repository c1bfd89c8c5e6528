"""Lemma F.8: bounds of Delta_r and the server's moments on every path, with bounded gradients.

Lemma F.8 on v_hat, the maximum that is taken coordinate by coordinate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction as F
from itertools import combinations
from typing import Any

from fedspec.algorithms import afga
from fedspec.arith import Vector
from fedspec.mixing import topology
from fedspec.mixing.gossip import gossip
from fedspec.plan import Exchange
from fedspec.problems.quadratic import constant
from fedspec.server.amsgrad import AmsGrad, amsgrad, init
from fedspec_proofs.afga.claims.sequences import doubly
from fedspec_proofs.afga.kit.constants import doubly_stochastic, mixes, only_consensus_is_fixed
from fedspec_proofs.afga.kit.mixed import reach_lines
from fedspec_proofs.afga.kit.network import EXACT, hyper
from fedspec_proofs.afga.kit.networks import blended_permutation
from fedspec_proofs.afga.kit.paths import ETA_L, Path, any_path, reach, run
from fedspec_proofs.afga.kit.server_inductions import rootless
from fedspec_proofs.claim import Dropped, Extent, Finding, Severity, claim, refutation
from fedspec_proofs.engines import Draw, Inequality, Sides, Statement, curried, decided, exact, identities, searched
from fedspec_proofs.engines.smt import every
from fedspec_proofs.kit.adding import confirmed

F8 = "Lemma F.8 (L4762)"
F8_WORDS = {
    "4.1": "every f_i is L-smooth",
    "4.2": "the variance of the noise is at most sigma^2",
    "4.3": "every stochastic gradient is at most G long; the one that the lemma names",
    "4.4": "1/N sum |f_i' - f'|^2 <= sigma_g^2",
    "4.5": "W is doubly stochastic, null(I - W) = span(1), ||W - J||_2 <= rho < 1",
}


@curried
def _within(path: Path, bound: Callable[[Path], Any]) -> Iterable[Sides]:
    """|Delta|^2, |m|^2 and v_hat_j at most B^2, |v|^2 at most B^4."""
    B2 = bound(path) ** 2
    for delta, state in run(path):
        yield delta @ delta, {"Delta": B2}
        yield state.m @ state.m, {"m": B2}
        yield max(state.v_hat), {"v_hat": B2}
        yield state.v @ state.v, {"v": B2**2}


PATH_HOLDS: dict[str, Callable[[Path], bool]] = {
    "4.3": lambda path: all(g @ g <= path.G**2 for g in path.g.reshape(-1, 2)),
    "D.2": lambda path: all(doubly_stochastic(W) and mixes(W, path.rho) for W in path.W),
}
PATH_WORDS = {
    "4.3": "every stochastic gradient is at most G long",
    "D.2": "every W_k is doubly stochastic with ||W_k - J||_2 <= rho",
}


@claim(
    "afga.lemma-f-8-gradient",
    statement="|grad f_i(x)| <= G, and so |grad f(x)| <= G, since stochastic gradients are unbiased",
    source=F8 + ", first part",
    extent=Extent.PART,
    assumptions={"4.3": "every stochastic gradient is at most G long", "unbiased": "grad f_i is the mean of them"},
)
def lemma_f_8_gradient() -> Finding:
    """For any noise, G^2 - |E g|^2 = E(G^2 - |g|^2) + E|g - E g|^2, per coordinate; so too for the mean client."""

    def body(draw: Draw) -> list[Any]:
        mean, square, G = draw("E g"), draw("E g^2"), draw("G")
        # E (g - mean)^2, multiplied out.
        spread = square - 2 * mean * mean + mean**2
        return [G**2 - mean**2 - (G**2 - square) - spread]

    found = identities({"any law": body})
    dropped = {
        "4.3": Dropped(True, "by hand: one outcome, g = 2 with G = 1"),
        "unbiased": Dropped(True, "by hand: grad f = 2 and noise that is always -1, with G = 1"),
    }
    return Finding(found.verdict, found.evidence, dropped, found.second)


@claim(
    "afga.lemma-f-8",
    statement="|Delta_r| <= (m/n) eta_l I G, whatever is drawn",
    source=F8 + ", second part",
    severity=Severity.FALSE_RESULT,
    assumptions=F8_WORDS,
)
def lemma_f_8() -> Finding:
    """A client may both compute and send: it keeps a share W_ii of its own step, and W_ii exceeds m/n.

    The proof bounds Deltabar_r, the mean over all clients. In mean over the senders the bound is an equality here.
    """
    n, m, steps, rho, G = 2, 1, 1, F(1, 3), 1
    W = blended_permutation(2, (0, 1), rho)
    x = exact.vector(0)
    h = hyper(ETA_L, eps=F(4, 3) ** 2 * (F(2, 3) * ETA_L) ** 2)
    slopes = [constant(exact.vector(1)), constant(exact.vector(-1))]
    _, shown = afga.step(h, init(x), slopes, Exchange((0,), ((0,),), W))
    return refutation(
        instance="N = 2 clients f_1 = x, f_2 = -x, m = 1, W = [[2/3, 1/3], [1/3, 2/3]], one local step with eta_l = "
        "1/4, the draw S_(r,0) = S_r = {1}",
        conditions={
            "4.3: |f_i'| <= 1 = G": all(abs(f(0, x)[0]) <= G for f in slopes),
            "4.1: f_i' is constant, so that any L > 0 will do, such as 1/2, and eta_l <= 1/(8IL)": all(
                f(0, x + 1)[0] == f(0, x)[0] for f in slopes
            )
            and ETA_L * 8 * steps * F(1, 2) <= 1,
            "4.2: no noise": all(f(0, x)[0] == f(1, x)[0] for f in slopes),
            "4.4: 1/N sum |f_i' - f'|^2 = 1 = sigma_g^2": sum(f(0, x)[0] for f in slopes) == 0
            and sum(f(0, x)[0] ** 2 for f in slopes) == n,
            "4.5: W is doubly stochastic, null(I - W) = span(1), ||W - J||_2 <= 1/3": doubly_stochastic(W)
            and only_consensus_is_fixed(W)
            and mixes(W, rho),
            "rho <= m/(m + n), as the theorem asks": rho <= F(m, m + n),
            "|S_r| = |S_(r,0)| = m": m == 1,
        },
        left=abs(shown["delta"][0]),
        right=F(m, n) * ETA_L * steps * G,
        again=F(1, 2) * F(1, 4),
    )


@claim(
    "afga.lemma-f-8-repaired",
    statement="|Delta_r| and |m_r| <= B = eta_l G sum_(s=1)^I [p + (1 - p) rho^s], |v_r| <= B^2 and every coordinate "
    "of v_hat_r <= B^2, on every path",
    source="ours, for " + F8,
    extent=Extent.PART,
    assumptions=PATH_WORDS,
)
def lemma_f_8_repaired() -> Finding:
    """A sender holds averaged gradients, each at most G long; m_r, v_r and v_hat_r are means and maxima of these.

    Searched: d = 2, K <= 2 clusters of n <= 3, I <= 3, two rounds; every set and gradient drawn by the adversary.
    """
    return confirmed(reach_lines(), searched(Inequality(any_path, PATH_HOLDS, _within(reach)), 500, drop=120), 500)


@curried
def _split(draw: Draw, n: int, m: int, steps: int) -> list[Any]:
    """1_S' W^s 1_T less m p + rest_S' (W - J)^s rest_T, through the exchange, for all S and T of m; |rest_S|^2."""
    W, p, found = doubly(draw, n), F(m, n), []
    J = topology.complete(n, EXACT)
    sets = [exact.vector(*(int(i in S) for i in range(n))) for S in combinations(range(n), m)]
    for one in sets:
        x, rest = one[:, None], (one - p)[:, None]
        for _ in range(steps):
            x, rest = gossip(x, W), (W - J) @ rest
        found += [other @ x[:, 0] - m * p - (other - p) @ rest[:, 0] for other in sets]
        found.append((one - p) @ (one - p) - m * (1 - p))
    return found


@claim(
    "afga.lemma-f-8-split",
    statement="1_S' W^s 1_T = m p + rest_S' (W - J)^s rest_T with rest_S = 1_S - p 1 and |rest_S|^2 = m (1 - p): the "
    "last term is at most m (1 - p) rho^s by what a norm is, so that S has at most p + (1 - p) rho^s of T, over m",
    source="ours, for " + F8,
    sizes="n = 2 and 3, s <= 2, every doubly stochastic W",
)
def lemma_f_8_split() -> Finding:
    """A sender holds (1/m) sum_s 1_S' W^s of the gradients computed s exchanges ago, each at most G long."""
    sizes = ((2, 1, 1), (2, 1, 2), (3, 1, 1), (3, 2, 1), (3, 2, 2))
    return identities({f"n = {n}, m = {m}, s = {s}": _split(n, m, s) for n, m, s in sizes}, instances=4)


NOISE = (exact.vector(1, 0), exact.vector(0, 1))
TOSSED = (*NOISE, *(-g for g in NOISE))
"""Noise of one client: each of the four vectors has probability 1/4."""


def _rounds(beta2: Any, noise: Sequence[Vector]) -> list[AmsGrad]:
    """A client on f = 0 with these stochastic gradients, a round each."""
    zero, W = exact.vector(0, 0), topology.complete(1, EXACT)
    h = hyper(ETA_L, beta2=beta2)
    states = [init(zero)]
    for g in noise:
        delta = afga.change(h, states[-1].x, [constant(g)], Exchange((0,), ((0,),), W))
        numbers = {"eta": F(1), "beta1": F(0), "beta2": beta2, "eps": F(0)}
        states.append(rootless(amsgrad)(states[-1], delta, **numbers))
    return states[1:]


@claim(
    "afga.lemma-f-8-v-hat",
    statement="|v_hat_r| <= (m/n)^2 eta_l^2 I^2 G^2, whatever is drawn",
    source=F8 + ", eq. (94) (L4818)",
    severity=Severity.FALSE_RESULT,
    assumptions=F8_WORDS,
)
def lemma_f_8_v_hat() -> Finding:
    """The maximum acts on each coordinate, so v_hat may be longer than every v_r; squares are compared."""
    (right, up), bound = NOISE, ETA_L**4
    states = _rounds(F(1, 2), (right, right, up, up))
    return refutation(
        instance="one client on f = 0 in two dimensions, noise (1, 0) in rounds 1 and 2, (0, 1) in rounds 3 and 4 "
        "(each of the four signs alike likely), I = 1, eta_l = 1/4, beta2 = 1/2; squares of both sides",
        conditions={
            "4.1: f = 0, so that any L > 0 will do, such as 1/2, and eta_l <= 1/(8IL)": ETA_L * 8 * F(1, 2) <= 1,
            "4.2: the noise has mean 0 and variance 1": not any(sum(g[j] for g in TOSSED) for j in (0, 1))
            and all(g @ g == 1 for g in TOSSED),
            "4.3: |g| <= 1 = G": all(g @ g <= 1 for g in TOSSED),
            "4.4, 4.5: one client, m = n, so that Delta and every v_r are within their bounds": all(
                state.v @ state.v <= bound for state in states
            ),
        },
        left=states[-1].v_hat @ states[-1].v_hat,
        right=bound,
        again=F(1, 16) ** 2,
    )


@claim(
    "afga.lemma-f-8-v-hat-repaired",
    statement="|v_hat_r| <= sqrt(d) B^2 where every coordinate of v_hat_r is at most B^2, as lemma-f-8-repaired has it",
    source="ours, for " + F8 + ", eq. (94) (L4818)",
    sizes="d = 3",
    assumptions={"v_hat >= 0": "a maximum of means of squares", "v_hat <= B^2": "in every coordinate"},
)
@decided()
def lemma_f_8_v_hat_repaired(draw: Draw) -> Statement:
    """Squares of both sides; b stands for B^2. Equality holds if all coordinates are b."""
    v, b = draw("v_hat", 3), draw("b")
    given = {"v_hat >= 0": every(*(x >= 0 for x in v)), "v_hat <= B^2": every(*(x <= b for x in v))}
    return Statement(given, {"|v_hat|^2 <= d B^4": sum(x * x for x in v) <= 3 * b * b})
