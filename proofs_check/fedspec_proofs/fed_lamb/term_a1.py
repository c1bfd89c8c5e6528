"""The term A_1: signs that agree and signs that do not. Fed-LAMB, L604-608."""

from __future__ import annotations

from typing import Any

from fedspec.arith import sqrt
from fedspec.plan import Oracle
from fedspec_proofs.claim import Engine, Finding, Verdict, claim
from fedspec_proofs.engines.exact import vector
from fedspec_proofs.engines.expectation import mean
from fedspec_proofs.fed_lamb.rounds import F, begin, lamb, noisy, seen
from fedspec_proofs.fed_lamb.shared import FOUR, at, constant
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
