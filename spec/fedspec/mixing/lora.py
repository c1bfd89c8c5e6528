"""Five rules that average low-rank adapters: FedIT, FFA-LoRA, RoLoRA, FLoRA and FedEx-LoRA.

All take the layer that a round began with and what clients send back, in the words of :mod:`fedspec.mixing.adapters`,
and return the layer that the next round begins with. With B = sum_i p_i B_i and A = sum_i p_i A_i:

    ================  =====================================  ==========================================
    rule              the next layer                         its W + sigma B A
    ================  =====================================  ==========================================
    FedIT             W, B, A                                is the mean of layers less a covariance
    FFA-LoRA          W, B, and A as it was                  is it, since all clients have that A
    RoLoRA            B or A averaged, the other as it was   is it, since all clients have the other
    FLoRA             the mean of layers, 0, another A       is it
    FedEx-LoRA        W + sigma residual, B, A               is it
    ================  =====================================  ==========================================

The caller chooses the weights p_i (:func:`fedspec.mixing.weighted.shares`): by examples, as in the code of FedIT and
FLoRA, or 1 / n, as in FedEx-LoRA's. sigma stays the same in every round.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from fedspec.arith import Scalar, Weights, namespace
from fedspec.domains import COUNT, outside
from fedspec.errors import PlanError
from fedspec.mixing.adapters import (
    Adapter,
    Down,
    Layer,
    check_fits,
    check_sent,
    factor_means,
    mean,
    residual,
)
from fedspec.readings import choice


class Factor(StrEnum):
    """Factor of an adapter."""

    A = "A"
    B = "B"


def fedit(layer: Layer, sent: Sequence[Adapter], p: Weights) -> Layer:
    """Average each factor separately.

        B = sum_i p_i B_i
        A = sum_i p_i A_i

    Raises:
        PlanError: no client sends, or the weights and the clients differ in number.
        ShapeError: a factor does not fit the layer.
        WeightError: weights are negative or do not sum to one.

    External: FedIT, Zhang et al. (2023), arXiv 2305.05644; as JayZhang42/FederatedGPT-Shepherd has it
    (fed_utils/model_aggregation.py:9-29 at bcffa00), with p_i by examples.
    """
    check_sent(layer, sent, p)
    of = factor_means(sent, p)
    return Layer(W=layer.W, B=of.B, A=of.A)


def ffa(layer: Layer, sent: Sequence[Adapter], p: Weights) -> Layer:
    """Average B; keep the A that all clients began with, and ignore the A that they send.

        B = sum_i p_i B_i

    Raises:
        PlanError: no client sends, or the weights and the clients differ in number.
        ShapeError: a factor does not fit the layer.
        WeightError: weights are negative or do not sum to one.

    External: FFA-LoRA, Sun, Li, Li and Ding (2024), arXiv 2403.12313; as RaghavSinghal10/fedex-lora compares with it
    (fed_agg.py:39-55 at 683a3f3), with p_i = 1 / n.
    """
    check_sent(layer, sent, p)
    return Layer(W=layer.W, B=mean(p, [a.B for a in sent]), A=layer.A)


def turn(r: int, first: Factor = Factor.B) -> Factor:
    """Factor that moves in round r, counted from 1: the first factor in odd rounds, the other factor in even rounds.

    An adapter begins with B = 0. Then the gradient of A is sigma B' G = 0, and only B can move: so B is first.

    Raises:
        PlanError: r is no whole number >= 1.
    """
    if outside(r, COUNT):
        raise PlanError(f"r: got {r!r}; rounds are counted from 1")
    first = choice(Factor, "first", first)
    return first if r % 2 else {Factor.A: Factor.B, Factor.B: Factor.A}[first]


def rolora(layer: Layer, sent: Sequence[Adapter], p: Weights, *, r: int, first: Factor = Factor.B) -> Layer:
    """Average the factor that clients trained in this round; keep the other factor and ignore it in the messages.

        B = sum_i p_i B_i        in odd rounds
        A = sum_i p_i A_i        in even rounds

    Raises:
        PlanError: r isn't a whole number >= 1, no client sends, or the weights and the clients differ in number.
        ShapeError: a factor does not fit the layer.
        WeightError: weights are negative or do not sum to one.

    External: RoLoRA, Chen, Guo, Ju, Dalal, Zhu and Khisti (2025), arXiv 2502.01755, by its abstract; which factor is
    first is not said there.
    """
    check_sent(layer, sent, p)
    if turn(r, first) is Factor.B:
        return Layer(W=layer.W, B=mean(p, [a.B for a in sent]), A=layer.A)
    return Layer(W=layer.W, B=layer.B, A=mean(p, [a.A for a in sent]))


def stacked(sent: Sequence[Adapter], p: Weights) -> Adapter:
    """Concatenate the clients' adapters to one, whose product is the mean of their products.

        B = [B_1 ... B_n]
        A = [p_1 A_1; ...; p_n A_n]

    Its sigma is that of the clients: of rank n r it needs n alpha in the place of alpha, or it is 1 / n of it.

    External: FLoRA, Wang et al. (2024), arXiv 2409.05976; as ATP-1010/FederatedLLM has it
    (fed_utils/model_aggregation.py:58-91 and main.py:225-233 at 7bea158).
    """
    weighed: list[Any] = [p_i * a.A for p_i, a in zip(p, sent, strict=True)]
    xp: Any = namespace(weighed[0])
    joined = getattr(xp, "concat", None) or xp.concatenate
    return Adapter(B=joined([a.B for a in sent], axis=1), A=joined(weighed, axis=0))


def flora(layer: Layer, sent: Sequence[Adapter], p: Weights, *, sigma: Scalar, fresh: Down) -> Layer:
    """Merge the concatenated adapters into W; clients begin the next round with an adapter whose product is 0.

        W = W + sigma [B_1 ... B_n] [p_1 A_1; ...; p_n A_n]
        B = 0
        A = fresh

    Clients may have ranks of their own, with one sigma. ``fresh`` is drawn by the plan, not here.

    Raises:
        PlanError: no client sends, or the weights and the clients differ in number.
        ShapeError: a factor does not fit the layer.
        WeightError: weights are negative or do not sum to one.

    External: FLoRA, Wang et al. (2024), arXiv 2409.05976; as ATP-1010/FederatedLLM has it
    (fed_utils/model_aggregation.py:58-91 and main.py:225-233 and 390-391 at 7bea158), with p_i by examples.
    """
    check_sent(layer, sent, p, ranks=True)
    check_fits(layer.W, Adapter(B=layer.B, A=fresh), "fresh")
    of = stacked(sent, p)
    return Layer(W=layer.W + sigma * (of.B @ of.A), B=layer.B * 0, A=fresh)


def fedex(layer: Layer, sent: Sequence[Adapter], p: Weights, *, sigma: Scalar) -> Layer:
    """Average each factor separately, and add to W the residual: the mean product minus the product of the means.

        W = W + sigma (sum_i p_i B_i A_i - B A)
        B = sum_i p_i B_i
        A = sum_i p_i A_i

    W moves by a matrix of rank r (n - 1) at most: it is a sum of n products with deviations that add up to 0.

    Raises:
        PlanError: no client sends, or the weights and the clients differ in number.
        ShapeError: a factor does not fit the layer.
        WeightError: weights are negative or do not sum to one.

    External: FedEx-LoRA, Singhal, Ponkshe and Vepakomma (2024), arXiv 2410.09432; as RaghavSinghal10/fedex-lora has it
    (fed_agg.py:58-118 at 683a3f3) where a weight is kept with its axes turned over, with p_i = 1 / n.
    """
    check_sent(layer, sent, p)
    of = factor_means(sent, p)
    return Layer(W=layer.W + sigma * residual(sent, p), B=of.B, A=of.A)
