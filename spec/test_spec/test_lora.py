"""Federated LoRA by hand, in any library, and what is refused: what each rule makes of the clients' factors."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction as F
from typing import Any

import jaxtyping
import numpy as np
import pytest
import torch
from test_spec.exact import matrix

from fedspec.errors import ParameterError, PlanError, ShapeError, UnknownNameError, WeightError
from fedspec.mixing.adapters import (
    Adapter,
    Layer,
    check_fits,
    product_mean,
    residual,
    sigma_of,
)
from fedspec.mixing.lora import Factor, fedex, fedit, ffa, flora, rolora, stacked, turn

pytestmark = pytest.mark.table(10)

HALF = np.array([F(1, 2), F(1, 2)])
RULES = (fedit, ffa, rolora, flora, fedex)


TWO = (Adapter(matrix([1], [0]), matrix([0, 2])), Adapter(matrix([0], [1]), matrix([4, 0])))
"""Two clients of rank 1, each with an output and an input of its own."""
NOTHING = Layer(matrix([0, 0], [0, 0]), matrix([0], [0]), matrix([1, 1]))


def drawn(seed: int, m: int, n: int, ranks: tuple[int, ...]) -> tuple[Layer, tuple[Adapter, ...]]:
    """A layer, of the first rank, and an adapter of each."""
    rng = np.random.default_rng(seed)

    def some(*shape: int) -> Any:
        return rng.integers(-5, 6, shape).astype(object) + F(0)

    layer = Layer(some(m, n), some(m, ranks[0]), some(ranks[0], n))
    return layer, tuple(Adapter(some(m, r), some(r, n)) for r in ranks)


def mixed(rule: Any, layer: Layer, sent: Any, p: Any, sigma: Any = 1) -> Layer:
    """Any of the rules, RoLoRA in its first round."""
    more = {flora: {"sigma": sigma, "fresh": layer.A}, fedex: {"sigma": sigma}, rolora: {"r": 1}}
    after: Layer = rule(layer, sent, p, **more.get(rule, {}))
    return after


def same(X: Any, Y: Any) -> bool:
    return bool((X == Y).all())


def test_two_clients_by_hand() -> None:
    """The clients' layers are [[0, 2], [0, 0]] and [[0, 0], [4, 0]]."""
    assert same(product_mean(TWO, HALF), matrix([0, 1], [2, 0]))
    mean = fedit(NOTHING, TWO, HALF)
    assert same(mean.B, matrix(["1/2"], ["1/2"])) and same(mean.A, matrix([2, 1])) and same(mean.W, NOTHING.W)
    assert same(residual(TWO, HALF), matrix([-1, "1/2"], [1, "-1/2"]))
    exact = fedex(NOTHING, TWO, HALF, sigma=1)
    assert same(exact.W, matrix([-1, "1/2"], [1, "-1/2"])) and same(exact.B, mean.B) and same(exact.A, mean.A)
    merged = flora(NOTHING, TWO, HALF, sigma=1, fresh=matrix([7, 7]))
    assert (
        same(merged.W, matrix([0, 1], [2, 0])) and same(merged.B, matrix([0], [0])) and same(merged.A, matrix([7, 7]))
    )
    of = stacked(TWO, HALF)
    assert same(of.B, matrix([1, 0], [0, 1])) and same(of.A, matrix([0, 1], [2, 0]))


def test_one_sided_rounds_by_hand() -> None:
    """B_i are (3, 1)' and (-1, 5)', of which a quarter and three quarters are (0, 4)'."""
    layer = Layer(matrix([0, 0], [0, 0]), matrix([0], [0]), matrix([1, 2]))
    sent = tuple(Adapter(B, layer.A) for B in (matrix([3], [1]), matrix([-1], [5])))
    p = np.array([F(1, 4), F(3, 4)])
    for after in (ffa(layer, sent, p), rolora(layer, sent, p, r=1), rolora(layer, sent, p, r=2, first=Factor.A)):
        assert same(after.B, matrix([0], [4])) and after.A is layer.A and after.W is layer.W
        assert same(after.B @ after.A, product_mean(sent, p))
    turned = [Adapter(layer.B, A) for A in (matrix([4, 8]), matrix([0, 4]))]
    after = rolora(layer, turned, p, r=2)
    assert same(after.A, matrix([1, 5])) and after.B is layer.B


def test_a_stack_keeps_its_sigma_with_n_times_the_alpha() -> None:
    assert sigma_of(F(16), 8) == 2 and sigma_of(3 * F(16), 3 * 8) == 2 and sigma_of(F(16), 3 * 8) == F(2, 3)


