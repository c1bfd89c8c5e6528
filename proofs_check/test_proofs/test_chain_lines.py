"""The lines that chains are made of: half of a right side is too little, but for those that are known to be loose."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import z3

from fedspec_proofs.afga.kit import mixed
from fedspec_proofs.client_centric.kit import every_size
from fedspec_proofs.engines.algebra import Body, variables
from fedspec_proofs.engines.smt import Outcome, prove
from fedspec_proofs.fed_lamb.claims import assembly as fed_lamb
from fedspec_proofs.fed_lamb.claims import assumptions, key_inequality, lemma_1
from fedspec_proofs.fedada2.claims import blended, delayed_adagrad, derivation, descent, logarithms
from fedspec_proofs.fedada2.kit import relaxed_rule, sm3_inductions
from fedspec_proofs.fednova.claims import client_drift
from fedspec_proofs.kit.balls import one_more_term

pytestmark = pytest.mark.long

MODULES = (every_size, key_inequality, fed_lamb, relaxed_rule, sm3_inductions, client_drift)
BODIES: tuple[Body, ...] = (
    *(
        one
        for module in MODULES
        for one in vars(module).values()
        if getattr(one, "__annotations__", {}).get("return") == "Statement" and one.__module__ == module.__name__
    ),
    lemma_1.around_mean,
    mixed.one_more_slope,
    *derivation.ROUND,
    one_more_term,
    blended._one_more_gradient,
    blended._one_more_step,
    blended._smallest_weight,
    blended._one_more_weight,
    delayed_adagrad._ceiling,
    delayed_adagrad._one_more_step,
    delayed_adagrad._weighed,
    assumptions._floor,
    descent._denominators,
    logarithms._weaker,
)
LOOSE = {
    "L s^2/2 <= eta^2 L Phi1^2/tau^2": "Psi2 of Theorem 20 is twice what L/2 asks for",
    "tau v_t (b - a) <= Delta_t^2 (a + tau) (b + tau)": "L882 holds with half of its right side",
}


def atoms(formula: Any) -> Iterator[Any]:
    """The comparisons in a conjunction."""
    if z3.is_and(formula):
        for part in formula.children():
            yield from atoms(part)
    else:
        yield formula


def halved(formula: Any) -> Any:
    """With half of the larger side."""
    a, b = formula.children()
    return a <= b / 2 if z3.is_le(formula) else a / 2 >= b if z3.is_ge(formula) else a == b / 2


def is_sign(formula: Any) -> bool:
    """True if it only says that something is not negative."""
    sides = [z3.simplify(side) for side in formula.children()]
    return any(z3.is_rational_value(side) and side.as_fraction() == 0 for side in sides)


@pytest.mark.table(10)
@pytest.mark.parametrize("body", BODIES, ids=lambda b: f"{b.__module__.split('.')[1]}-{b.__name__}")
def test_half_of_a_line_is_not_proved(body: Body) -> None:
    whole = body(variables)
    for words, formula in whole.shown.items():
        for one in atoms(formula):
            if is_sign(one):
                continue
            answer = prove({words: halved(one)}, whole.given, timeout_ms=3000)
            assert (answer.outcome is Outcome.PROVED) is (words in LOOSE), words
