"""Lemma 1 at finite rates: eq. (29), and local steps that are drawn anew."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import sympy

from fedspec.algorithms.fedavg import FedAvg
from fedspec_proofs.claim import FEDNOVA, Dropped, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.engines import exact
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.expectation import mean
from fedspec_proofs.engines.identities import Body, identities
from fedspec_proofs.fednova.bounds import rational
from fedspec_proofs.fednova.limit_numbers import iso
from fedspec_proofs.fednova.limits import blank
from fedspec_proofs.fednova.settings import Setting
from fedspec_proofs.fednova.small_rate import ETA
from fedspec_proofs.refutation import refutation


def _unequal(steps: tuple[int, ...], *, mixed: bool = False) -> Body:
    """Eq. (29) as a fixed point of FedAvg's round, and how far it is from eq. (30), times their denominators."""

    def body(draw: Draw) -> Iterable[Any]:
        e = draw("e", 2)
        drawn = draw("eta", positive=True)
        eta: Any = drawn / 97 if isinstance(drawn, Fraction) else drawn
        first, *_ = blank()
        H = first.H + 0 * eta
        if mixed:
            H[1, 0, 0] = H[1, 0, 0] * 2
        s = Setting(FedAvg(eta_l=eta), replace(first, H=H, e=e.reshape(2, 1)), steps, (1, 1))
        r = [1 - (1 - eta) ** tau for tau in steps]
        limit = (r[0] * e[0] + r[1] * e[1]) / (r[0] + r[1])
        yield s.round(e[:1] * 0 + limit)[0] - limit

    return body


@claim(
    "fednova.eq-29",
    statement="For H_i = I, p_i = 1/m FedAvg's fixed point is sum [1-(1-eta)^tau_i] e_i / sum [1-(1-eta)^tau_i], "
    "whatever eta"
    ", for two clients and four pairs of tau up to 4",
    source=Source(FEDNOVA, "eq. (29) (L381), in the proof of Lemma 1 (L70)"),
    engine=Engine.SYMBOLIC,
    verdict=Verdict.PROVED,
    assumptions={"curvature": "H_i = I for both clients"},
    repairs="fednova.lemma-1-fixed-rate",
)
def finite_rate() -> Finding:
    """Two clients, four pairs of tau up to 4; the round is run at the point. That it attracts for 0 < eta < 2 is
    ``fednova.limit-contraction``. Without the assumption H = (1, 2)."""
    bodies = {f"tau = {steps}": _unequal(steps) for steps in ((1, 2), (2, 3), (1, 4), (3, 3))}
    return identities(bodies, without={"curvature": {"tau = (1, 2)": _unequal((1, 2), mixed=True)}})


