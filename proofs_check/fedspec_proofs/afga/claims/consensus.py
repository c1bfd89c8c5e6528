"""Steps of Lemma F.2, on the models' deviations from their mean.

The algebra behind Lemmas F.3 and F.4: powers of the 2 x 2 matrix G = [[a, b], [g, C]], by its eigenvalues.

    a = max rho_k^2 (1 + 1/zeta) + b,    b = 4 L^2 eta_l^2 rho_L,    g = 16 I eta_l^2 L^2,    C = C_I

A matrix is made from its eigenvalues, C and g, so that everything is a rational function of four variables.

Eq. (56): how much larger a power of one eigenvalue is than that of the other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction as F
from itertools import pairwise
from typing import Any

import numpy as np

from fedspec.arith import Array
from fedspec.mixing import topology
from fedspec_proofs.afga.kit import bounds
from fedspec_proofs.afga.kit.mixed import consensus_lines
from fedspec_proofs.afga.kit.network import EXACT, Network
from fedspec_proofs.afga.kit.networks import ASSUMPTIONS, DRAWN, conditions, some, two_tilts
from fedspec_proofs.afga.kit.rounds import consensus, enumerated, path, whole
from fedspec_proofs.claim import Dropped, Engine, Extent, Finding, Second, Severity, Verdict, claim, refutation
from fedspec_proofs.engines import Draw, Induction, Real, Sides, every, exact, identity, prove, real, several
from fedspec_proofs.engines.moments import second_moment
from fedspec_proofs.kit.adding import confirmed, in_setting


def _fourth_line(net: Network) -> Iterable[Sides]:
    """Eq. (44), fourth line, for one cluster at the network's matrix: E[G | past] = grad F is used."""
    W = whole(net)
    gap = W - topology.clustered([topology.complete(net.n, EXACT)] * net.K)
    slopes = np.diag(exact.vector(*net.a))
    identity = topology.alone(net.N, EXACT)
    states = path(net)
    for before, after in pairwise(states):
        moved = second_moment(before, gap @ (identity - net.eta_l * slopes), -net.eta_l * gap @ exact.vector(*net.c))
        yield net.N * consensus(net, after), moved + net.eta_l**2 * net.rho_max**2 * net.N * net.sigma2


def _last_line(net: Network) -> Iterable[Sides]:
    """Eq. (44), last line, summed over the clusters, at several zeta."""
    states, rho2, e2 = path(net), net.rho_max**2, net.eta_l**2
    for before, after in pairwise(states):
        gradients = second_moment(before, np.diag(exact.vector(*net.a)), exact.vector(*net.c))
        for zeta in bounds.zetas(net):
            right = {
                "consensus error": rho2 * (1 + 1 / F(zeta)) * net.N * consensus(net, before),
                "gradients": rho2 * e2 * (1 + zeta) * gradients,
                "noise": rho2 * e2 * net.N * net.sigma2,
            }
            yield net.N * consensus(net, after), right


@claim(
    "afga.eq-44",
    statement="E|Xperp_(t+1)|^2 <= E|(W - J)(Xperp_t - eta_l grad F(X_t))|^2 + eta_l^2 rho^2 n sigma^2, the "
    "fourth line; the last one holds",
    source="Lemma F.2, eq. (44), fourth line (L2920-2953)",
    severity=Severity.SLIP,
)
def eq_44() -> Finding:
    """The sampled gradient has mean (m/n) grad F, not grad F: sampling m of n separates even equal clients."""
    net = two_tilts((1, 1), F(1, 2))
    return refutation(
        instance="two equal clients f_i = x, one drawn at random, W = (I + J)/2, no noise, one step with eta_l = 1/8",
        conditions=conditions(net),
        left=enumerated(net, lambda X, _: sum((X[:, 0] - sum(X[:, 0]) / 2) ** 2)),
        right=next(iter(_fourth_line(net)))[1],
    )


@claim(
    "afga.eq-44-repaired",
    statement="The last line of eq. (44) holds all the same: E|Xperp_(t+1)|^2 <= rho^2 (1 + 1/zeta) E|Xperp_t|^2 + "
    "rho^2 (1 + zeta) eta_l^2 E|grad F(X_t)|^2 + eta_l^2 rho^2 n sigma^2",
    source="ours, for eq. (44): its last line (L2953), without the fourth",
    engine=Engine.SYMBOLIC,
    extent=Extent.WHOLE,
    assumptions={**some(ASSUMPTIONS, "4.2", "D.2"), **some(DRAWN, "unbiased")},
)
def eq_44_repaired() -> Finding:
    """Given the set S, |D_S grad F| <= |grad F| and noise of m clients is at most that of n, for any number of clients.

    Searched over the same instances.
    """
    looked = in_setting(bounds.one_round(_last_line, "4.2", "D.2"), some(DRAWN, "unbiased"))
    return confirmed(consensus_lines(), looked, bounds.TRIES)


