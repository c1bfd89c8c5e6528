"""Schedules: the participants of every round, as events made from the round's number.

A schedule is an immutable value. Its draws are functions of its seed and the round's number alone, so a run can be
resumed at any round.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Protocol, TypeAlias, cast

import numpy as np
import torch

from fedspec.entry import Algorithm, Program
from fedspec.errors import PlanError
from fedspec.mixing.topology import metropolis, ring
from fedspec.plan import Arrival, Exchange, Plan, Setup
from fedspec.readings import Sampling
from fedspec_torch.arith import Vector, check_whole
from fedspec_torch.run.local_work import Steps, checked_steps, steps_of

Event: TypeAlias = Plan | Exchange | Arrival
"""Event that an algorithm of the catalogue takes."""

SEED = "what is drawn depends on a number"


class Schedule(Protocol):
    """Function from rounds to events: one plan, one exchange, or the arrivals that fill the server's buffer."""

    def events(self, algorithm: Algorithm, h: Any, setup: Setup, x: Vector, round: int) -> tuple[Event, ...]:
        """Return the events of that round, for an algorithm with hyper-parameters h and a model like x."""
        ...


@dataclass(frozen=True)
class Cohorts:
    """Schedule of a random cohort of clients in every round, uniform without replacement; see :func:`cohorts`."""

    size: int | None
    steps: Steps = 1
    seed: int = 0
    strategies: tuple[str, ...] = ()

    def events(self, algorithm: Algorithm, h: Any, setup: Setup, x: Vector, round: int) -> tuple[Plan]:
        """Return the plan of that round.

        Raises:
            PlanError: the cohort is larger than the population, the algorithm doesn't accept rounds or strategies, or
                it requires all clients and the cohort is smaller.
        """
        refuse_other("round", algorithm, "cohorts")
        n, takes = setup.clients, algorithm.takes
        size = n if self.size is None else self.size
        if not 0 < size <= n:
            raise PlanError(f"cohort: got {size} of {n} clients; ask for 1 to {n}")
        if "everyone" in takes and size < n:
            raise PlanError(
                f"cohort: got {size} of {n} clients, but {algorithm.id} needs all clients in every round; ask for {n}"
            )
        rng = np.random.default_rng([self.seed, round])
        who = tuple(sorted(rng.choice(n, size, replace=False).tolist())) if size < n else tuple(range(n))
        strategies: tuple[str, ...] = ()
        if self.strategies and "strategies" not in takes:
            raise PlanError(
                f"strategies: got {self.strategies}, but the clients of {algorithm.id} have no strategies; leave "
                "strategies out"
            )
        if "strategies" in takes:
            known = self.strategies or (algorithm.run.strategies if isinstance(algorithm.run, Program) else ())
            strategies = tuple(known[i % len(known)] for i in who)
        steps = steps_of(self.steps, who, setup.examples, self.seed, rng)
        if "one-length" in takes:
            steps = (steps[0],) * size
        if "one-step" in takes and {*steps} != {1}:
            raise PlanError(f"steps: {algorithm.id} takes one gradient of each client in a round; ask for steps=1")
        examples = setup.examples if size == n else tuple(setup.examples[i] for i in who)
        scales = (1.0,) * size if "scales" in takes else ()
        plan = planned(who, steps, examples, strategies, scales, repeats="repeats" in takes)
        noise: Any = rng.standard_normal(len(x)) if "noise" in takes else ()
        draws: Any = tuple(rng.random((size, len(x)))) if "draws" in takes else ()
        return (replace(plan, noise=noise, draws=draws) if {"noise", "draws"} & {*takes} else plan,)


@lru_cache(maxsize=1)
def planned(*parts: Any, repeats: bool) -> Plan:
    """Build a plan; the cache of one plan spares the check if all rounds have the same plan."""
    who, steps, examples, strategies, scales = parts
    return Plan(who, steps, examples, strategies, scales, repeats=repeats)


