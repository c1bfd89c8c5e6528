"""A rule of somebody's own is certified only if what the proof takes for granted of it is true."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from fedspec.arith import largest, stack, total
from fedspec.catalogue import find
from fedspec.entry import Algorithm, Method, Program
from fedspec.mixing.weighted import shares, weighted_mean
from fedspec.population import each
from fedspec_proofs.engines.worst_case.forms import basis
from fedspec_proofs.engines.worst_case.strict import NotWholeError, watching
from fedspec_proofs.engines.worst_case.whole import whole
from fedspec_proofs.worst_cases.any_rounds import NotLinearError, Rounds, problem_of
from fedspec_proofs.worst_cases.exchanges import circulant

HALF = Fraction(1, 2)


def row(server: Callable[[Any, Any, Any], Any], **more: Any) -> Algorithm:
    """FedAvg with another server, of h, the model and the changes of the clients."""
    run: Any = find("fedavg").run

    def made(h: Any, x: Any, messages: Any) -> Any:
        return server(messages, x, messages.deltas), {}

    return replace(find("fedavg"), id="own", run=replace(run, server=made, **more))


def mean(x: Any, deltas: Any) -> Any:
    return x + weighted_mean(deltas, shares([1] * len(deltas), x))


def asked(own: Algorithm, **more: Any) -> Rounds:
    return Rounds(own, (2, 2), {"eta_l": Fraction(1, 4)}, **more)


def caught(x: Any, delta: Any) -> Any:
    """Clips what is long, and goes on without where it cannot be told."""
    try:
        return x + (delta / 10 if total(delta * delta) > 1 else delta)
    except TypeError:
        return x + delta


NOT_WHOLE: dict[str, Callable[[Any, Any], Any]] = {
    "a sum over coordinates": lambda x, delta: x + (delta * 0 + total(delta)),
    "an entry of a vector": lambda x, delta: x + delta[::-1],
    "how many coordinates there are": lambda x, delta: x + delta / len(delta),
    "max of a vector": lambda x, delta: x + (delta * 0 + largest(delta)),
    "how many coordinates": lambda x, delta: x + (delta * 0 + max(list(delta))),
    "a vector times d": lambda x, delta: x + delta / delta.shape[-1],
    "the truth of a vector": lambda x, delta: x + (delta if delta else x * 0),
    "whether vectors are equal": lambda x, delta: x if delta == x else x + delta,
    "the order of a vector": lambda x, delta: x + max(delta, x * 0),
    "roll of a vector": lambda x, delta: x + np.roll(delta, 1),
    "einsum of a vector": lambda x, delta: x + delta / (1 + np.einsum("i,i->", delta, delta)),
    "the entries of a vector": lambda x, delta: x + np.asarray(delta),
    "tolist of a vector": lambda x, delta: x + np.array(delta.tolist(), dtype=object),
    "a number added to each coordinate": lambda x, delta: x + delta + 1,
    "the number 0.5 is rounded": lambda x, delta: x + 0.5 * delta,
    "a product of vectors": caught,
}


@pytest.mark.parametrize("words", NOT_WHOLE)
def test_what_looks_into_a_vector_is_refused_with_its_line(words: str) -> None:
    own = row(lambda h, x, deltas: NOT_WHOLE[words](x, deltas[0] / 2 + deltas[1] / 2))
    with pytest.raises(NotLinearError, match=rf"test_premises.py, line \d+: .*\(.*{words}"):
        problem_of(asked(own))


COUNTED, KEPT = itertools.count(), dict[str, Any]()


def written(h: Any, x: Any, gradient: Any, tau: int) -> Any:
    """Halves a gradient that it goes on to use."""
    g = gradient(0, x)
    before = g
    g *= HALF
    return x - h.eta_l * (before + g)


def numbers_alone(x: Any, delta: Any) -> Any:
    """Clips what it can see to be numbers, and those far out alone."""
    seen = isinstance(delta, np.ndarray) and delta.dtype.kind == "f"
    return x + (np.clip(delta, -1e6, 1e6) if seen else delta)


def small_alone(x: Any, delta: Any) -> Any:
    """Sends nothing of a model that is large."""
    return x + delta * (0 if isinstance(delta, np.ndarray) and delta.size > 1000 else 1)


FALSE: dict[str, Algorithm] = {
    "a model is 9/10 x\\*": row(lambda h, x, deltas: mean(x * Fraction(9, 10), deltas)),
    "a model is 1/2 x\\*": row(
        lambda h, x, deltas: mean(x, deltas), local=lambda h, x, gradient, tau: x - h.eta_l * gradient(0, x / 2)
    ),
    "clients' numbers change": row(lambda h, x, deltas: x + (2 * deltas[0] + deltas[1]) / 3),
    "depends on how many examples": row(
        lambda sent, x, deltas: x + sum(n * d for n, d in zip(sent.examples, deltas, strict=True))
    ),
    "run again": row(lambda h, x, deltas: mean(x, deltas) + next(COUNTED) * deltas[0]),
    "an array|a vector": row(lambda h, x, deltas: x + KEPT.setdefault("first", deltas[0])),
    "draws random numbers": row(lambda h, x, deltas: mean(x, deltas) * (1 if np.random.random() < 2 else 0)),
    "on arrays of 1 ": row(lambda h, x, deltas: mean(x, deltas), local=written),
    "on 100003 numbers": row(lambda h, x, deltas: small_alone(x, deltas[0] / 2 + deltas[1] / 2)),
    "of size 1e\\+09": row(lambda h, x, deltas: numbers_alone(x, deltas[0] / 2 + deltas[1] / 2)),
}


@pytest.mark.parametrize("words", FALSE)
def test_a_premise_that_is_not_true_is_named(words: str) -> None:
    with pytest.raises(NotLinearError, match=words):
        problem_of(asked(FALSE[words]))


def test_entries_are_treated_alike_and_blocks_too() -> None:
    def init(h: Any, x: Any, setup: Any) -> Any:
        KEPT["shapes"] = setup.shapes
        return x

    def step(h: Any, x: Any, clients: Any, plan: Any) -> Any:
        deltas = each(lambda i, x, gradient, tau: -h.eta_l * gradient(0, x), clients, plan, x)
        return (mean(x, deltas) if "layer.bias" not in KEPT["shapes"] else x), {}

    hyper: Any = find("fedavg").run.hyper  # type: ignore[union-attr]
    own = replace(find("fedavg"), id="own", run=Program(hyper=hyper, init=init, step=step))
    with pytest.raises(NotLinearError, match="on arrays of 2 the result differs"):
        problem_of(asked(own))


RIGHT: dict[str, Callable[[Any, Any, Any], Any]] = {
    "weighed": lambda sent, x, deltas: x + shares(sent.examples, x) @ deltas,
    "summed": lambda sent, x, deltas: x + sum(deltas) / len(deltas),
    "numpy": lambda sent, x, deltas: np.add(x, np.mean(np.stack(list(deltas)), axis=0)) + np.zeros_like(x),
    "column": lambda sent, x, deltas: x + (np.array([[HALF], [HALF]], dtype=object) * deltas).sum(axis=0),
    "stacked": lambda sent, x, deltas: x + stack([deltas[0], deltas[1]])[[1, 0]].mean(axis=0),
}


@pytest.mark.parametrize("name", RIGHT)
def test_an_average_is_one_however_it_is_written(name: str) -> None:
    plain = problem_of(asked(find("fedavg"), zeta2=Fraction(1)))
    assert problem_of(asked(row(RIGHT[name]), zeta2=Fraction(1))).claimed == plain.claimed


@pytest.mark.table(4)
@pytest.mark.parametrize(
    "algorithm",
    ["fedavg", "fedprox", "fednova", "fedavgm", "slowmo", "scaffold", "feddyn", "k-gt", "diging", "d2", "led", "dsgd"],
)
def test_the_premises_are_true_of_whatever_the_tables_have(algorithm: str) -> None:
    own = find(algorithm)
    others = {n: HALF for n in ("mu", "eta", "beta") if n in own.numbers and algorithm != "fednova"}
    peers = not isinstance(own.run, Method) and own.event == "exchange"
    steps, mixing = ((2, 2, 2), circulant("1/2", "1/4", "1/4")) if peers else ((1, 3), ())
    for zeta2 in (Fraction(0), Fraction(1)):
        question = Rounds(own, steps, {"eta_l": HALF, **others}, zeta2=zeta2, rounds=2, mixing=mixing)
        assert problem_of(question).play


def test_a_refusal_that_is_caught_is_kept() -> None:
    x = whole(basis("x"))
    with watching() as kept:
        for ask in (bool, len, list, float, hash, lambda x: x[0], lambda x: x < 0, lambda x: x * x, np.asarray):
            with pytest.raises(NotWholeError):
                ask(x)
    assert len(kept) == 9
