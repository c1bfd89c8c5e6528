"""The term A_1: signs that agree and signs that do not. Fed-LAMB, L604-608."""

from __future__ import annotations

from typing import Any

import numpy as np
import z3

from fedspec.arith import sqrt
from fedspec.client.lamb import layer_step
from fedspec.plan import Oracle
from fedspec.readings import Phi
from fedspec_proofs.claim import Engine, Finding, Verdict, claim
from fedspec_proofs.engines.algebra import Statement, decide
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.exact import vector
from fedspec_proofs.engines.expectation import mean
from fedspec_proofs.fed_lamb.rounds import F, begin, lamb, noisy, seen
from fedspec_proofs.fed_lamb.shared import FOUR, at, constant, every, some, within
from fedspec_proofs.refutation import refutation


def coin(h: F, size: F) -> Any:
    """A gradient h + size or h - size with equal chances."""
    return [(F(1, 2), constant(h + size)), (F(1, 2), constant(h - size))]


def drawn(outcomes: Any) -> list[tuple[F, F]]:
    """The gradients of a coin, with their chances."""
    return [(q, oracle(0, vector(0))[0]) for q, oracle in outcomes]


def inner(oracle: Oracle, gradient: F) -> F:
    """A_1 / alpha of one client and one coordinate, T = 1, beta1 = 0: -<f', Gamma g>."""
    h = lamb()
    now = seen(h, begin(h, vector(0), 1), [oracle])
    return F(-gradient * (now.Gamma * now.g)[0][0])


@claim(
    "fed-lamb.l-604",
    statement="E A_1 <= -(alpha/n) sum phi_m sqrt((1 - beta2)/(M^2 p_l)) |f'^j|^2 - (alpha/n) sum phi_M E[|f'^j "
    "p^j/||p^l||| [signs differ]]; the last minus should be plus, as L659 has it",
    source=at("Term A_1 (L604)"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    assumptions=FOUR,
)
def expectation() -> Finding:
    """The last term bounds something from above by its absolute value: its sign must be plus."""
    gradient, M = F(1), F(3)
    wrong = F(1, 2) * abs(gradient)
    c = sqrt((1 - F(99, 100)) / M**2)
    return refutation(
        instance="f' = 1, gradient 3 or -1 with equal chances, one client, one coordinate, beta1 = 0, beta2 = 99/100, "
        "v0 = 1, phi = 1; both sides over alpha",
        conditions=noisy(lamb(), drawn(coin(F(1), F(2))), gradient, M, F(5)),
        left=mean(lambda o: inner(o, gradient), coin(F(1), F(2))),
        right=-c * gradient**2 - wrong,
    )


SIGNED = {"H2": "|g| <= M", "c M <= 1": "c = sqrt((1 - beta2)/(M^2 p_l)) is at most 1/M", "c >= 0": "c is not negative"}


def _signed(draw: Draw) -> Statement:
    """-h g/|g| <= -c h g + |h| where the signs of h and g differ; g/|g| is minus the rule's own step from 0."""
    g, h, c, M = draw("g", 1), draw("h"), draw("c"), draw("M")
    unit = -layer_step(g * 0, g, eta_l=1, phi=Phi.CONSTANT)[0]
    size = draw("size")
    differ = some(every(h > 0, g[0] < 0), every(h < 0, g[0] > 0))
    bound = -c * h * g[0]
    holds = (within(g[0], M), c * M <= 1, c >= 0)
    absolute = every(size >= 0, some(size == h, size == -h))
    given = {**dict(zip(SIGNED, holds, strict=True))}
    shown = some(_no(absolute), every(some(differ, -h * unit <= bound), -h * unit <= bound + size))
    return Statement(given, {"L604 with plus": shown})


def _no(formula: Any) -> Any:
    return z3.Not(formula) if isinstance(formula, z3.ExprRef) else not formula


def _bounded(rng: np.random.Generator) -> dict[str, F]:
    M, h = F(int(rng.integers(1, 9))), F(int(rng.integers(-8, 9)), 4)
    return {
        "M": M,
        "c": F(int(rng.integers(0, 9)), 8) / M,
        "g_0": F(int(rng.integers(-8, 9)), 8) * M,
        "h": h,
        "size": abs(h),
    }


@claim(
    "fed-lamb.l-604-repaired",
    statement="With plus in place of the last minus, L604 holds outcome by outcome",
    source=at("Term A_1 (L604)"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED_AT_SIZES,
    sizes="layers of one coordinate, beta1 = 0, clients whose f_i' is f' at the auxiliary point",
    assumptions=SIGNED,
    repairs="fed-lamb.l-604",
)
def signed() -> Finding:
    """In one coordinate sqrt(v_hat) cancels in Gamma, so that c needs no L598; size is |h|."""
    return decide(_signed, sample=_bounded)


def _unit(draw: Draw) -> Statement:
    """A coordinate of p/||p|| by the rule's own step from 0."""
    p, h = draw("p", 2), draw("h")
    unit = layer_step(p * 0, p, eta_l=1, phi=Phi.CONSTANT)[0]
    return Statement({}, {"L608": h * unit * h * unit <= h * h})


@claim(
    "fed-lamb.l-608",
    statement="|f'^j p^j/||p^l||| <= |f'^j|, so that E[... [signs differ]] <= |f'^j| P(signs differ)",
    source=at("Term A_1 (L608)"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED_AT_SIZES,
    sizes="layers of two coordinates",
)
def unit() -> Finding:
    """Squared. Where p is 0 the rule does not move, and it holds as well; nothing is assumed."""
    return decide(_unit, sample=lambda rng: {"p_0": F(3 * int(rng.integers(1, 5))), "p_1": F(0)}, timeout_ms=5000)