def _from(draw: Draw) -> tuple[Array, Any, Any]:
    """G and its eigenvalues."""
    low, gap, C, g = several(draw, "lambda_1, gap, C, g", positive=True)
    high = low + gap
    a = low + high - C
    G = np.array([[a, (a * C - low * high) / g], [g, C]], dtype=object)
    return G, low, high


@claim(
    "afga.eq-52",
    statement="G = P diag(lambda_1, lambda_2) P^-1 with the printed P and its inverse",
    source="Lemma F.3, eq. (52) (L3152-3165)",
    extent=Extent.WHOLE,
)
@identity("all G with g > 0 and lambda_1 < lambda_2")
def eq_52(draw: Draw) -> list[Any]:
    """Proof with lambda_1, lambda_2 as any two numbers whose sum is G's trace and whose product its determinant."""
    G, low, high = _from(draw)
    C, g = G[1, 1], G[1, 0]
    P = np.array([[low - C, high - C], [g, g]], dtype=object)
    middle = np.array([[low, 0], [0, high]], dtype=object)
    Q = np.array([[g, C - high], [-g, low - C]], dtype=object)
    return list((G - P @ middle @ Q / (g * (low - high))).ravel())


@dataclass(frozen=True)
class Powers:
    """Variables s_j, lambda_2^j, lambda_1^j and j."""

    s: Any
    P: Any
    Q: Any
    j: Any


@claim(
    "afga.eq-56",
    statement="s_j <= lambda_2^(j-1) min(lambda_2/(lambda_2 - lambda_1), j) <= lambda_2^j min(1/(lambda_2 - "
    "lambda_1), j) for every j >= 1",
    source="Lemma F.3, eq. (56) (L3232-3246)",
    extent=Extent.WHOLE,
    assumptions={
        "lambda_1 >= 0": "the determinant of G is not negative",
        "lambda_1 < lambda_2": "the eigenvalues differ; named in order",
        "lambda_2 >= 1": "lambda_2 >= C_I",
    },
)
def eq_56() -> Finding:
    """Induction over j, with s_(j+1) = lambda_2 s_j + lambda_1^j; both parts of the minimum, without fractions."""
    low, high = real("lambda_1"), real("lambda_2")
    inputs = {
        "lambda_1 >= 0": low >= 0,
        "lambda_1 < lambda_2": low < high,
        "lambda_2 >= 1": high >= 1,
    }

    def invariant(w: Powers) -> dict[str, Any]:
        return {
            "s (lambda_2 - lambda_1) = P - Q": w.s * (high - low) == w.P - w.Q,
            "lambda_2 s <= j P": high * w.s <= w.j * w.P,
            "Q <= P, 0 <= Q, 0 < P, s >= 0, j >= 1": every(w.Q <= w.P, w.Q >= 0, w.P > 0, w.s >= 0, w.j >= 1),
        }

    def shown(_: Powers, after: Powers) -> dict[str, Any]:
        return {
            "s (lambda_2 - lambda_1) <= P": after.s * (high - low) <= after.P,
            "s <= j P": after.s <= after.j * after.P,
        }

    def step(w: Powers) -> Powers:
        return Powers(high * w.s + w.Q, high * w.P, low * w.Q, w.j + 1)

    start, any_j = Powers(Real(1), high, low, Real(1)), Powers(*(real(n) for n in ("s", "P", "Q", "j")))
    base = prove({**invariant(start), **shown(start, start)}, inputs)
    answers = (base, Induction(start, any_j, step, inputs, invariant, shown).prove()[1])
    count, rng = 0, exact.generator()
    for _ in range(60):
        low_q = F(int(rng.integers(0, 9)), 8)
        high_q = max(F(1), low_q) + F(int(rng.integers(1, 9)), 8)
        for j in range(1, 7):
            if not _as_printed(low_q, high_q, j):
                return Finding(Verdict.UNKNOWN, f"fractions disagree at {low_q}, {high_q}, j = {j}")
            count += 1
    by_hand = {
        "lambda_1 >= 0": (F(-1), F(1), 1),
        "lambda_1 < lambda_2": (F(2), F(1), 2),
        "lambda_2 >= 1": (F(0), F(1, 2), 1),
    }
    dropped = {
        name: Dropped(not _as_printed(*at), f"by hand: lambda_1 = {at[0]}, lambda_2 = {at[1]}, j = {at[2]}")
        for name, at in by_hand.items()
    }
    return Finding(
        Verdict.PROVED if all(answers) else Verdict.UNKNOWN,
        "\n".join(map(str, answers)),
        dropped,
        Second(Engine.EXACT, count, "eigenvalues and powers as fractions"),
    )


def _as_printed(low: F, high: F, j: int) -> bool:
    s, gap, times = (high**j - low**j) / (high - low), high - low, F(j)
    middle = high ** (j - 1) * min(high / gap, times)
    return bool(s <= middle <= high**j * min(1 / gap, times))
