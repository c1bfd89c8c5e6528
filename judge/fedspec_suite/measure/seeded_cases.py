"""Small cases of every level from a portable generator; each number is a dyadic rational of at most eight bits.

The numbers are exact in every floating-point type down to bfloat16, so a case can become a vector. Every second case
has something unusual: a hyper-parameter at the edge of its domain, a client without examples, a zero gradient, a
single client. For example, number 1 of a row may have a client without examples; number 2 has nothing unusual.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from fedspec.arith import Array
from fedspec.catalogue import Program
from fedspec.contract import Arrival, Begin, ClientMessage, Event, Exchange, Messages, Quadratics, Round
from fedspec.facts import Fact
from fedspec_suite.measure.case_parts import case, lengths, of_batches, on_quadratics, step_of, with_constants
from fedspec_suite.measure.cases import STRATEGIES
from fedspec_suite.measure.hyper_pools import EDGES, POOLS, draw_hypers
from fedspec_suite.measure.message_cases import finer
from fedspec_suite.measure.part_cases import with_claimed
from fedspec_suite.measure.portable_rng import PortableRng, is_short
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.scheduled_cases import STORED, varied
from fedspec_suite.measure.setting import Setting


@dataclass(frozen=True)
class Draws:
    """Sources of a seeded case: the setting, the generator, the unusual features, and fixed sizes if there are any.

    Attributes:
        setting: the setting of the case.
        dice: generator of its numbers.
        odd: names of what is unusual.
        model: the shapes of its blocks; None: dealt.
        full: True: as many rounds and participants as dealt cases have at most.
    """

    setting: Setting
    dice: PortableRng
    odd: frozenset[str]
    model: Mapping[str, tuple[int, ...]] | None = None
    full: bool = False

    def blocks(self, shape: Mapping[str, tuple[int, ...]], *, zero: bool = False) -> dict[str, Array]:
        """Draw one array for each shape; all zeros if ``zero``."""
        return {n: np.zeros(s) if zero else self.array(s) for n, s in shape.items()}

    def array(self, shape: tuple[int, ...]) -> Array:
        """Draw eighths of at most 3 in magnitude, times 2^-24 if the case's unusual feature is ``tiny``."""
        return self.dice.array(shape) * (2.0**-24 if "tiny" in self.odd else 1.0)

    def hypers(self, usual: Mapping[str, tuple[float, ...]] | None = None) -> dict[str, float]:
        """Draw hyper-parameters from the pools of small cases; one lies at an edge if ``hyper`` is unusual."""
        pools = {**POOLS, **(usual or {})}
        if "hyper" in self.odd:
            edges = {n: tuple(v for v in EDGES[n] if is_short(v)) for n in self.setting.numbers if n in POOLS}
            if names := [n for n, pool in edges.items() if pool and not (usual and n in usual)]:
                name = self.dice.pick(sorted(names))
                pools[name] = edges[name]
        return draw_hypers(self.dice.pick, self.setting, pools)

    def loss(self) -> float:
        """Draw a loss in eighths from 1/8 to 3, times 2^-24 if the unusual feature is ``tiny``."""
        return self.dice.between(1, 24) / 8 * (2.0**-24 if "tiny" in self.odd else 1.0)

    def zero(self) -> bool:
        """Decide whether this gradient or change is all zeros."""
        return "zero" in self.odd and self.dice.toss()

    def count(self, low: int, high: int, what: str = "") -> int:
        """Draw a count from ``low`` to ``high``; ``low`` if the unusual feature is ``what``, ``high`` if ``full``."""
        if self.full:
            return high
        return low if what in self.odd else self.dice.between(low, high)


def _shape(at: Draws) -> dict[str, tuple[int, ...]]:
    return with_claimed(at.setting, _dealt(at))


def _dealt(at: Draws) -> dict[str, tuple[int, ...]]:
    if at.model is not None:
        return {**at.model}
    if at.setting.algorithm.has(Fact.MATRICES):
        return {n: at.dice.pick(((2, 2), (3, 2), (2, 3), (1, 2))) for n in ("w", "b")[: at.count(1, 2)]}
    if "cover" in at.setting.options or "layers" in at.setting.options:
        return {n: at.dice.pick(((2, 2), (3,), (2, 3))) for n in ("w", "b")[: at.count(1, 2)]}
    return {n: at.dice.pick(((2,), (1,), (3,), (2, 2))) for n in ("w", "b")[: at.count(1, 2)]}


