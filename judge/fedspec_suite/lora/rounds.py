"""Rounds of low-rank adapters as data, and claims about the server's aggregation rule.

Every number is a small whole one, and so are the sums of sample sizes powers of two: a weight, a product and a mean are
exact in every floating-point type, and what is wrong is wrong by much.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import Any, TypeAlias

import numpy as np

from fedspec.arith import Array, Weights
from fedspec.errors import ParameterError, none_called
from fedspec.mixing import lora
from fedspec.mixing.adapters import Adapter, Layer, sigma_of
from fedspec.mixing.lora import Factor
from fedspec.mixing.weighted import shares
from fedspec.readings import Weighting


@dataclass(frozen=True)
class Round:
    """Inputs of a server's aggregation in one round.

    Attributes:
        layer: W, B and A as the round began with them.
        sent: the clients' B and A.
        examples: their numbers of examples.
        alpha: the adapter's; sigma = alpha / r.
        number: number of the round, from 1.
        fresh: an A to begin the next round with, for a server that merges the adapter.
    """

    layer: Layer
    sent: tuple[Adapter, ...]
    examples: tuple[int, ...]
    alpha: Any
    number: int
    fresh: Array

    @property
    def r(self) -> int:
        """Rank of the adapter."""
        return int(self.layer.B.shape[1])

    @property
    def sigma(self) -> Any:
        """Scale sigma = alpha / r of the product B A."""
        return sigma_of(self.alpha, self.r)

    @property
    def shape(self) -> str:
        """Shape of the layer and its adapter, in words."""
        d, k = self.layer.W.shape
        return f"a {d} x {k} layer of rank {self.r}"

    def __str__(self) -> str:
        return f"{self.shape}, {'1 client' if len(self.sent) == 1 else f'{len(self.sent)} clients'}"


def copied(s: Round) -> Round:
    """Copy a round, each matrix into its own memory, since laws give several clients the same matrix."""
    layer = Layer(*(M.copy() for M in (s.layer.W, s.layer.B, s.layer.A)))
    sent = tuple(Adapter(a.B.copy(), a.A.copy()) for a in s.sent)
    return replace(s, layer=layer, sent=sent, fresh=s.fresh.copy())


Mixed: TypeAlias = "Layer | tuple[Any, Any, Any]"
Mixer: TypeAlias = Callable[[Round], Mixed]
"""Function from a round to the next W, B and A, as a Layer or as three arrays."""


@dataclass(frozen=True)
class Claim:
    """Declaration of the aggregation rule that a server follows.

    Attributes:
        rule: name of the aggregation rule.
        weights: by which.
        first: for RoLoRA, which factor is trained first.
        own_ranks: for FLoRA, whether clients have ranks of their own, with one sigma.
    """

    rule: str
    weights: Weighting = Weighting.EXAMPLES
    first: Factor = Factor.B
    own_ranks: bool = False

    def __post_init__(self) -> None:
        if self.own_ranks and self.rule != "flora":
            raise ParameterError(
                f"ranks: {self.rule} averages factors, so all clients have one rank; flora stacks them"
            )

    def __str__(self) -> str:
        more = {"rolora": f", {self.first} first", "flora": ", ranks of their own" if self.own_ranks else ""}
        return f"{self.rule}, weights {self.weights}{more.get(self.rule, '')}"

    def held(self, number: int) -> Factor | None:
        """Return the factor that clients do not train in a round; None if they train both."""
        if self.rule == "rolora":
            return Factor.A if lora.turn(number, self.first) is Factor.B else Factor.B
        return Factor.A if self.rule == "ffa-lora" else None


def _p(c: Claim, s: Round) -> Weights:
    return shares(s.examples, s.layer.W.reshape(-1), c.weights)


def _by_rule(rules: Mapping[str, Any], c: Claim, s: Round) -> Layer:
    more: dict[str, dict[str, Any]] = {
        "rolora": {"r": s.number, "first": c.first},
        "flora": {"sigma": s.sigma, "fresh": s.fresh},
        "fedex-lora": {"sigma": s.sigma},
    }
    layer: Layer = rules[FUNCTIONS[c.rule]](s.layer, s.sent, _p(c, s), **more.get(c.rule, {}))
    return layer


FUNCTIONS = {"fedit": "fedit", "ffa-lora": "ffa", "rolora": "rolora", "flora": "flora", "fedex-lora": "fedex"}
"""Rules by their papers' names, with the names of their functions in ``fedspec.mixing.lora``."""

ALIASES = {"ffa": "ffa-lora", "fedex": "fedex-lora", "fed-it": "fedit", "shepherd": "fedit", "lora-fedavg": "fedit"}
"""Aliases of rules: names in code (Shepherd) or in the tables of other papers."""


def named(rule: str) -> str:
    """Return the name of a rule for any of its spellings.

    Raises:
        UnknownNameError: no rule is called so.
    """
    spelt = rule.lower().replace("_", "-")
    name = ALIASES.get(spelt, spelt)
    if name not in FUNCTIONS:
        raise none_called("rule", rule, FUNCTIONS, "fedspec lora --list")
    return name


def following(c: Claim, rules: Mapping[str, Any] | None = None) -> Mixer:
    """Return the specification's rule as a mixer; ``rules`` may replace the functions of ``fedspec.mixing.lora``."""
    return partial(_by_rule, vars(lora) if rules is None else rules, c)


SHAPES = ((3, 2, 1), (2, 4, 2), (4, 3, 2), (3, 3, 2))
"""Outputs, inputs and rank of the layers: in one, outputs equal the rank; one is square."""

SIZES = ((5,), (1, 3), (3, 1, 2, 2))
"""Clients' numbers of examples; the sum of each list but the first is a power of two."""


OF_OWN_RANKS = ((5, 6, 2), (7, 5, 1))
"""Layers for clients with individual ranks: the server's rank, and one and two more."""


def rounds(seed: int = 0, kind: Any = float, own_ranks: bool = False) -> Iterator[Round]:
    """Yield a round for each shape and each number of clients, with random entries: floats or exact fractions.

    Args:
        seed: seed of the random entries.
        kind: conversion of an integer to a number: ``float``, or ``fractions.Fraction``.
        own_ranks: True: clients have ranks of their own.
    """
    dice = Random(seed)

    def matrix(rows: int, columns: int) -> Array:
        drawn = [[kind(dice.randint(-3, 3)) for _ in range(columns)] for _ in range(rows)]
        return np.array(drawn, dtype=float if kind is float else object)

    for number, (d, k, r) in enumerate(OF_OWN_RANKS if own_ranks else SHAPES, 1):
        for examples in SIZES:
            layer = Layer(W=matrix(d, k), B=matrix(d, r), A=matrix(r, k))
            ranks = [r + i % 3 if own_ranks else r for i, _ in enumerate(examples)]
            sent = tuple(Adapter(B=matrix(d, q), A=matrix(q, k)) for q in ranks)
            yield Round(layer, sent, examples, kind(4), number, matrix(r, k))


def shown(c: Claim) -> tuple[str, ...]:
    """Return the matrices that a rule determines; FLoRA draws the next A at random."""
    return ("W", "B") if c.rule == "flora" else ("W", "B", "A")


def held(c: Claim, s: Round) -> Round:
    """Set the factor that clients don't train to the server's, at every client."""
    factor = c.held(s.number)
    if factor is None:
        return s
    kept = {factor.value: getattr(s.layer, factor.value)}
    return replace(s, sent=tuple(replace(a, **kept) for a in s.sent))
