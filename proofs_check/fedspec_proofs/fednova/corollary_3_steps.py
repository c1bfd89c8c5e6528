"""App. G: steps of the proof of Corollary 3."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fedspec_proofs.claim import FEDNOVA, Dropped, Engine, Extent, Finding, Severity, Sharpness, Source, Verdict, claim
from fedspec_proofs.engines import exact
from fedspec_proofs.engines.algebra import Statement, decide
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.search import HALF
from fedspec_proofs.fednova.bounds import rational
from fedspec_proofs.fednova.descent import drift_step, small_drift
from fedspec_proofs.fednova.sampled_runs import CONDITIONS, ONE, opposite
from fedspec_proofs.refutation import refutation


def _noise_of_draws(q: int, *, fresh: bool = True) -> tuple[Any, Any]:
    """E|(1/q) sum (d_l - h_l)|^2, and sum p_i E|d_i - h_i|^2; two clients, one step each, noise of variance 1."""
    s = replace(opposite((1, 1)), variance=ONE, q=q)

    def moved(who: tuple[int, ...]) -> Any:
        # x' - E[x' | S] is -tau_eff eta times the mean of d - h, and tau_eff = 1.
        # Which of the draws share an entry of the noise: none, or those of one client.
        own = list(range(len(who))) if fresh else list(who)
        unit = [[int(n == entry) for n in own] for entry in sorted(set(own))]
        return sum((s.round(0, who, exact.vector(*u)) - s.round(0, who)) ** 2 for u in unit) / s.h.eta_l**2

    both = sum(chance * moved(who) for chance, who in s.samples())
    one = replace(s, q=1)
    each = [(one.round(0, (i,), exact.vector(1)) - one.round(0, (i,))) ** 2 / s.h.eta_l**2 for i in (0, 1)]
    return both, sum(p_i * e for p_i, e in zip(s.p, each, strict=True))


@claim(
    "fednova.eq-162",
    statement="2 E|(1/q) sum (d_l - h_l)|^2 = (1/q) sum p_i E|d_i - h_i|^2 (a slip without consequence: (163) has 2/q)",
    source=Source(FEDNOVA, "eq. (162) (L876), from (161)"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    severity=Severity.SLIP,
)
def a_lost_two() -> Finding:
    """It is 2/q, which (163) has again. Through the algorithm, one draw."""
    left, right = _noise_of_draws(1)
    return refutation(
        instance="two clients, one step each, q = 1, noise of variance 1",
        conditions={"sum p_i E|d_i - h_i|^2 is 1": right == 1},
        left=2 * left,
        right=right,
        relation="=",
    )


@claim(
    "fednova.eq-162-repaired",
    statement="2 E|(1/q) sum (d_l - h_l)|^2 = (2/q) sum p_i E|d_i - h_i|^2",
    source=Source(FEDNOVA, "ours, in place of eq. (162) (L876)"),
    engine=Engine.EXACT,
    verdict=Verdict.CHECKED,
    extent=Extent.WHOLE,
    assumptions={"fresh": "a client that is drawn twice takes fresh noise for each draw"},
    repairs="fednova.eq-162",
)
def the_two_kept() -> Finding:
    """q = 1, 2, 3, every sample; without the assumption both draws of a client share one run."""
    pairs = {q: _noise_of_draws(q) for q in (1, 2, 3)}
    held = all(left * q == right for q, (left, right) in pairs.items())
    left, right = _noise_of_draws(2, fresh=False)
    words = f"q = 2, shared: {2 * left} against {right}"
    evidence = ", ".join(f"q = {q}: {2 * both}" for q, (both, _) in pairs.items())
    return Finding(
        Verdict.CHECKED if held else Verdict.REFUTED,
        evidence,
        {"fresh": Dropped(2 * left != right, words)},
        sharpness=Sharpness(1.0, {HALF: any(2 * one * q != each for q, (one, each) in pairs.items())}),
    )


@claim(
    "fednova.eq-174",
    statement="Collecting (173), the drift has the coefficient 1/2 + 2 tau_eff eta L (a slip without consequence: "
    "(175) holds with 3 for 2)",
    source=Source(FEDNOVA, "eq. (174) (L918), from (173)"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    severity=Severity.SLIP,
)
def a_lost_drift() -> Finding:
    """(173) has 1/2 + 3 tau_eff eta L, which the next condition still bounds (``fednova.eq-175``)."""
    y = rational(1, 24)
    return refutation(
        instance="tau_eff eta L = 1/24, beta^2 = q = 1",
        conditions={"6 tau_eff eta L (1 + beta^2 / q) <= 1/2": 12 * y <= rational(1, 2)},
        left=rational(1, 2) + 3 * y,
        right=rational(1, 2) + 2 * y,
        relation="=",
    )


@claim(
    "fednova.eq-175",
    statement="6 tau_eff eta L (1 + beta^2/q) <= 1/2 gives 1 - 6 tau_eff eta L (1 + beta^2/q) >= 1/2 and 1/2 + 3 "
    "tau_eff eta L <= 3/2",
    source=Source(FEDNOVA, "eq. (175) (L923), with 3 for the 2 of (174)"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED,
    extent=Extent.WHOLE,
    assumptions={"rate": CONDITIONS["rate"], "ratio": "beta^2 / q >= 0"},
    repairs="fednova.eq-174",
)
def next_line() -> Finding:
    """For all reals; b is beta^2 / q."""

    def body(draw: Draw) -> Statement:
        y, b = draw("y"), draw("b")
        return Statement(
            {"rate": 12 * y * (1 + b) <= 1, "ratio": b >= 0},
            {"gradient": 2 * (1 - 6 * y * (1 + b)) >= 1, "drift": rational(1, 2) + 3 * y <= rational(3, 2)},
        )

    return decide(body)


@claim(
    "fednova.eq-177",
    statement="D <= 1 / (12 beta^2 + 1) gives 1/(1-D) <= 1 + 1/(12 beta^2) <= 2 and 3 D beta^2 / (1-D) <= 1/4",
    source=Source(FEDNOVA, "the words above eq. (177) (L930)"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED,
    extent=Extent.WHOLE,
    assumptions={"drift": "D <= 1 / (12 beta^2 + 1)", "beta": "beta^2 >= 1"},
)
def drift_constants() -> Finding:
    """For all reals."""
    return decide(drift_step(12, rational(2), rational(1, 12)), sample=small_drift(12))