def _client(at: Draws) -> Scenario:
    shape = _shape(at)
    x0, h = at.blocks(shape), at.hypers()
    events: list[Event] = []
    for r in range(at.count(1, 2, "one")):
        if r:
            events.append(Begin(at.blocks(shape)))
        rows, count = of_batches(at.setting, shape), at.count(1, 4 - r + at.setting.longer)
        events += [step_of(at.setting, at.blocks(rows, zero=at.zero()), k + r) for k in range(count)]
    return Scenario(case(at.setting, x0, h), tuple(events))


def _message(at: Draws, i: int, shape: Mapping[str, tuple[int, ...]], first: bool) -> ClientMessage:
    steps = at.dice.between(1, 6)
    norm: float = steps if at.setting.steps_only else at.dice.between(1, 24) / 4
    # Never all of them without examples.
    weight = 0 if "weight" in at.odd and not first else at.dice.between(1, 9)
    delta = at.blocks(shape, zero=at.zero())
    control = at.blocks(shape) if at.setting.controls else None
    return ClientMessage(i, delta, weight, steps, norm, control, at.loss() if at.setting.losses else None)


def _server(at: Draws) -> Scenario:
    shape = _shape(at)
    x0, h, crowd = at.blocks(shape), at.hypers(), at.setting.crowd
    events = []
    for _ in range(at.count(1, 3)):
        names = at.dice.shuffled(range(crowd + 3))[: at.count(crowd, crowd + 2, "one")]
        names = [*range(crowd + 2)] if at.setting.everyone else names
        events.append(Messages(tuple(_message(at, i, shape, k == 0) for k, i in enumerate(names))))
    N = (crowd + 2 if at.setting.everyone else at.dice.between(5, 9)) if at.setting.counts_all else None
    return Scenario(case(at.setting, x0, h, population=N), tuple(events))


def _quadratics(at: Draws, n: int, d: int) -> Quadratics:
    """H_i = A A' / 4 + I / 4 with small integer A, symmetric positive definite."""
    H = np.zeros((n, d, d))
    for i in range(n):
        A = np.array([at.dice.between(-1, 2) for _ in range(d * d)], dtype=float).reshape(d, d)
        H[i] = (A @ A.T + np.eye(d)) / 4
    examples = np.array([float(at.dice.between(1, 9)) for _ in range(n)])
    return Quadratics(H, at.array((n, d)), examples)


def _posed(at: Draws, n: int) -> tuple[dict[str, Array], dict[str, float], Quadratics]:
    """A model in the shape that the algorithm takes, hyper-parameters, and the objectives of n clients."""
    shape: dict[str, tuple[int, ...]] = {"w": (at.count(1, 2),)}
    if "layers" in at.setting.takes:
        matrices = at.setting.algorithm.has(Fact.MATRICES)
        kinds = ((2, 2), (3, 1), (1, 2)) if matrices else ((1,), (2,), (2, 2))
        shape = {name: at.dice.pick(kinds) for name in ("w", "b")[: at.count(1, 2)]}
        if sum(map(prod, shape.values())) > 5:
            shape["b"] = (1, 1) if matrices else (1,)
    if at.model is not None and "peers" not in at.setting.takes:
        shape = {**at.model}
    shape = with_claimed(at.setting, shape)
    d = sum(map(prod, shape.values()))
    if "peers" in at.setting.takes:
        x0 = {"w": np.tile(at.array((d,)), (n, 1))}
    else:
        x0 = at.blocks(shape, zero="phi" in at.setting.options and "zero" in at.odd)
    h, problem = at.hypers(on_quadratics(at.setting)), _quadratics(at, n, d)
    if at.setting.losses:
        problem = with_constants(problem, [at.dice.between(1, 24) for _ in range(n)])
    return x0, h, problem


def _round(at: Draws) -> Scenario:
    takes, crowd = at.setting.takes, at.setting.crowd
    n = at.count(crowd, crowd + 2, "one")
    x0, h, problem = _posed(at, n)
    events = []
    for _ in range(at.count(1, 3)):
        chosen = list(range(n)) if "everyone" in takes or at.full else at.dice.some(range(n), crowd)
        if "repeats" in takes and (at.full or at.dice.toss()):
            chosen.append(at.dice.pick(chosen))
        more: dict[str, Any] = {}
        if "strategies" in takes:
            run = at.setting.algorithm.run
            kinds = run.strategies if isinstance(run, Program) else STRATEGIES
            more["strategies"] = tuple(str(at.dice.pick(kinds)) for _ in chosen)
        if "scales" in takes and "unscaled" not in at.odd:
            more["scales"] = tuple(at.dice.pick((0.5, 1.0, 2.0)) for _ in chosen)
        if "noise" in takes:
            more["noise"] = tuple(at.dice.array(problem.e.shape[1:]).tolist())
        if "draws" in takes:
            d = problem.e.shape[1]
            more["draws"] = tuple(tuple(at.dice.between(0, 31) / 32 + 1 / 64 for _ in range(d)) for _ in chosen)
        steps = lengths(takes, [at.dice.between(1, 4 + at.setting.longer) for _ in chosen])
        events.append(Round(tuple(chosen), steps, **more))
    if "weight" in at.odd and n > 1:
        problem.examples[-1] = 0.0
        if any(not problem.examples[list(e.participants)].any() for e in events):
            problem.examples[-1] = 1.0
    return Scenario(case(at.setting, x0, h, problem), tuple(events))


