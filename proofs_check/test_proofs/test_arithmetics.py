"""Arithmetics of one text: every rule of the catalogue runs unchanged on all of them, and they agree exactly."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
import sympy
import z3
from test_proofs.calls import Call, call, delayed, options

from fedspec.arith import digits
from fedspec.catalogue import CATALOGUE
from fedspec.mixing.accumulation import accumulation
from fedspec.rules import RULES
from fedspec_proofs.engines.reals import Real, term

pytestmark = pytest.mark.table(1)

WAITING = "-waiting"

CALLS = {
    "-".join((name.removeprefix("fedspec."), *chosen.values())) + step: (name, tuple(chosen.items()))
    for name, rule in RULES.items()
    for chosen in options(rule)
    for step in ("", WAITING)[: 1 + delayed(rule)]
}
"""Every rule with every combination of its readings, and where it has a delay, at a step without an update too."""

NUMBERS = (
    "mixing.nova.effective_steps-fixed",
    "mixing.sampling.sampled_steps-fixed",
    "mixing.arrivals.discount",
    "algorithms.fadas.slowed",
    "mixing.accumulation.momentum_norm",
    "mixing.accumulation.code_norm",
)
"""Rules of hyper-parameters alone; the result has the hyper-parameters' type."""

every_call = pytest.mark.parametrize("label", CALLS)


@cache
def called(label: str) -> Call:
    name, chosen = CALLS[label]
    return call(RULES[name], dict[str, StrEnum](chosen), t=int(label.endswith(WAITING)))


def agree(c: Call, got: dict[str, Any], same: Callable[[Any, Fraction], bool]) -> None:
    assert got.keys() == c.result.keys()
    for name, want in c.result.items():
        assert np.shape(got[name]) == np.shape(want), name
        for g, w in zip(np.ravel(got[name]), np.ravel(want), strict=True):
            assert same(g, w), f"{name}: {g}, expected {w}"


def test_every_rule_is_called() -> None:
    rules = {r for a in CATALOGUE.values() for r in a.rules}
    assert len(rules) > 20
    # Others that run in this process may have read own algorithms.
    assert {name for name, _ in CALLS.values()} == {name for name in RULES if not name.startswith("fedspec.plugins.")}
    # FedNova's vectors and LAMB's layers are put together from rules.
    composed = {accumulation, *(r for r in rules if r.__module__ == "fedspec.client.lamb_solver")}
    assert rules - composed <= set(RULES.values())


@every_call
def test_fractions(label: str) -> None:
    for value in called(label).result.values():
        assert all(isinstance(v, Fraction) for v in np.ravel(value))


@every_call
def test_decimals(label: str) -> None:
    def decimal(_: str, q: Fraction) -> Decimal:
        return Decimal(q.numerator) / Decimal(q.denominator)

    def same(got: Decimal, want: Fraction) -> bool:
        exact = decimal("", want)
        return abs(got - exact) <= Decimal("1e-47") * max(1, abs(exact))

    with digits():
        agree(called(label), called(label).run(decimal), same)


@every_call
def test_sympy(label: str) -> None:
    at: dict[Any, Any] = {}

    def symbol(name: str, q: Fraction) -> Any:
        at[sympy.Symbol(name, real=True)] = sympy.Rational(q.numerator, q.denominator)
        return sympy.Symbol(name, real=True)

    def same(got: Any, want: Fraction) -> bool:
        return bool(sympy.sympify(got).xreplace(at) == sympy.Rational(want.numerator, want.denominator))

    agree(called(label), called(label).run(symbol), same)


@every_call
def test_z3(label: str) -> None:
    """On z3 reals throughout; and on bare z3 vectors with fractions as hyper-parameters."""
    for bare in (False, True):
        at: list[tuple[Any, Any]] = []

        def variable(name: str, q: Fraction, bare: bool = bare, at: list[tuple[Any, Any]] = at) -> Any:
            at.append((z3.Real(name), z3.RealVal(str(q))))
            return z3.Real(name) if bare else Real(z3.Real(name))

        def same(got: Any, want: Fraction, at: list[tuple[Any, Any]] = at) -> bool:
            value = z3.simplify(z3.substitute(term(got), *at))
            return z3.is_rational_value(value) and Fraction(value.as_fraction()) == want

        agree(called(label), called(label).run(variable, (lambda _, q: q) if bare else None), same)


@every_call
def test_floats(label: str) -> None:
    for dtype in (np.float32, np.float64):
        most = 30 * np.finfo(dtype).eps

        def same(got: Any, want: Fraction, most: Any = most) -> bool:
            return bool(abs(float(got) - float(want)) <= most * max(1.0, abs(float(want))))

        got = called(label).run(lambda _, q: float(q), dtype=dtype)
        agree(called(label), got, same)
        for name, value in got.items():
            assert getattr(value, "dtype", None) == dtype or label.startswith(NUMBERS), (name, dtype)


def test_examples_take_both_branches() -> None:
    """AMSGrad keeps its maximum at some coordinates and raises it at others; Yogi moves both ways."""
    ams = called("server.amsgrad.amsgrad-none-inside-before-correction")
    kept = ams.result["v_hat"] == ams.arguments["state"].v_hat
    assert kept.any() and not kept.all()
    yogi = called("server.yogi.yogi-none-outside-pseudo-gradient")
    rose = yogi.result["v"] > yogi.arguments["state"].v
    assert rose.any() and not rose.all()
    waited = [called(label) for label, (name, _) in CALLS.items() if delayed(RULES[name])]
    moved = [(c.result["x"] != c.arguments["state"].x).any() for c in waited]
    assert any(moved) and not all(moved), "a dead zone holds some steps and lets others through"