@dataclass(frozen=True)
class Exchanges:
    """Schedule of gossip rounds; see :func:`exchanges`."""

    steps: int = 1
    computing: int | None = None
    senders: int | None = None
    graph: str = "ring"
    clusters: int = 1
    seed: int = 0

    def events(self, algorithm: Algorithm, h: Any, setup: Setup, x: Vector, round: int) -> tuple[Exchange]:
        """Return the exchange of that round.

        Raises:
            PlanError: a set of clients is larger than the population, or the algorithm doesn't accept exchanges.
        """
        refuse_other("exchange", algorithm, "exchanges")
        n, takes = setup.clients, algorithm.takes
        senders = n if self.senders is None else self.senders
        computing = n if self.computing is None else self.computing
        if "senders" in takes:
            # Those who compute are those who mix: W has a row for each.
            computing = senders
        for what, size in (("senders", senders), ("computing", computing)):
            if not self.clusters <= size <= n:
                raise PlanError(f"{what}: got {size} of {n} clients; ask for {self.clusters} to {n}")
            if "peers" in takes and size < n:
                raise PlanError(
                    f"{what}: got {size} of {n} clients, but in {algorithm.id} all clients compute; ask for {n}"
                )
        rng = np.random.default_rng([self.seed, round])
        groups = tuple(tuple(map(int, group)) for group in np.array_split(np.arange(n), self.clusters))
        S_r = drawn_in_each(rng, groups, senders)
        one_set = "one-set" in takes or getattr(h, "sampling", None) is Sampling.ROUND
        sets = tuple(S_r if one_set else drawn_in_each(rng, groups, computing) for _ in range(self.steps))
        W = self._mixing(S_r if "senders" in takes else range(n), groups, x)
        return (Exchange(() if "peers" in takes else S_r, sets, W, groups if "clusters" in takes else ()),)

    def _mixing(self, mixers: Sequence[int], groups: Sequence[Sequence[int]], x: Vector) -> Any:
        mixing = np.zeros((len(mixers), len(mixers)))
        for group in groups:
            at = [k for k, i in enumerate(mixers) if i in group]
            mixing[np.ix_(at, at)] = GRAPHS[self.graph](len(at))
        return torch.tensor(mixing, dtype=x.dtype, device=x.device)


def _complete(n: int) -> Any:
    return np.full((n, n), 1 / n)


def _star(n: int) -> Any:
    return metropolis(n, [(0, i) for i in range(1, n)])


GRAPHS: dict[str, Callable[[int], Any]] = {"ring": ring, "complete": _complete, "star": _star}
"""Functions from the number of clients to a graph's mixing matrix, by name."""


@dataclass(frozen=True)
class Arrivals:
    """Schedule of late updates; see :func:`arrivals`."""

    steps: Steps = 1
    largest_delay: int = 0
    seed: int = 0

    def events(self, algorithm: Algorithm, h: Any, setup: Setup, x: Vector, round: int) -> tuple[Arrival, ...]:
        """Return the arrivals that fill the server's buffer before its step of that number.

        Raises:
            PlanError: the algorithm doesn't accept arrivals.
        """
        refuse_other("arrival", algorithm, "arrivals")
        rng = np.random.default_rng([self.seed, round])
        buffer, oldest = getattr(h, "buffer", 1), min(self.largest_delay, round)
        who = rng.integers(setup.clients, size=buffer).tolist()
        delays = rng.integers(oldest, size=buffer, endpoint=True).tolist()
        return tuple(map(Arrival, who, steps_of(self.steps, who, setup.examples, self.seed, rng), delays))


def cohorts(size: int | None, *, steps: Steps = 1, seed: int = 0, strategies: Sequence[str] = ()) -> Cohorts:
    """Schedule a cohort of ``size`` clients in every round, drawn uniformly without replacement.

    Args:
        size: m, the number of clients in a round; None: all clients.
        steps: tau_i, the same for all clients; or (least, greatest), drawn uniformly once for each client; or
            :func:`~fedspec_torch.epochs`, :func:`~fedspec_torch.each_round`, :func:`~fedspec_torch.for_clients`.
        seed: seed from which, with the round's number, everything is drawn.
        strategies: local solvers that clients use in turn, by client number, for algorithms that blend several.

    Raises:
        PlanError: the cohort, the steps or the seed are outside their domains, or strategies aren't a list.
    """
    if isinstance(strategies, str):
        raise PlanError(f"strategies: got {strategies!r}; give a list of names")
    if size is not None:
        check_whole("cohort", size, "a cohort holds at least one client", least=0)
    check_whole("seed", seed, SEED, least=0)
    return Cohorts(size, checked_steps(steps), seed, tuple(strategies))


