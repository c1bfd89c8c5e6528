"""Local solvers in place: what a rule makes anew at every step is written over. Tests hold each to its rule's text.

Bytes that a step must move for a number of four bytes, the gradient's own included: 12 for SGD (y, g in, y out), 20 for
momentum (and u), 4 more for what the gradient is corrected by or what pulls. A product that adds to y spares SGD the g:
8, and with a correction or a pull 20, since y is read and written once more. Adaptive ones:
:mod:`fedspec_torch.fast_paths.adaptive`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor

from fedspec.readings import Solver
from fedspec_torch.arith import Stack
from fedspec_torch.local.blocks import Block, Part

Rate: TypeAlias = Callable[[int], float]
"""The client rate at local step k = 0, 1, ..."""

Step: TypeAlias = Callable[[int, Block, Tensor, Tensor], object]
"""Local step k of those of a block who have steps left: writes to y, reads g, neither of which it keeps."""


@dataclass(frozen=True)
class InPlace:
    """A local solver that writes over what it has.

    Attributes:
        begin: makes the step, with memory of its own; y is where the clients begin. None: a step is y - rate(k) g.
        rate: where y - rate(k) g comes first in a step, and nothing else in it reads g, its rate.
        parts: of the model, where not all coordinates are treated alike.
        kept: the names of the vectors that are handed back beside y.
        spare: the name of a vector that nobody reads after the last step.
    """

    begin: Callable[[Block, Tensor], Step] | None = None
    rate: Rate | None = None
    parts: tuple[Part, ...] = ()
    kept: tuple[str, ...] = ()
    spare: str = "g"


def along(rate: Rate, shift: Stack | None = None, less: Stack | None = None) -> InPlace:
    """SGD: y - rate(k) (g + shift - less), the shift a vector of each client that stays."""
    if shift is None:
        return InPlace(rate=rate)

    def begin(block: Block, y: Tensor) -> Step:
        e = written(block, "shift", shift, less)

        def step(k: int, block: Block, y: Tensor, g: Tensor) -> None:
            for y_, e_ in block.together(y, e):
                y_.sub_(e_, alpha=rate(k))

        return step

    return InPlace(begin, rate, spare="shift")


def proximal(eta_l: float, mu: float, shift: Stack | None = None) -> InPlace:
    """:func:`fedspec.client.proximal.proximal_sgd`: y goes to its anchor by a = eta_l mu of the way, then along g.

    Where a is no more than a half, y takes eta_l / (1 - a) g first, and then goes by a: so g need not be written. A
    shift of g, one of each client that stays, is one of the anchor, by -shift / mu.
    """
    a = eta_l * mu
    if a == 0:
        return along(lambda k: eta_l, shift)

    def begin(block: Block, y: Tensor) -> Step:
        anchor = block.memory("anchor").copy_(y)
        if shift is not None:
            e = written(block, "shift", shift)
            for anchor_, e_ in block.together(anchor, e):
                anchor_.sub_(e_, alpha=1 / mu)

        def after(k: int, block: Block, y: Tensor, g: Tensor) -> None:
            for y_, anchor_ in block.together(y, anchor):
                y_.lerp_(anchor_, a)

        def whole(k: int, block: Block, y: Tensor, g: Tensor) -> None:
            for y_, g_, anchor_ in block.together(y, g, anchor):
                y_.lerp_(anchor_, a).sub_(g_, alpha=eta_l)

        return after if a <= 0.5 else whole

    return InPlace(begin, rate=(lambda k: eta_l / (1 - a)) if a <= 0.5 else None, spare="anchor")


def momentum(
    eta_l: float,
    rho: float,
    *,
    dampened: bool = False,
    ahead: bool = False,
    mu: float = 0,
    inside: bool = False,
    shift: Stack | None = None,
) -> InPlace:
    """The momenta of :mod:`fedspec.client.momentum`.

    Args:
        eta_l: the rate.
        rho: the momentum.
        dampened: whether the buffer is an average.
        ahead: whether the step looks ahead along the new buffer, as Nesterov's.
        mu: of the proximal pull; 0: none.
        inside: whether the pull is part of the gradient; else of the step.
        shift: what is added to every gradient of a client; None: nothing.
    """

    def begin(block: Block, y: Tensor) -> Step:
        u = block.zeros("u")
        anchor = block.memory("anchor").copy_(y) if mu else u
        pull = block.memory("pull") if mu and inside else u
        e = u if shift is None else written(block, "shift", shift)

        def step(k: int, block: Block, y: Tensor, g: Tensor) -> None:
            for y_, g_, u_, anchor_, pull_, e_ in block.together(y, g, u, anchor, pull, e):
                if dampened:
                    u_.lerp_(g_, 1 - rho)
                else:
                    torch.add(g_, u_, alpha=rho, out=u_)
                if shift is not None:
                    u_.add_(e_, alpha=1 - rho if dampened else 1)
                if mu and inside:
                    u_.add_(torch.sub(y_, anchor_, out=pull_), alpha=mu)
                elif mu:
                    y_.lerp_(anchor_, eta_l * mu)
                y_.sub_(u_, alpha=eta_l * rho if ahead else eta_l)
                if ahead:
                    y_.sub_(g_, alpha=eta_l)
                    if shift is not None:
                        y_.sub_(e_, alpha=eta_l)

        return step

    return InPlace(begin)


def written(block: Block, name: str, rows: Stack, less: Stack | None = None) -> Tensor:
    """A vector of the block with a stack in it, or one vector for all clients, less another."""
    v = block.memory(name)
    block.put(v, rows, less)
    return v


def fednova(
    solver: Solver, *, eta_l: float, mu: float = 0, rho: float = 0, gamma: float = 1, shift: Stack | None = None
) -> InPlace:
    """The solvers of :func:`fedspec.algorithms.local.local_solve`, on gradients that a shift is added to."""
    match solver:
        case Solver.SGD:
            return along(lambda k: eta_l, shift)
        case Solver.DECAYED:
            return along(lambda k: eta_l * gamma**k, shift)
        case Solver.PROXIMAL:
            return proximal(eta_l, mu, shift)
        case Solver.MOMENTUM:
            return momentum(eta_l, rho, shift=shift)
        case Solver.NESTEROV:
            return momentum(eta_l, rho, ahead=True, shift=shift)
        case Solver.DAMPENED:
            return momentum(eta_l, rho, dampened=True, shift=shift)
        case Solver.MOMENTUM_PROXIMAL_OUTSIDE:
            return momentum(eta_l, rho, mu=mu, shift=shift)
        case Solver.MOMENTUM_PROXIMAL_INSIDE:
            return momentum(eta_l, rho, mu=mu, inside=True, shift=shift)
