"""Networks by hand: the smallest that break what is printed, and such as break one assumption alone."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from fedspec_proofs.afga.network import Network
from fedspec_proofs.afga.networks import blended_permutation


def two_tilts(c: tuple[int, int], rho: Any, nu: Any = 0, steps: int = 1) -> Network:
    """Two clients with linear objectives c_i x, of which one is drawn; gradients are bounded, nothing curves."""
    W = blended_permutation(2, (0, 1), Fraction(rho))
    mean = Fraction(sum(c), 2)
    return Network(
        K=1, n=2, m=1, I=steps, eta_l=Fraction(1, 8 * steps), W=(W,), a=(Fraction(0),) * 2, c=tuple(map(Fraction, c)),
        nu=Fraction(nu), x=Fraction(0), L=Fraction(1), sigma2=Fraction(nu) ** 2,
        sigma2_k=(sum((c_i - mean) ** 2 for c_i in c) / 2,), sigma2_c=Fraction(0), alpha2=Fraction(1),
        rho=(Fraction(rho),),
    )  # fmt: skip


def apart(pace: int, L: Any = 1) -> Network:
    """Two clients on -x^2/2, both computing, with noise of size 1, three local steps; eta_l = pace/24, L as told."""
    net = two_tilts((0, 0), Fraction(1, 2), nu=1, steps=3)
    return replace(net, m=2, a=(Fraction(-1),) * 2, eta_l=Fraction(pace, 24), L=Fraction(L))


def opposed() -> Network:
    """Two clusters with opposite linear objectives, each of two equal clients of which one is drawn."""
    W = blended_permutation(2, (0, 1), Fraction(1, 2))
    return Network(
        K=2, n=2, m=1, I=2, eta_l=Fraction(1, 16), W=(W, W), a=(Fraction(0),) * 4,
        c=tuple(map(Fraction, (1, 1, -1, -1))), nu=Fraction(0), x=Fraction(0), L=Fraction(1), sigma2=Fraction(0),
        sigma2_k=(Fraction(0),) * 2, sigma2_c=Fraction(0), alpha2=Fraction(1), rho=(Fraction(1, 2),) * 2,
    )  # fmt: skip


BREAKING: tuple[tuple[str, Network], ...] = (
    ("4.1", apart(128, Fraction(1, 128))),
    ("4.2", replace(two_tilts((0, 0), Fraction(1, 2), nu=1, steps=3), sigma2=Fraction(0))),
    ("D.1 within", replace(two_tilts((1, -1), Fraction(1, 2)), sigma2_k=(Fraction(0),))),
    ("D.1 between", opposed()),
    ("D.2", replace(two_tilts((0, 0), Fraction(1, 8), nu=1), rho=(Fraction(0),))),
    ("step", apart(128)),
)
"""Networks that break one assumption alone."""
