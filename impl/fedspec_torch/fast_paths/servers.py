"""Adaptive server steps that overwrite the state, in one pass over memory where that is possible.

Bytes that a float32 coordinate must move: 28 for AdaGrad and Adam (x, m, v both ways, Delta in), 36 for AMSGrad. As
the rule is written, every operation makes a fresh vector: at d = 1e7 on one CPU core that moved 0.03 to 0.04 of what a
copy moves. In place, Adam is torch's fused kernel; AdaGrad and AMSGrad with eps inside the root, which it has outside,
are one compiled pass (docs/benchmarks.md has what each moves). Other servers of large models are their texts, on one
piece after another (:mod:`fedspec_torch.sums.pieces`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from itertools import pairwise, starmap
from typing import Any, TypeAlias

import torch

from fedspec.algorithms import fedamsgrad as ams
from fedspec.algorithms import fedopt
from fedspec.algorithms.synchronous import aggregate
from fedspec.plan import Inbox
from fedspec.readings import BiasCorrection, Epsilon, SecondMoment
from fedspec.server.adagrad import Adaptive
from fedspec.server.amsgrad import AmsGrad
from fedspec_torch.arith import Vector
from fedspec_torch.compiling import is_compiled, run_parallel, threads

CHUNK = 2**17
"""Coordinates in a chunk on a CPU: few enough to stay in the cache between passes; fewer would cost more calls."""

HALF = 0.5**0.5
"""Square root of 1/2."""

Server = Callable[..., tuple[Any, dict[str, Any]]]

Begins: TypeAlias = Callable[[], None] | None
"""Callback that runs when the clients are done, just before the server overwrites its state."""


def adagrad_(state: Adaptive, delta: Vector, *, eta: float, beta1: float, tau: float) -> Adaptive:
    """:func:`fedspec.server.adagrad.adagrad`; overwrites the state.

    If loops can't be compiled, Adam's kernel with beta2 = 1/2 is used: it computes (v + Delta^2) / 2, and rate and tau
    are multiplied by sqrt(1/2).
    """
    if is_compiled(state.x):
        compiled("adagrad", state.x, state.m, state.v, delta, numbers=(eta, beta1, tau))
        return replace(state, t=state.t + 1)
    for x, m, v, change in chunks(state.x, state.m, state.v, delta):
        fused(x, change, m, v, lr=-eta * HALF, beta1=beta1, beta2=0.5, eps=tau * HALF)
        v.mul_(2)
    return replace(state, t=state.t + 1)


def adam_(state: Adaptive, delta: Vector, *, eta: float, beta1: float, beta2: float, tau: float) -> Adaptive:
    """:func:`fedspec.server.adam.adam`; overwrites the state."""
    fused(state.x, delta, state.m, state.v, lr=-eta, beta1=beta1, beta2=beta2, eps=tau)
    return replace(state, t=state.t + 1)


def amsgrad_(
    state: AmsGrad, delta: Vector, *, eta: float, beta1: float, beta2: float, eps: float, epsilon: Epsilon
) -> AmsGrad:
    """:func:`fedspec.server.amsgrad.amsgrad`, or its variant with eps outside the root; overwrites the state."""
    if epsilon is Epsilon.INSIDE and is_compiled(state.x):
        compiled("amsgrad", state.x, state.m, state.v, state.v_hat, delta, numbers=(eta, beta1, beta2, eps))
        return replace(state, t=state.t + 1)
    for x, m, v, v_hat, change in chunks(state.x, state.m, state.v, state.v_hat, delta):
        if epsilon is Epsilon.OUTSIDE:
            fused(x, change, m, v, v_hat, lr=-eta, beta1=beta1, beta2=beta2, eps=eps)
        else:
            # The kernel has eps outside; at rate 0 it leaves x, and does the rest in one pass.
            fused(x, change, m, v, v_hat, lr=0, beta1=beta1, beta2=beta2, eps=1)
            x.addcdiv_(m, (v_hat + eps).sqrt_(), value=eta)
    return replace(state, t=state.t + 1)


def fused(
    x: Vector,
    g: Vector,
    m: Vector,
    v: Vector,
    v_hat: Vector | None = None,
    *,
    step: float = float("inf"),
    wd: float = 0.0,
    **more: float,
) -> None:
    """Run torch's fused AdamW once; it corrects the moments by 1 - beta^step, which is 1 if step is infinite."""
    most = [] if v_hat is None else [v_hat]
    count = torch.full((), step, device=x.device)
    run: Any = torch._fused_adamw_
    run([x], [g], [m], [v], most, [count], weight_decay=wd, amsgrad=bool(most), maximize=False, **more)


