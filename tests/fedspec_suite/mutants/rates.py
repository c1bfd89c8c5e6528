"""Mutants of rounds whose rates, pulls or momentum are others, for all who take part or for each of them."""

from __future__ import annotations

from functools import partial

from fedspec_suite.mutants.mutant import Mutant

_OF_ALL = ("fedavg", "fednova", "scaffold", "fedbuff", "dsgd")
_OF_EACH = ("fedavg", "fednova", "scaffold")

_of_round = partial(
    Mutant,
    algorithms=_OF_ALL,
    rule="fedspec.varying.of_round",
    old="return replace(h, **numbers) if numbers else h",
    rates=True,
)
_of_each = partial(Mutant, algorithms=_OF_EACH, rule="fedspec.varying.of_each", old="said[at]", rates=True)

MUTANTS = (
    _of_round(
        id="rates-of-the-round-before",
        words="a round has the rates of the round before",
        new="now, of_round.now = getattr(of_round, 'now', {}), numbers\n    return replace(h, **now)",
        leaks="session",
    ),
    _of_round(
        id="rates-of-the-first-round",
        words="all rounds have the rates of the first",
        new="of_round.first = first = getattr(of_round, 'first', numbers)\n    return replace(h, **first)",
        leaks="session",
    ),
    _of_round(id="rates-unread", words="the rates of a round are not read", new="return h"),
    _of_each(id="rates-of-the-first-client", words="all clients have the rate of the first", new="said[0]"),
    _of_each(id="rates-averaged", words="all clients have the mean of their rates", new="sum(said) / n"),
    _of_each(id="rates-of-the-next-client", words="each client has the rate of the next", new="said[at - n + 1]"),
    Mutant(
        id="rates-unread-by-norms",
        words="||a_i||_1 does not know the client's own momentum",
        algorithms=("fednova",),
        rule="fedspec.algorithms.synchronous.run_round",
        old="tuple(map(norm, h_i, plan.steps))",
        new="tuple(norm(h, tau) for tau in plan.steps)",
        rates=True,
    ),
)
