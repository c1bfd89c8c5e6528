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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

from fedspec.arith import Scalar, array, maximum, minimum, norm, numbers, ratio, stack
from fedspec.chain import Blocks, OfGradient, as_number, chain
from fedspec.errors import ContractError, PlanError
from fedspec.mixing.weighted import shares
from fedspec.plan import Messages
from fedspec.population import weigh
from fedspec.readings import Weighting
from fedspec.rounding import BARE, NUMBERED, in_bits, rounded

__all__ = ["DIVISORS", "OF_WEIGHTS", "Delivery", "Sent", "bounds", "counts", "delivery"]


@dataclass(frozen=True)
class Sent:
    """Inputs of a delivery beside the messages.

    Attributes:
        blocks: the blocks of the model.
        weighting: what clients are weighted by.
        noise: d standard normal draws.
        draws: d draws in [0, 1) for each message.
    """

    blocks: Blocks
    weighting: Weighting = Weighting.UNIFORM
    noise: Sequence[Scalar] = ()
    draws: Sequence[Sequence[Scalar]] = ()


Delivery: TypeAlias = Callable[[Messages, Sent], Messages]
"""Function from a round's messages to those that the server's rule averages."""


def _each(link: OfGradient) -> Delivery:
    """Every change passes a link."""
    return lambda m, sent: replace(m, deltas=stack([link(d, len(m.deltas), sent.blocks) for d in m.deltas]))


def _at_random(k: float) -> Delivery:
    grid = in_bits("fixed-random", k, math.floor)

    def deliver(m: Messages, sent: Sent) -> Messages:
        if len(sent.draws) != len(m.deltas) or any(len(u) != len(d) for u, d in zip(sent.draws, m.deltas, strict=True)):
            raise PlanError("draws: 'fixed-random' needs a draw in [0, 1) for each coordinate of each message")
        rows = [
            numbers([rounded(x, grid) for x in d + array(u, d) * as_number(2.0**-k, d)], d)
            for d, u in zip(m.deltas, sent.draws, strict=True)
        ]
        return replace(m, deltas=stack(rows))

    return deliver


def _capped(most: float) -> Delivery:
    def deliver(m: Messages, sent: Sent) -> Messages:
        sizes = numbers(list(m.examples), m.deltas[0])
        return replace(m, examples=[minimum(1, n / as_number(most, m.deltas[0])) for n in sizes.tolist()])

    return deliver


def counts(m: Messages, weighting: Weighting) -> Any:
    """Weights w_i of a round's messages before they are divided by their sum."""
    counted: Mapping[Weighting, Sequence[Any]] = {
        Weighting.UNIFORM: [1] * len(m.steps),
        Weighting.STEPS: m.steps,
        Weighting.EXAMPLES: m.examples,
    }
    return numbers(list(counted[weighting]), m.deltas[0])


def _divided(by: float, at_least: bool = False) -> Delivery:
    def deliver(m: Messages, sent: Sent) -> Messages:
        total, D = sum(counts(m, sent.weighting).tolist()), as_number(by, m.deltas[0])
        return replace(m, deltas=m.deltas * (total / (maximum(total, D) if at_least else D)))

    return deliver


def _mean_clipped(most: float) -> Delivery:
    def deliver(m: Messages, sent: Sent) -> Messages:
        mean = weigh(shares(m.examples, m.deltas[0], sent.weighting, m.steps), m.deltas)
        return replace(m, deltas=m.deltas * minimum(1, ratio(as_number(most, mean), norm(mean))))

    return deliver


def _noisy(clip: float, divisor: float, multiplier: float) -> Delivery:
    """The noise is added to every change: the weights of the changes add up to one."""

    def deliver(m: Messages, sent: Sent) -> Messages:
        x = m.deltas[0]
        if len(sent.noise) != len(x):
            raise PlanError(f"noise: got {len(sent.noise)} draws for {len(x)} coordinates; give one for each")
        size = as_number(multiplier * clip, x) / (as_number(divisor, x) if divisor else len(m.deltas))
        return replace(m, deltas=m.deltas + size * array(sent.noise, x))

    return deliver


DIVISORS: Mapping[str, Callable[[float], Delivery]] = {
    "divisor": _divided,
    "divisor-at-least": partial(_divided, at_least=True),
}

OF_WEIGHTS: Mapping[str, Callable[[float], Delivery]] = {
    "weight-cap": _capped,
    **DIVISORS,
    "mean-clip-norm": _mean_clipped,
}
"""Words that need a weighted average, with the function that each makes of its number; ``noise`` needs one, too."""


def bounds(said: Sequence[str]) -> tuple[float, float]:
    """Bound c of the clip and divisor D by which noise is scaled; 0 if a claim has none."""

    def number(*of: str) -> float:
        there = [number for name, _, number in (link.partition(" ") for link in said) if name in of]
        return float(there[-1]) if there else 0.0

    return number("clip-norm"), number(*DIVISORS)


def delivery(said: Sequence[str], where: str = "messages") -> tuple[Delivery, ...]:
    """Parse what a claim says that messages pass before the server's rule.

    Raises:
        ContractError: a word is unknown, its number isn't positive, or noise lacks the clip before it.
    """
    names = [link.partition(" ")[0] for link in said]
    split = names.index("noise") if "noise" in names else len(said)
    if "noise" in names and "clip-norm" not in names[:split]:
        raise ContractError(f"{where}: 'noise' is a multiple of the clip's bound; put 'clip-norm c' before it")
    if late := [name for name in names[split:] if name in DIVISORS or name == "clip-norm"]:
        raise ContractError(f"{where}: {late[0]!r} comes after 'noise'; put 'noise' behind it")

    numbered: Mapping[str, Callable[[float], Any]] = {
        **{name: partial(_of_change, make) for name, make in NUMBERED.items()},
        **OF_WEIGHTS,
        "noise": lambda s: _noisy(*bounds(said), s),
        "fixed-random": _at_random,
    }
    bare: Mapping[str, Any] = {name: _each(link) for name, link in BARE.items()}
    links: tuple[Any, ...] = chain(said, where, numbered, bare)
    return links


def _of_change(make: Callable[[float], OfGradient], number: float) -> Delivery:
    return _each(make(number))