def exchanges(
    *,
    steps: int = 1,
    computing: int | None = None,
    senders: int | None = None,
    graph: str = "ring",
    clusters: int = 1,
    seed: int = 0,
) -> Exchanges:
    """Schedule gossip: in each local step some clients compute, then all exchange models along a graph.

    Args:
        steps: number of local steps in a round; an exchange follows each.
        computing: number of clients that compute a gradient in a step; None: all clients.
        senders: number of clients that send to the server; None: all clients.
        graph: the graph of each cluster: ``ring``, ``complete`` or ``star``.
        clusters: number of clusters of consecutive clients; only clients of one cluster mix.
        seed: seed from which, with the round's number, everything is drawn.

    Raises:
        PlanError: the graph is unknown, or there is no local step or no cluster.
    """
    if graph not in GRAPHS:
        raise PlanError(f"graph: got {graph!r}; known: {', '.join(GRAPHS)}")
    check_whole("steps", steps, "a round has at least one local step")
    check_whole("clusters", clusters, "there is at least one cluster")
    check_whole("seed", seed, SEED, least=0)
    for what, count in (("computing", computing), ("senders", senders)):
        if count is not None:
            check_whole(what, count, "leave it out for everybody", least=0)
    return Exchanges(steps, computing, senders, graph, clusters, seed)


def arrivals(*, steps: Steps = 1, largest_delay: int = 0, seed: int = 0) -> Arrivals:
    """Schedule late updates, one buffer of them in a round; clients and delays are drawn uniformly.

    Args:
        steps: K, the number of local steps, in the forms that :func:`cohorts` accepts.
        largest_delay: the largest delay of an update, in model versions.
        seed: seed from which, with the round's number, everything is drawn.

    Raises:
        PlanError: the steps or the delay are outside their domains.
    """
    check_whole("largest_delay", largest_delay, "a delay counts versions, 0: none", least=0)
    check_whole("seed", seed, SEED, least=0)
    return Arrivals(checked_steps(steps), largest_delay, seed)


def refuse_other(event: str, algorithm: Algorithm, what: str) -> None:
    """Raise an error if the schedule makes other events than the algorithm takes.

    Raises:
        PlanError: the schedule makes other events; the message names the schedule that fits.
    """
    wanted = algorithm.event or "round"
    if wanted != event:
        names = {"round": "cohorts(...)", "exchange": "exchanges(...)", "arrival": "arrivals(...)"}
        raise PlanError(f"plan: got {what} for {algorithm.id}, whose step is one {wanted}; use {names[wanted]}")


def drawn_in_each(rng: np.random.Generator, groups: Sequence[Sequence[int]], size: int) -> tuple[int, ...]:
    """Draw ``size`` clients, a proportional number from each group, uniformly without replacement; sorted in groups."""
    parts = np.diff(np.linspace(0, size, len(groups) + 1).astype(int)).tolist()
    drawn = (rng.choice(group, m, replace=False).tolist() for group, m in zip(groups, parts, strict=True))
    return tuple(i for some in drawn for i in sorted(some))


def steps_in(events: tuple[Event, ...]) -> int:
    """Total number of local steps in a round."""
    match events[0]:
        case Plan(steps=steps):
            return sum(steps)
        case Exchange(computing=sets):
            return sum(map(len, sets))
    return sum(arrival.steps for arrival in cast("tuple[Arrival, ...]", events))


def took_part(events: tuple[Event, ...]) -> tuple[int, ...]:
    """Return the clients that trained in a round; of late updates one for each, in the order of their arrival."""
    match events[0]:
        case Plan(participants=who):
            return tuple(who)
        case Exchange(computing=sets):
            return tuple(sorted({i for some in sets for i in some}))
    return tuple(arrival.client for arrival in cast("tuple[Arrival, ...]", events))


def check_events(events: Any, algorithm: Algorithm, round: int) -> None:
    """Raise an error if a user's schedule returns events that the algorithm doesn't take.

    Raises:
        PlanError: the events have the wrong type; the message has the round and the expected type.
    """
    kind = {"round": Plan, "exchange": Exchange, "arrival": Arrival}[algorithm.event or "round"]
    some = isinstance(events, tuple | list) and len(events) > 0 and all(isinstance(event, kind) for event in events)
    if not some or (kind is not Arrival and len(events) > 1):
        count = "one or more" if kind is Arrival else "one"
        raise PlanError(
            f"plan: round {round}: got the events {events!r}; {algorithm.id} takes a tuple of {count} {kind.__name__}"
        )
