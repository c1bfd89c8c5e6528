"""Real modules in plain JAX: functions of a list of parameter arrays in torch's order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from fedspec_bench.networks import FROZEN, LINEAR, LONG, WIDE, Network
from fedspec_bench.workloads import Array


def parts(x: Array, shapes: dict[str, tuple[int, ...]]) -> list[Any]:
    """Split a vector into arrays of these shapes."""
    ends = np.cumsum([np.prod(shape) for shape in shapes.values()])[:-1]
    return [jnp.asarray(p.reshape(shape)) for p, shape in zip(np.split(x, ends), shapes.values(), strict=True)]


def normed(x: Any, axes: Sequence[int], scale: Any, shift: Any) -> Any:
    """Normalise to mean 0 and variance 1 over some axes, then scale and shift."""
    centred = x - x.mean(axes, keepdims=True)
    return centred * lax.rsqrt((centred**2).mean(axes, keepdims=True) + 1e-5) * scale + shift


def cnn(params: list[Any], h: Any, *, batch_norm: bool = False) -> Any:
    """Return a CNN's scores: two stages of convolution, ReLU and max-pooling, then a linear layer."""
    values = iter(params)
    for _ in range(2):
        W, bias = next(values), next(values)
        h = lax.conv_general_dilated(h, W, (1, 1), "SAME", dimension_numbers=("NCHW", "OIHW", "NCHW"))
        h = h + bias[:, None, None]
        if batch_norm:
            scale, shift = next(values), next(values)
            h = normed(h, (0, 2, 3), scale[:, None, None], shift[:, None, None])
        h = lax.reduce_window(jax.nn.relu(h), -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
    W, bias = values
    return h.reshape(len(h), -1) @ W.T + bias


def lstm(params: list[Any], x: Any) -> Any:
    """Return an LSTM's scores: two layers over the words, then a linear layer on the last state."""
    words, *cells, W, bias = params
    h = words[x].swapaxes(0, 1)
    for at in (0, 4):
        by_input, by_hidden, one, two = cells[at : at + 4]
        given = h @ by_input.T + one + two

        def cell(state: Any, put: Any, by_hidden: Any = by_hidden) -> Any:
            hidden, kept = state
            i, f, g, o = jnp.split(put + hidden @ by_hidden.T, 4, axis=-1)
            kept = jax.nn.sigmoid(f) * kept + jax.nn.sigmoid(i) * jnp.tanh(g)
            hidden = jax.nn.sigmoid(o) * jnp.tanh(kept)
            return (hidden, kept), hidden

        none = jnp.zeros((h.shape[1], WIDE), h.dtype)
        _, h = lax.scan(cell, (none, none), given)
    return h[-1] @ W.T + bias


def block(x: Any, norms: Sequence[Any], linear: Callable[[str, Any], Any]) -> Any:
    """Apply a transformer block: attention with four heads and a layer, each with a residual connection."""
    n, long, wide = x.shape
    mixed = linear("mixes", normed(x, (-1,), *norms[:2])).reshape(n, long, 3, 4, wide // 4)
    q, k, v = mixed.transpose(2, 0, 3, 1, 4)
    scores = q @ k.swapaxes(-1, -2) * (wide // 4) ** -0.5
    scores = jnp.where(jnp.tril(jnp.ones((long, long), bool)), scores, -jnp.inf)
    seen = (jax.nn.softmax(scores) @ v).swapaxes(1, 2).reshape(n, long, wide)
    x = x + linear("out", seen)
    inner = jax.nn.gelu(linear("inner", normed(x, (-1,), *norms[2:])), approximate=False)
    return x + linear("outer", inner)


def transformer(params: list[Any], x: Any, adapters: list[Any] | None = None) -> Any:
    """Return a transformer's scores on the last word; ``adapters`` adds a low-rank product to each linear layer."""
    places, words, *rest, W, bias = params
    assert len(places) == LONG
    h, each, beside = words[x] + places, 4 + 2 * len(LINEAR), 2 * len(LINEAR)
    for number in range(2):
        values = rest[number * each : (number + 1) * each]
        low = adapters[number * beside : (number + 1) * beside] if adapters else []

        def linear(name: str, h: Any, values: Any = values, low: Any = low) -> Any:
            at = 2 * [*LINEAR].index(name)
            out = h @ values[4 + at].T + values[5 + at]
            return out + (h @ low[at].T) @ low[at + 1].T if low else out

        h = block(h, values[:4], linear)
    return h[:, -1] @ W.T + bias


FORWARD: dict[str, Callable[[list[Any], Any], Any]] = {
    "cnn": cnn,
    "cnn-bn": partial(cnn, batch_norm=True),
    "lstm": lstm,
    "transformer": transformer,
}


def forward(work: Network) -> Callable[[list[Any], Any], Any]:
    """Return the workload's function from trained parameters and a minibatch to scores."""
    if work.name == "lora":
        frozen = parts(work.frozen, FROZEN[work.name])
        return lambda params, x: transformer(frozen, x, params)
    return FORWARD[work.name]