def _doubly(at: Draws, n: int) -> Array:
    """A doubly stochastic matrix, in general not symmetric: a mean of permutations."""
    W = np.zeros((n, n))
    for weight in at.dice.pick(((0.5, 0.25, 0.25), (0.75, 0.25))):
        W += weight * np.eye(n)[at.dice.shuffled(range(n))]
    return W


def _clusters(at: Draws, n: int) -> tuple[tuple[int, ...], ...]:
    if "clusters" not in at.setting.takes:
        return (tuple(range(n)),)
    order, cut = at.dice.shuffled(range(n)), at.dice.between(0, n - 1)
    return tuple(tuple(sorted(part)) for part in (order[:cut], order[cut:]) if part)


def _exchange(at: Draws) -> Scenario:
    takes = at.setting.takes
    n = at.count(2, 4, "one") + ("clusters" in takes)
    clusters = _clusters(at, n)
    x0, h, problem = _posed(at, n)
    count = 3 if at.full else at.count(1, 2)
    events = tuple(_one_exchange(at, clusters, 1 + (k + 1) % 3 if at.full else 0) for k in range(count))
    return Scenario(case(at.setting, x0, h, problem), events)


def _one_exchange(at: Draws, clusters: tuple[tuple[int, ...], ...], length: int = 0) -> Exchange:
    """Draw a round among peers with that many local steps; 0: drawn."""
    takes, n = at.setting.takes, sum(map(len, clusters))
    m = [len(V) if {"peers", "everyone"} & {*takes} else at.dice.between(1, len(V)) for V in clusters]

    def some() -> tuple[int, ...]:
        # Cluster by cluster, which is also the order of the rows of W where only these mix.
        return tuple(i for V, m_k in zip(clusters, m, strict=True) for i in at.dice.shuffled(V)[:m_k])

    senders, steps = some(), length or at.dice.between(1, 3)
    fixed = "one-set" in takes or at.setting.options.get("sampling") == "round"
    computing = tuple(senders if fixed else some() for _ in range(steps))
    mixing = clusters
    if "senders" in takes:
        n, mixing = sum(m), tuple(tuple(range(sum(m[:k]), sum(m[: k + 1]))) for k in range(len(m)))
    W = np.zeros((n, n))
    for rows in mixing:
        W[np.ix_(rows, rows)] = _doubly(at, len(rows))
    return Exchange(() if "peers" in takes else senders, computing, W, clusters if "clusters" in takes else ())


def _arrival(at: Draws) -> Scenario:
    n = at.count(1, 3, "one")
    x0, h, problem = _posed(at, n)
    buffer, events = int(h.get("buffer", 1)), []
    for k in range(at.count(2, 7)):
        oldest = min(k // buffer, 3)
        delay = at.dice.pick((*range(oldest + 1), oldest))
        events.append(Arrival(at.dice.between(0, n - 1), at.dice.between(1, 3), delay))
    return Scenario(case(at.setting, x0, h, problem), tuple(events))


_KINDS: dict[str, Callable[[Draws], Scenario]] = {
    "client": _client,
    "server": _server,
    "round": _round,
    "exchange": _exchange,
    "arrival": _arrival,
}

ODD = ("hyper", "zero", "weight", "one", "tiny")
"""Names of the unusual features that a case may have."""

UNSCALED = 100
"""Number of the first case in which no client scales its change by a factor."""


def candidate(setting: Setting, name: str, number: int) -> Scenario:
    """Return case ``number`` of the row called ``name``; every odd-numbered case has an unusual feature."""
    dice = PortableRng(f"{name} {number}")
    odd = frozenset(dice.shuffled(ODD)[: dice.between(1, 2)]) if number % 2 else frozenset()
    odd |= {"unscaled"} if number >= UNSCALED else frozenset()
    return draw_case(Draws(setting, dice, odd))


def draw_case(at: Draws) -> Scenario:
    """Draw a case of the setting's level."""
    run = at.setting.algorithm.run
    kind = run.event if at.setting.level == "trace" and isinstance(run, Program) else at.setting.level
    return varied(at.setting, finer(at.setting, _KINDS[kind](at)), at.dice.pick, STORED)
