"""Low-rank adapters: the layer W + sigma B A, the factors that clients send, and the mean of the clients' layers.

A layer has a frozen matrix W [d, k] and an adapter, B [d, r] and A [r, k], whose product is added with the factor
sigma = alpha / r. Client i trains the adapter alone and sends B_i and A_i. The mean of the clients' layers is

    W + sigma sum_i p_i B_i A_i

and no rule but :mod:`fedspec.mixing.lora` says what the server makes of it. The mean of the factors is another one:

    sum_i p_i B_i A_i - B A = sum_i p_i (B_i - B) (A_i - A)        with B = sum_i p_i B_i, A = sum_i p_i A_i

The difference is a covariance of the two factors: it vanishes if all clients have the same A, or the same B, or if
there is one client.

These are functions of matrices, and no rules of the catalogue: a row's model is one vector, whatever its blocks.
External: Hu et al. (2021), arXiv 2106.09685, for the layer; the identity is the covariance's.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any, TypeAlias

from jaxtyping import Shaped

from fedspec.arith import Array, Scalar, Weights, check_array
from fedspec.domains import COUNT, POSITIVE, outside
from fedspec.errors import ParameterError, PlanError, ShapeError
from fedspec.mixing.weighted import check_shares
from fedspec.records import record

Matrix: TypeAlias = Shaped[Array, "d k"]
"""Weight W of a layer, with one row for each output."""

Up: TypeAlias = Shaped[Array, "d r"]
"""Factor B of an adapter, from its r dimensions to the outputs."""

Down: TypeAlias = Shaped[Array, "r k"]
"""Factor A of an adapter, from the inputs to its r dimensions."""


@record
class Adapter:
    """The two factors of an adapter, as a client has trained them."""

    B: Up
    A: Down


@record
class Layer:
    """A layer as the server sends it: the frozen weight W and the factors that clients begin with."""

    W: Matrix
    B: Up
    A: Down


def sigma_of(alpha: Scalar, r: int) -> Scalar:
    """Factor alpha / r of the product of an adapter of rank r.

    Raises:
        ParameterError: alpha isn't positive, or the rank isn't a whole number >= 1.
    """
    if outside(alpha, POSITIVE):
        raise ParameterError(f"alpha: got {alpha!r}; it must be {POSITIVE.words}")
    if outside(r, COUNT):
        raise ParameterError(f"r: got {r!r}; the rank of an adapter is {COUNT.words}")
    return alpha / r


def check_fits(W: Matrix, adapter: Adapter | Layer, name: str, r: int | None = None) -> None:
    """Raise ShapeError unless the factors fit the layer: B is [d, r] and A is [r, k] for W of shape [d, k].

    Args:
        W: the layer's weight.
        adapter: the adapter whose factors should fit the layer.
        name: name of the adapter, for the error.
        r: the rank, if it is known; None: the rank of B.

    Raises:
        ShapeError: a factor isn't a matrix of reals, or has another shape.
    """
    for what, factor in (("W", W), (f"{name}.B", adapter.B), (f"{name}.A", adapter.A)):
        check_array(what, factor)
        if len(factor.shape) != 2:
            raise ShapeError(f"{what}: shape {tuple(factor.shape)}; a layer and its factors are matrices")
    (d, k), B, A = W.shape, tuple(adapter.B.shape), tuple(adapter.A.shape)
    if r is None:
        r = B[1] if B[0] == d else A[0]
    for what, got, want in ((f"{name}.B", B, (d, r)), (f"{name}.A", A, (r, k))):
        if got != want:
            turned = "; it seems to be transposed" if got == want[::-1] else ""
            raise ShapeError(
                f"{what}: shape {got}, expected {want} beside W {(d, k)}{turned}; B is [d, r], A is [r, k]"
            )


def check_sent(layer: Layer, sent: Sequence[Adapter], p: Weights, *, ranks: bool = False) -> None:
    """Raise an error for an invalid round: no client sends, weights don't sum to one, or a factor doesn't fit.

    Args:
        layer: the layer that the server sent.
        sent: the clients' adapters.
        p: the weight of each client.
        ranks: True if clients may have different ranks.

    Raises:
        PlanError: no client sends, or the weights and the clients differ in number.
        ShapeError: a factor doesn't fit the layer.
        WeightError: weights are negative or do not sum to one.
    """
    if not sent or len(sent) != len(p):
        raise PlanError(
            f"sent: got {len(sent)} adapters for {len(p)} weights; give at least one adapter, and a weight for each"
        )
    check_fits(layer.W, layer, "layer")
    for i, adapter in enumerate(sent):
        check_fits(layer.W, adapter, f"sent[{i}]", None if ranks else int(layer.B.shape[1]))
    check_shares(p)


def mean(p: Weights, matrices: Sequence[Array]) -> Array:
    """Weighted sum of matrices: sum_i p_i M_i."""
    weighed: Any = [p_i * M for p_i, M in zip(p, matrices, strict=True)]
    total: Array = reduce(add, weighed)
    return total


def product_mean(sent: Sequence[Adapter], p: Weights) -> Matrix:
    """Mean of the adapters' products, sum_i p_i B_i A_i, which an exact aggregation would give."""
    return mean(p, [a.B @ a.A for a in sent])


def factor_means(sent: Sequence[Adapter], p: Weights) -> Adapter:
    """Means of the factors, each averaged separately: B = sum_i p_i B_i and A = sum_i p_i A_i."""
    return Adapter(B=mean(p, [a.B for a in sent]), A=mean(p, [a.A for a in sent]))


def residual(sent: Sequence[Adapter], p: Weights) -> Matrix:
    """Product mean minus the product of the means: sum_i p_i B_i A_i - B A."""
    of = factor_means(sent, p)
    lacking: Matrix = product_mean(sent, p) - of.B @ of.A
    return lacking
