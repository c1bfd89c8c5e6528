"""Changes of a client's model around its solver's step: the words of ``Claim.steps``.

    decoupled-decay c          x = x - eta_l c x before the step        ``AdamW(weight_decay=c)`` of ``Adam``
    decoupled-decay-alone c    x = x - c x before the step              Loshchilov and Hutter (2019), eta_t = 1
    decoupled-decay-after c    x = x - eta_l c x after the step         first AdamW of ``transformers``
    lookahead k alpha          phi = phi + alpha (x - phi), x = phi     after every k-th step of the round

The gradient, and the words of ``Claim.gradients``, see x before the decay; the solver's step reads and moves x after
it. So a proximal pull and LAMB's norms are of the decayed model. eta_l is the hyper-parameter, or the event's or
schedule's in its place. A round begins with phi = x and counts its steps anew; moments stay as they are.

    Claim("adam", "client", steps=("decoupled-decay 0.01", "lookahead 5 0.8"))

At level round the client's loop is the row's own, ``Method.local``, which asks for one gradient at each model x_k.
There y_k = x_k + s_k is the client's model, and each change moves s_k: a step that reads its model through a gradient
alone moves both alike. mu (y - x) more stands in the gradient where the step pulls to an anchor.

External: torch 2.13.0, ``torch/optim/adam.py``; Zhang et al. (2019), "Lookahead Optimizer", arXiv 1907.08610,
Algorithm 1, from memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from fedspec.arith import Scalar, Vector
from fedspec.chain import as_number
from fedspec.errors import ContractError
from fedspec.plan import Oracle

__all__ = ["ALONE", "BEFORE", "LATE", "Local", "Steps", "after", "around", "before", "norm_of", "steps_of"]

BEFORE, ALONE, LATE = "decoupled-decay", "decoupled-decay-alone", "decoupled-decay-after"

Local: TypeAlias = Callable[[Any, Vector, Oracle, int], Vector]
"""Local model of a client after some steps, as in ``Method.local``."""


@dataclass(frozen=True)
class Steps:
    """Changes of the model around each step.

    Attributes:
        decay: name of the decay; empty: no decay.
        c: coefficient of the decay.
        k: number of steps between two synchronisations of lookahead; 0: no lookahead.
        alpha: fraction of the distance to the fast model that lookahead's slow model moves.
    """

    decay: str = ""
    c: float = 0.0
    k: int = 0
    alpha: float = 1.0


def decayed(x: Vector, eta_l: Scalar, c: Scalar) -> Vector:
    """Decay a model by the rate: x - eta_l c x."""
    return x - eta_l * c * x


def decayed_alone(x: Vector, c: Scalar) -> Vector:
    """Decay a model by the number alone: x - c x."""
    return x - c * x


def synchronised(x: Vector, slow: Vector, alpha: Scalar) -> Vector:
    """Move the slow model towards the fast one: phi + alpha (x - phi)."""
    return slow + alpha * (x - slow)


def before(steps: Steps, x: Vector, eta_l: Scalar) -> Vector:
    """Model that the solver's step starts from."""
    if steps.decay == BEFORE:
        return decayed(x, eta_l, as_number(steps.c, x))
    return decayed_alone(x, as_number(steps.c, x)) if steps.decay == ALONE else x


def after(steps: Steps, x: Vector, slow: Vector, k: int, eta_l: Scalar) -> tuple[Vector, Vector]:
    """Model and slow model after the k-th step of the round."""
    if steps.decay == LATE:
        x = decayed(x, eta_l, as_number(steps.c, x))
    if steps.k and k % steps.k == 0:
        x = slow = synchronised(x, slow, as_number(steps.alpha, x))
    return x, slow


def steps_of(said: Sequence[str], where: str = "steps") -> Steps:
    """Parse a claim's changes of the model, in the order of the code.

    Raises:
        ContractError: a change is unknown, comes twice or after lookahead, or has the wrong numbers.
    """
    steps = Steps()
    for word in said:
        name, *given = word.split()
        try:
            numbers = [float(number) for number in given]
        except ValueError:
            numbers = []
        match name, numbers:
            case (("decoupled-decay" | "decoupled-decay-alone" | "decoupled-decay-after"), [c]) if (
                c > 0 and math.isfinite(c) and steps == Steps()
            ):
                steps = replace(steps, decay=name, c=c)
            case "lookahead", [k, alpha] if k >= 1 and k == int(k) and 0 < alpha <= 1 and not steps.k:
                steps = replace(steps, k=int(k), alpha=alpha)
            case _:
                raise ContractError(
                    f"{where}: got {word!r}; write at most one of {BEFORE}, {ALONE} and {LATE} with a positive number, "
                    f"then 'lookahead k alpha' with a whole number k >= 1 and 0 < alpha <= 1, as in 'lookahead 5 0.8'"
                )
    return steps


def around(steps: Steps, local: Local) -> Local:
    """Wrap a client's loop so that its model changes around each step."""

    def run(h: Any, x: Vector, gradient: Oracle, tau: int) -> Vector:
        slow, shift, mu = x, 0 * x, getattr(h, "mu", 0)

        def ended(k: int, y: Vector) -> Vector:
            nonlocal slow
            y, slow = after(steps, y, slow, k, h.eta_l)
            return y

        def shifted(k: int, x: Vector) -> Vector:
            nonlocal shift
            y = ended(k, x + shift) if k else x
            shift = before(steps, y, h.eta_l) - x
            pulled: Vector = gradient(k, y) + mu * shift
            return pulled

        return ended(tau, local(h, x, shifted, tau) + shift)

    return run


def norm_of(local: Local, x: Vector) -> Callable[[Any, int], Scalar]:
    """Norm ||a_i||_1 of a loop that is linear in its gradients: from 0 with gradients -1, its model over eta_l."""

    def norm(h: Any, tau: int) -> Scalar:
        a: Scalar = local(h, 0 * x[:1], lambda k, y: 0 * y - 1, tau)[0] / h.eta_l
        return a

    return norm