def test_clients_of_different_ranks_stack() -> None:
    layer, sent = drawn(3, 4, 3, (2, 1, 3))
    p = np.array([F(1, 2), F(1, 4), F(1, 4)])
    assert stacked(sent, p).B.shape == (4, 6) and stacked(sent, p).A.shape == (6, 3)
    after = flora(layer, sent, p, sigma=F(2), fresh=layer.A)
    assert same(after.W, layer.W + 2 * product_mean(sent, p))
    for rule in (fedit, ffa, rolora, fedex):
        with pytest.raises(ShapeError, match=r"sent\[1\]\.B: shape \(4, 1\), expected \(4, 2\)"):
            mixed(rule, layer, sent, p)


def test_turns_alternate_from_the_first_round_on() -> None:
    assert [turn(r) for r in (1, 2, 3, 4)] == [Factor.B, Factor.A, Factor.B, Factor.A]
    assert [turn(r, Factor.A) for r in (1, 2, 3)] == [Factor.A, Factor.B, Factor.A]


@pytest.mark.parametrize("kind", ["numpy", "torch", "jax"])
def test_any_library_in_its_own_precision(kind: str) -> None:
    layer, sent = drawn(2, 4, 3, (2, 2))
    p = np.array([F(1, 4), F(3, 4)])

    def as_floats(M: Any) -> Any:
        numbers = np.asarray(M, dtype=np.float32)
        if kind == "jax":
            return pytest.importorskip("jax.numpy").asarray(numbers)
        return torch.tensor(numbers) if kind == "torch" else numbers

    def given(a: Any) -> Any:
        return type(a)(**{name: as_floats(M) for name, M in vars(a).items()})

    for rule in RULES:
        want = mixed(rule, layer, sent, p, 2)
        got = mixed(rule, given(layer), [given(a) for a in sent], as_floats(p), 2)
        for name in ("W", "B", "A"):
            M = getattr(got, name)
            assert "float32" in str(M.dtype)
            assert same(np.asarray(M), np.asarray(getattr(want, name), dtype=np.float32))


LAYER, SENT = drawn(0, 3, 2, (1, 1))


@pytest.fixture
def undisturbed() -> Iterator[None]:
    """Shapes are refused by the functions themselves, and not by what checks annotations in tests."""
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", before)


def second(B: Any, A: Any) -> dict[str, Any]:
    """The round with another second client."""
    return {"sent": (SENT[0], Adapter(B, A))}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda: {"sent": ()}, "0 adapters for 2 weights"),
        (lambda: {"p": HALF[:1]}, "2 adapters for 1 weights"),
        (lambda: {"p": HALF * 2}, "sums to 2"),
        (lambda: second(SENT[1].A, SENT[1].B), r"sent\[1\]\.B: shape \(1, 2\), expected \(3, [13]\)"),
        (lambda: second(SENT[1].B.T, SENT[1].A), r"sent\[1\]\.B: .* it seems to be transposed; B is \[d, r\]"),
        (lambda: second(SENT[1].B, SENT[1].A.T), r"sent\[1\]\.A: .* it seems to be transposed"),
        (lambda: second(SENT[1].B, SENT[1].A[0]), r"sent\[1\]\.A: shape \(2,\); .* are matrices"),
        (lambda: second([[1]], SENT[1].A), r"sent\[1\]\.B: got list"),
        (lambda: {"layer": Layer(LAYER.W.T, LAYER.B, LAYER.A)}, r"layer\.B: shape \(3, 1\), expected \(2, 1\)"),
    ],
)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.usefixtures("undisturbed")
def test_what_is_no_round_is_refused_by_name(rule: Any, change: Any, said: str) -> None:
    given = {"layer": LAYER, "sent": SENT, "p": HALF, **change()}
    with pytest.raises((PlanError, ShapeError, WeightError), match=said):
        mixed(rule, given["layer"], given["sent"], given["p"])


@pytest.mark.usefixtures("undisturbed")
def test_numbers_outside_their_domain_are_refused() -> None:
    for r in (0, -1, 1.5, "1"):
        with pytest.raises(PlanError, match="rounds are counted from 1"):
            turn(r)  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="first: unknown value 'C'"):
        turn(1, "C")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="alpha: got 0; it must be > 0"):
        sigma_of(0, 4)
    with pytest.raises(ParameterError, match="r: got 0; the rank"):
        sigma_of(1, 0)
    with pytest.raises(ShapeError, match=r"fresh\.A"):
        flora(LAYER, SENT, HALF, sigma=1, fresh=LAYER.A.T)
    check_fits(LAYER.W, LAYER, "layer")
