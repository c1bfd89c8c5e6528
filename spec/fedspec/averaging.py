"""Weights, divisors and noise of private averages: further words of ``Claim.messages``, exact in every arithmetic.

With weights w_i (n_i, 1 or tau_i, by the option ``weights``), changes Delta_i and M messages, the server takes
the average Delta = sum_i w_i Delta_i / sum_i w_i. It becomes

    weight-cap c          w_i = min(n_i / c, 1)
    divisor D             Delta = sum_i w_i Delta_i / D
    divisor-at-least D    Delta = sum_i w_i Delta_i / max(D, sum_i w_i)
    mean-clip-norm c      Delta min(1, c / ||Delta||)
    noise s               Delta + (s c / D) z        c of clip-norm, D of the divisor, else M; z: ``noise`` of the event
    fixed-random k        Delta_i = 2^-k floor(2^k Delta_i + u_i)    u_i in [0, 1): ``draws`` of the message

Two estimators of DP-FedAvg, for example, with ||Delta_i|| <= S, a weight cap w, and D = q W or q W_min::

    Claim("fedavg", "server", messages=("clip-norm 1", "weight-cap 2", "divisor 4", "noise 0.5"))
    Claim("fedavg", "server", messages=("clip-norm 1", "weight-cap 2", "divisor-at-least 4", "noise 1"))

External: McMahan et al. (2018), "Learning Differentially Private Recurrent Language Models".
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fedspec.arith import Scalar, array, maximum, minimum, norm, numbers, ratio, stack
from fedspec.chain import Blocks, Word, as_number, chain
from fedspec.errors import ContractError, PlanError
from fedspec.mixing.weighted import shares
from fedspec.plan import Messages
from fedspec.population import weigh
from fedspec.readings import Weighting
from fedspec.rounding import NUMBERED, PASSED, TYPES, checked, in_bits, on_grid, passed

__all__ = ["DIVISORS", "OF_WEIGHTS", "Sent", "bounds", "counts", "delivered", "delivery"]


@dataclass(frozen=True)
class Sent:
    """Inputs of a delivery beside the messages.

    Attributes:
        blocks: the slices of the model's blocks.
        weighting: weights of the clients in the average, for example by examples.
        noise: d standard normal draws.
        draws: d draws in [0, 1) for each message.
    """

    blocks: Blocks
    weighting: Weighting = Weighting.UNIFORM
    noise: Sequence[Scalar] = ()
    draws: Sequence[Sequence[Scalar]] = ()


def at_random(delta: Any, u: Any, k: float) -> Any:
    """Round a change at random: 2^-k floor(2^k Delta_i + u_i)."""
    return on_grid(delta + u * as_number(2.0**-k, delta), in_bits("fixed-random", k, math.floor))


def capped(n_i: Any, c: Any) -> Any:
    """Weight of a client: w_i = min(n_i / c, 1)."""
    return minimum(1, n_i / c)


def divided(deltas: Any, total: Any, D: Any) -> Any:
    """Divide by D in the place of the sum of weights, ``total``."""
    return deltas * (total / D)


def divided_at_least(deltas: Any, total: Any, D: Any) -> Any:
    """Divide by D or the sum of weights, whichever is larger."""
    return deltas * (total / maximum(total, D))


def mean_clipped(deltas: Any, p: Any, c: Any) -> Any:
    """Scale the average down to the norm c: Delta min(1, c / ||Delta||)."""
    mean = weigh(p, deltas)
    return deltas * minimum(1, ratio(c, norm(mean)))


def noisy(deltas: Any, z: Any, s: Any, c: Any, D: Any) -> Any:
    """Add (s c / D) z to the average: to every change, since their weights add up to one."""
    size = s * c / D
    return deltas + size * z


def counts(m: Messages, weighting: Weighting) -> Any:
    """Weights w_i of a round's messages before they are divided by their sum."""
    counted: Mapping[Weighting, Sequence[Any]] = {
        Weighting.UNIFORM: [1] * len(m.steps),
        Weighting.STEPS: m.steps,
        Weighting.EXAMPLES: m.examples,
    }
    return numbers(list(counted[weighting]), m.deltas[0])


DIVISORS = ("divisor", "divisor-at-least")

OF_WEIGHTS = ("weight-cap", *DIVISORS, "mean-clip-norm")
"""Words that need a weighted average; ``noise`` needs one, too."""


def delivered(words: Sequence[Word], m: Messages, sent: Sent) -> Messages:
    """Messages that the server's rule averages, from a round's messages and the words of a claim.

    Raises:
        PlanError: noise or draws are missing.
    """
    x = m.deltas[0]
    clip, divisor = bounds(words)
    for word in words:
        deltas = m.deltas
        if word.name in PASSED:
            m = replace(m, deltas=stack([passed(word, d, len(deltas), sent.blocks) for d in deltas]))
            continue
        c = as_number(word.c, x)
        match word.name:
            case "weight-cap":
                sizes = numbers(list(m.examples), x)
                m = replace(m, examples=[capped(n, c) for n in sizes.tolist()])
            case "divisor":
                deltas = divided(deltas, sum(counts(m, sent.weighting).tolist()), c)
            case "divisor-at-least":
                deltas = divided_at_least(deltas, sum(counts(m, sent.weighting).tolist()), c)
            case "mean-clip-norm":
                deltas = mean_clipped(deltas, shares(m.examples, x, sent.weighting, m.steps), c)
            case "noise":
                if len(sent.noise) != len(x):
                    raise PlanError(f"noise: got {len(sent.noise)} draws for {len(x)} coordinates; give one for each")
                D = as_number(divisor or float(len(deltas)), x)
                deltas = noisy(deltas, array(sent.noise, x), c, as_number(clip, x), D)
            case "fixed-random":
                draws = drawn(sent, deltas)
                deltas = stack([at_random(d, array(u, d), word.c) for d, u in zip(deltas, draws, strict=True)])
        m = replace(m, deltas=deltas)
    return m


def drawn(sent: Sent, deltas: Any) -> Sequence[Sequence[Scalar]]:
    """Draws of each message; raise PlanError if a coordinate has none."""
    if len(sent.draws) != len(deltas) or any(len(u) != len(d) for u, d in zip(sent.draws, deltas, strict=True)):
        raise PlanError("draws: 'fixed-random' needs a draw in [0, 1) for each coordinate of each message")
    return sent.draws


def bounds(words: Sequence[Word]) -> tuple[float, float]:
    """Bound c of the clip and divisor D by which noise is scaled; 0 if a claim has none."""

    def number(*of: str) -> float:
        return next((word.c for word in reversed(words) if word.name in of), 0.0)

    return number("clip-norm"), number(*DIVISORS)


def delivery(said: Sequence[str], where: str = "messages") -> tuple[Word, ...]:
    """Parse a claim's steps between the clients' changes and the server's rule.

    Raises:
        ContractError: a word is unknown, a number isn't positive, or ``noise`` has no clip before it.
    """
    names = [link.partition(" ")[0] for link in said]
    split = names.index("noise") if "noise" in names else len(said)
    if "noise" in names and "clip-norm" not in names[:split]:
        raise ContractError(f"{where}: 'noise' is a multiple of the clip's bound; put 'clip-norm c' before it")
    if late := [name for name in names[split:] if name in DIVISORS or name == "clip-norm"]:
        raise ContractError(f"{where}: {late[0]!r} comes after 'noise'; put 'noise' behind it")
    return checked(chain(said, where, (*NUMBERED, *OF_WEIGHTS, "noise", "fixed-random"), TYPES))
