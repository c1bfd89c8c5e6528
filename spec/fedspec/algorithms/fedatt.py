"""FedAtt: the server weighs clients by a softmax of how far each moved a layer, so that longer changes count for more.

    for each layer l:
        s_i = ||Delta_i^l||
        a_i = exp(s_i) / sum_j exp(s_j)                 (over the clients of the round)
        x^l = x^l + eta sum_i a_i Delta_i^l

A layer is a block of the model: a weight and its bias are two. The numbers of examples play no part. With eta = 1 each
layer of the new model is a weighted mean of the clients' layers; the authors' default is 1.2, which goes beyond.

Codes disagree on the length of a matrix. The authors call SciPy's ``norm`` with ord=2, which is its largest singular
value; plato calls PyTorch's with its default, the root of the sum of squares. Of a vector both are the same. Each adds
normal noise to every number of the new model, 0.001 times a draw by default, which isn't part of the rule here.

External: Ji et al. (2019), "Learning Private Neural Language Modeling with Attentive Aggregation", arXiv 1812.07108, of
which the abstract was opened and no equation: the text follows the authors' shaoxiongji/fed-att at ab9e537
(src/agg/aggregate.py:27-36, src/utils/options.py:21-23).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from fedspec import phrases
from fedspec.algorithms.local import local_sgd, sgd_norm
from fedspec.algorithms.synchronous import together
from fedspec.arith import Column, Scalar, Stack, Vector, concatenate, exp, largest, matrix, norm, singular
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Method, Reading
from fedspec.hyper import Hyper
from fedspec.params import layers
from fedspec.plan import Inbox
from fedspec.records import record
from fedspec.rules import rule
from fedspec.server.average import average

Shapes = Sequence[Sequence[int]]


class LayerLength(StrEnum):
    """Length of a layer's change."""

    FROBENIUS = "frobenius"
    """The root of the sum of the squares of all its numbers, however many axes it has."""
    SPECTRAL = "spectral"
    """Largest singular value of a matrix; of a layer with any other number of axes, as frobenius."""


@dataclass(frozen=True)
class FedAtt(Hyper):
    """Hyper-parameters and readings of FedAtt."""

    eta_l: Scalar
    eta: Scalar
    length: LayerLength = LayerLength.FROBENIUS


@record
class State:
    """The server's model, and the layers of a model: their coordinates and their shapes."""

    x: Vector
    layers: tuple[slice, ...]
    shapes: tuple[tuple[int, ...], ...]


@rule
def layer_lengths(deltas: Stack, shape: tuple[int, ...], *, length: LayerLength = LayerLength.FROBENIUS) -> Any:
    """Length of each client's change of one layer.

        s_i = ||Delta_i^l||                        fedatt.s
        s_i = sigma_max(Delta_i^l)                 fedatt.s [length=spectral]

    External: Ji et al. (2019); the authors' code opened.
    """
    if length is LayerLength.SPECTRAL and len(shape) == 2:
        return singular(matrix(deltas, (shape[0], shape[1])))
    return norm(deltas)


@rule
def softmax(s: Column) -> Column:
    """Share of each client in a layer; the largest length is subtracted against overflow alone.

        a_i = exp(s_i) / sum_j exp(s_j)            fedatt.a

    External: Ji et al. (2019); the authors' code opened.
    """
    e = exp(s - largest(s[:, 0]))
    a: Column = e / e.sum(axis=0)
    return a


@rule
def layer_mean(deltas: Stack, a: Column) -> Vector:
    """Mean of the clients' changes of one layer, by their shares in it.

        Delta^l = sum_i a_i Delta_i^l              fedatt.delta

    External: Ji et al. (2019); the authors' code opened.
    """
    delta: Vector = (a * deltas).sum(axis=0)
    return delta


def init(h: FedAtt, x: Vector, shapes: Shapes = ()) -> State:
    """Initial state: the model; without shapes it is one layer."""
    own = tuple(map(tuple, shapes)) or (tuple(x.shape),)
    return State(x=x, layers=layers({str(j): shape for j, shape in enumerate(own)}), shapes=own)


def server(h: FedAtt, state: State, messages: Inbox) -> tuple[State, dict[str, Any]]:
    """Average the changes layer by layer and add the result to the model."""
    deltas, means = together(messages).deltas, []
    for l, shape in zip(state.layers, state.shapes, strict=True):
        s = layer_lengths(deltas[..., l], shape, length=h.length)
        a = softmax(s)
        means.append(layer_mean(deltas[..., l], a))
    delta = concatenate(means)
    return replace(state, x=average(state.x, delta, eta=h.eta)), {"delta": delta}


ROW = Algorithm(
    id="fedatt",
    family=Family.SERVERS,
    title="FedAvg in which a client counts for more in a layer, the farther it moved it, by a softmax",
    source="external: Ji et al. (2019)",
    basis=Basis.CODE,
    levels=("server", "round"),
    readings=(
        Reading(
            name="frobenius",
            words="a layer's change is as long as the root of the sum of its squares (TL-System/plato at 3478f99 and "
            "60d6779, examples/server_aggregation/fedatt/fedatt_algorithm.py: torch.linalg.norm without ord)",
            fixes={"length": "frobenius"},
        ),
        Reading(
            name="spectral",
            words="a matrix is as long as its largest singular value (the authors' shaoxiongji/fed-att at ab9e537, "
            "src/agg/aggregate.py:29: scipy.linalg.norm with ord=2, which raises an error of a layer without axes or "
            "with three or more)",
            fixes={"length": "spectral"},
        ),
    ),
    run=Method(hyper=FedAtt, init=init, server=server, local=local_sgd, norm=sgd_norm, whole=True, takes=("layers",)),
    costs=Costs(down="m d", up="m d", server="d"),
    denies={
        "coordinates": "the length of a layer couples its coordinates",
        "blocks": "its layers are the blocks",
        "scales": "a length enters an exponential",
    },
    traps=(
        phrases.DOWNHILL,
        "the softmax is over the clients, in each layer by itself: over the layers of one client it is another",
        "longer changes count for more; a softmax of minus the lengths trusts those who hardly moved",
        "a length is not squared: the softmax of squares soon follows one client alone",
        "lengths are of single layers, a bias apart from its weight; one length for the whole model is another",
        "nobody is weighed by examples",
        "exponentials are divided by their sum, after the largest length is subtracted: exp(89) overflows in float32",
    ),
    usual={"eta": 1.2},
    symbols={"x": "w_t", "Delta_i": "w_t^k - w_t", "eta": "epsilon", "a_i": "att"},
)