@claim(
    "fednova.lemma-1-fixed-rate",
    statement="Lemma 1 read at one rate: for some eta > 0, however small, FedAvg's limit is sum tau_i e_i / sum tau_i",
    source=Source(FEDNOVA, "ours, about Lemma 1 (L70), which its proof shows for the limit eta -> 0, eq. (30) (L385)"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    assumptions={
        "objective": "F_i = |x - e_i|^2 / 2, p_i = 1/m, eq. (3)",
        "exact": "the gradients are exact and every client takes part",
        "rate": "eta is one small number and does not tend to zero",
    },
)
def not_at_a_fixed_rate() -> Finding:
    """Only the limit of the limits is that point (eq. (30), which holds); at no rate is it the limit itself.

    The limit is (2 - eta) / (3 - eta) for e = (0, 1), tau = (1, 2), which differs from 2/3 by eta / (3 (3 - eta)). Ten
    rates are run; the double limit is ``fednova.limit-small-rate``.
    """
    rates = [rational(1, 10**k) for k in range(10)]
    settings = [iso(FedAvg(eta_l=eta), (1, 2)) for eta in rates]
    limits = [s.limit()[0] for s in settings]
    formula = all(2 - 3 * x == eta / (3 - eta) for x, eta in zip(limits, rates, strict=True))
    return refutation(
        instance="F_i = (x - e_i)^2 / 2, e = (0, 1), tau = (1, 2), eta = 1, 1/10, ..., 10^-9, everybody takes "
        "part, gradients are exact; the distance at the last",
        conditions={
            "H = 1 and p = 1/2 for both, eq. (3)": all(
                (s.problem.H == 1).all() and (s.shares() == rational(1, 2)).all() for s in settings
            ),
            "each limit is a fixed point of the round": all((s.round(s.limit()) == s.limit()).all() for s in settings),
            "and attracts: |M| < 1": all(abs(s.linear_part(exact.vector(0))[0, 0]) < 1 for s in settings),
            "2/3 less the limit is eta / (3 (3 - eta)) at every one": formula,
            "and so at every rate: the limit is (2 - eta) / (3 - eta), eta a symbol": sympy.cancel(
                iso(FedAvg(eta_l=ETA), (1, 2)).limit()[0] - (2 - ETA) / (3 - ETA)
            )
            == 0,
        },
        left=rational(2, 3) - limits[-1],
        right=rational(0),
        relation="=",
    )


def _spread(eta: Any) -> tuple[Fraction, Fraction]:
    """Mean and variance of the model that FedAvg settles to when tau_i is 1 or 2 by a coin, for e = (-1, 1)."""
    maps = []
    for steps in product((1, 2), repeat=2):
        s = iso(FedAvg(eta_l=eta), steps, (-1, 1))
        b = s.round(exact.vector(0))[0]
        maps.append((rational(1, 4), (s.round(exact.vector(1))[0] - b, b)))
    M, b = mean(lambda m: m[0], maps), mean(lambda m: m[1], maps)
    centre = b / (1 - M)
    second = (2 * mean(lambda m: m[0] * m[1], maps) * centre + mean(lambda m: m[1] ** 2, maps)) / (
        1 - mean(lambda m: m[0] ** 2, maps)
    )
    return centre, second - centre**2


@claim(
    "fednova.iid-steps",
    statement="As eta -> 0, where Lemma 1's gap stays, a gap to the minimiser stays as well when the tau_i are drawn "
    "anew, alike for all clients",
    source=Source(FEDNOVA, "ours, about the words after Lemma 1 (L76), read for eta -> 0 as Lemma 1 is"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
)
def no_gap_on_average() -> Finding:
    """The mean of the model tends to the minimiser itself, and its variance to 0 with eta, as Lemma 1's gap does not.
    At a fixed eta the variance does not vanish, so that the words are right about one rate.

    tau_i is 1 or 2 with equal chance for each client and round, e = (-1, 1); all four outcomes of a round are run, and
    the stationary mean and variance solved for. Beside it the gap of Lemma 1 for fixed tau = (1, 2), squared.
    """
    rates = [rational(1, 10**k) for k in range(1, 7)]
    settled = [_spread(eta) for eta in rates]
    fixed = [iso(FedAvg(eta_l=eta), (1, 2), (-1, 1)).limit()[0] ** 2 for eta in rates]
    return refutation(
        instance="F_i = (x - e_i)^2/2, e = (-1, 1), p = 1/2; claimed: at eta = 10^-6 E|x - x*|^2 is no less than a "
        "thousandth of what it is with fixed tau = (1, 2)",
        conditions={
            "the mean of the model is the minimiser at every rate": all(centre == 0 for centre, _ in settled),
            "the variance is at most eta at every rate": all(
                v <= eta for (_, v), eta in zip(settled, rates, strict=True)
            ),
            "with fixed steps the gap stays above 1/10 of its square": all(g > rational(1, 100) for g in fixed),
        },
        left=settled[-1][1],
        right=fixed[-1] / 1000,
        relation=">=",
    )


@claim(
    "fednova.iid-steps-repaired",
    statement="F_i = (x - e_i)^2 / 2, e = (-1, 1), each tau_i 1 or 2 by a coin in every round: the mean of the model "
    "tends to the minimiser at every rate, and its variance is at most eta",
    source=Source(FEDNOVA, "ours, in place of the words after Lemma 1 (L76)"),
    engine=Engine.EXACT,
    verdict=Verdict.CHECKED,
    assumptions={"alike": "the tau_i have the same law for all clients"},
    repairs="fednova.iid-steps",
)
def vanishes_on_average() -> Finding:
    """tau_i is 1 or 2 by a coin, e = (-1, 1), eta = 1/10, ..., 10^-6, as in :func:`no_gap_on_average`."""
    rates = [rational(1, 10**k) for k in range(1, 7)]
    settled = [_spread(eta) for eta in rates]
    held = all(centre == 0 and 0 < v <= eta for (centre, v), eta in zip(settled, rates, strict=True))
    unlike = iso(FedAvg(eta_l=rates[-1]), (1, 2), (-1, 1)).limit()[0]
    words = ", ".join(f"{float(v):.3g}" for _, v in settled)
    other = Dropped(unlike > rational(1, 10), f"tau_1 is 1 and tau_2 is 2: {float(unlike):.3f} at eta = 10^-6")
    return Finding(Verdict.CHECKED if held else Verdict.REFUTED, f"variances {words}", {"alike": other})