def compiled(name: str, *vectors: Vector, numbers: tuple[float, ...]) -> None:
    """Run a compiled server step in place; each of torch's threads takes a range of coordinates."""
    step: Any = getattr(import_module("fedspec_torch.fast_paths.compiled"), name)
    whole: list[Any] = [vector.numpy() for vector in vectors]
    d, parts = len(vectors[0]), threads()
    ends = [d * t // parts for t in range(parts + 1)]
    run_parallel(lambda own: step(*(v[own] for v in whole), *numbers), [*starmap(slice, pairwise(ends))])


def chunks(*vectors: Vector) -> Iterator[tuple[Vector, ...]]:
    """Yield chunks of the same coordinates of some vectors: a cache's worth on a CPU, all of them on a GPU."""
    size = CHUNK if vectors[0].device.type == "cpu" else len(vectors[0])
    yield from zip(*(vector.split(size) for vector in vectors), strict=True)


def fedadagrad(h: Any, state: Adaptive, messages: Inbox, begins: Begins = None) -> tuple[Adaptive, dict[str, Any]]:
    """:func:`fedspec.algorithms.fedopt.fedadagrad` in place; other readings run the specification's text."""
    if not _plain(h):
        return fedopt.fedadagrad(h, state, messages)
    delta = _mean(h, state, messages, begins)
    return adagrad_(state, delta, eta=h.eta, beta1=h.beta1, tau=h.tau), {"delta": delta}


def fedadam(h: Any, state: Adaptive, messages: Inbox, begins: Begins = None) -> tuple[Adaptive, dict[str, Any]]:
    """:func:`fedspec.algorithms.fedopt.fedadam` in place; other readings run the specification's text."""
    if not _plain(h):
        return fedopt.fedadam(h, state, messages)
    delta = _mean(h, state, messages, begins)
    return adam_(state, delta, eta=h.eta, beta1=h.beta1, beta2=h.beta2, tau=h.tau), {"delta": delta}


def fedamsgrad(h: Any, state: AmsGrad, messages: Inbox, begins: Begins = None) -> tuple[AmsGrad, dict[str, Any]]:
    """:func:`fedspec.algorithms.fedamsgrad.fedamsgrad` in place; other readings run the specification's text."""
    if h.bias_correction is not BiasCorrection.NONE:
        return ams.fedamsgrad(h, state, messages)
    delta = _mean(h, state, messages, begins)
    after = amsgrad_(state, delta, eta=h.eta, beta1=h.beta1, beta2=h.beta2, eps=h.eps, epsilon=h.epsilon)
    return after, {"delta": delta}


def _mean(h: Any, state: Any, messages: Inbox, begins: Begins) -> Vector:
    delta: Vector = aggregate(messages, h.weights, state.x)
    if begins:
        begins()
    return delta


def _plain(h: Any) -> bool:
    printed = (BiasCorrection.NONE, Epsilon.OUTSIDE, SecondMoment.PSEUDO_GRADIENT)
    return (h.bias_correction, h.epsilon, h.second_moment) == printed


IN_PLACE: dict[Any, Server] = {
    fedopt.fedadagrad: fedadagrad,
    fedopt.fedadam: fedadam,
    ams.fedamsgrad: fedamsgrad,
}
"""In-place server by the function of the specification, for states that no other code holds."""
