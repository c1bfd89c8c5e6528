"""Sample cases for a diagnosis, rich enough to distinguish variants."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import zip_longest
from typing import Any

import numpy as np

from fedspec.arith import Array
from fedspec.catalogue import Program
from fedspec.contract import Begin, Blocks, Exchange, Gradient, Messages, Round
from fedspec.params import flatten
from fedspec_suite.measure.cases import scenarios
from fedspec_suite.measure.edge_cases import runs
from fedspec_suite.measure.rare_cases import special_cases
from fedspec_suite.measure.scenario import Scenario, mapped, with_hyper
from fedspec_suite.measure.scheduled_cases import varied
from fedspec_suite.measure.seeded_draws import draw_cases
from fedspec_suite.measure.setting import Setting

SAMPLES = 8
RICH = 2


def _arrives(setting: Setting) -> bool:
    return isinstance(setting.algorithm.run, Program) and setting.algorithm.run.event == "arrival"


@lru_cache(maxsize=16)
def samples_of(setting: Setting) -> tuple[Scenario, ...]:
    """Return the sample cases on which a diagnosis compares variants."""
    # Two of few clients are each other's nearest, and their scores tie: rounding decides who is taken.
    few, most = (5, 6) if "f" in setting.numbers else (2, 4)
    match setting.level:
        case "client":
            # In two rounds a schedule of rounds that starts one late is none.
            rounds = 4 if any("/round" in said for said in setting.schedules.values()) else 2
            rich = scenarios(setting, steps=(4, 5), rounds=(rounds, rounds))
        case "server":
            rich = scenarios(setting, rounds=(3, 4), clients=(few, most))
        case "trace":
            exchanges = (8, 9) if _arrives(setting) else (3, 3)
            rich = scenarios(setting, rounds=exchanges, clients=(few, most))
        case _:
            some = scenarios(setting, rounds=(3, 3), clients=(max(3, few), most))
            rich = some | scenarios(setting, rounds=(2, 3), clients=(few, most), everyone=True)
    # The first draws are the simplest ones, and many share their hyper-parameters: variants show on the others.
    distinct: dict[tuple[Any, int], Scenario] = {}
    for s in draw_cases(rich, 12 * SAMPLES, seed=1)[2:]:
        seen = (tuple(s.case.hyper.items()), _attendance(s))
        distinct[seen] = max(distinct.get(seen, s), s, key=_richness)
    # In turn: some variants show only where somebody comes back, others only where nobody sits out.
    kinds = [[s for (_, kind), s in distinct.items() if kind == which] for which in (2, 1, 0)]
    first = [s for together in zip_longest(*kinds) for s in together if s][:SAMPLES]
    richest = [s for kind in kinds for s in sorted(kind, key=_richness, reverse=True)[:RICH]]
    # Some variants show only where one hyper-parameter is zero, such as a decay: for each, the richest such case.
    richest_of_all = max(distinct.values(), key=_richness)
    zero = {name: [s for s in distinct.values() if s.case.hyper.get(name) == 0] for name in setting.numbers}
    poor = [max(those, key=_richness) for those in zero.values() if those]
    made = (_idle(richest_of_all), _empty(richest_of_all), _resumed(richest_of_all), _sizeless(setting, richest_of_all))
    idle = [*(s for s in made if s), *_stepping(setting, richest_of_all)]
    chosen: dict[int, Scenario] = {id(s): s for s in (*first, *richest, *poor, *idle)}
    dice = np.random.default_rng(1)
    # What is wrong about rates shows on half of them, what is wrong without them on the others.
    varying = (
        varied(setting, s, lambda pool: pool[int(dice.integers(len(pool)))]) if k % 2 == 0 else s
        for k, s in enumerate(chosen.values())
    )
    return (*varying, *special_cases(setting))


def _idle(s: Scenario) -> Scenario | None:
    """The case with a block whose gradient is zero in a step, or with a local step in which nobody computes."""
    events = list(s.events)
    for k, e in enumerate(events):
        match e:
            case Gradient(g=g) if k:
                last = list(g)[-1]
                events[k] = replace(e, g={n: a * 0 if n == last else a for n, a in g.items()})
                return replace(s, events=tuple(events))
            case Exchange(computing=computing) if len(computing) > 1:
                events[k] = replace(e, computing=(*computing[:-1], ()))
                idle = replace(s, events=tuple(events))
                return idle if runs(idle) else None
    return None


def _resumed(s: Scenario) -> Scenario | None:
    """The case with a round among peers in which others compute in between, and those of the first step again."""
    n = 0 if s.case.problem is None else len(s.case.problem.e)
    for k, e in enumerate(s.events):
        if isinstance(e, Exchange) and e.computing and 0 < len(e.computing[0]) < n and not e.clusters:
            first = e.computing[0]
            others = tuple((i + 1) % n for i in first)
            event = replace(e, computing=(first, others, first))
            resumed = replace(s, events=(*s.events[:k], event, *s.events[k + 1 :]))
            return resumed if runs(resumed) else None
    return None


def _sizeless(setting: Setting, s: Scenario) -> Scenario | None:
    """The case with a client of zero examples among other clients; None if weights ignore examples or no case runs."""
    if setting.options.get("weights") != "examples" or "weight" in setting.nonzero:
        return None
    for k, e in enumerate(s.events):
        match e:
            case Messages(messages=(first, _, *_) as sent):
                event = replace(e, messages=(replace(first, weight=0), *sent[1:]))
                return replace(s, events=(*s.events[:k], event, *s.events[k + 1 :]))
            case Round(participants=(i, _, *_)) if s.case.problem is not None:
                there = np.arange(len(s.case.problem.e)) != i
                problem = replace(s.case.problem, examples=s.case.problem.examples * there)
                sized = replace(s, case=replace(s.case, problem=problem))
                return sized if runs(sized) else None
    return None


def _empty(s: Scenario) -> Scenario | None:
    """The case, at level client, whose first block is zero at the beginning of each round."""
    if s.case.level != "client":
        return None

    def emptied(x: Blocks) -> dict[str, Array]:
        first = next(iter(x))
        return {n: a * 0 if n == first else a for n, a in x.items()}

    empty = replace(s, case=replace(s.case, x0=emptied(s.case.x0)))
    return mapped(empty, Begin, lambda e: replace(e, x=emptied(e.x)))


def _stepping(setting: Setting, s: Scenario) -> Iterator[Scenario]:
    """Yield the case with dead zones and delays that show.

    The dead zone lies between the length of a coordinate and the length of a step, and once beside the rate. With a
    delay of two epochs of two steps, no step is too short for the delay to show.
    """
    free = s.case.hyper.keys() - setting.fixed
    if "eps_s" in free:
        yield with_hyper(s, eps_s=0.75)
        yield with_hyper(s, eps_s=1.5 * s.case.hyper["eta_l"])
    if {"eps_s", "z", "epoch"} <= free:
        yield with_hyper(s, eps_s=0.0, z=2, epoch=2)


def _richness(s: Scenario) -> tuple[int, int, int]:
    """Rank a case by how much of the rule it can show.

    The first count adds distinct nonzero hyper-parameters, blocks, and 1 if a client is drawn twice. The second counts
    coordinates that start nonzero, the third nonzero entries of the clients' linear terms.
    """
    x, problem = flatten(s.case.x0), s.case.problem
    there = 0 if problem is None else int(np.count_nonzero(problem.e))
    twice = any(len(set(e.participants)) < len(e.participants) for e in s.events if isinstance(e, Round))
    values = {v for v in s.case.hyper.values() if v}
    return len(values) + len(s.case.x0) + twice, int(np.count_nonzero(x)), there


def _attendance(s: Scenario) -> int:
    """Rank by attendance: 2 if a client takes part, sits out and comes back; 1 if a client sits out; else 0."""
    n = len(s.case.problem.H) if s.case.problem else 0
    rounds = [set(e.participants) for e in s.events if isinstance(e, Round)]
    if all(len(who) == n for who in rounds):
        return 0
    for i in range(n):
        there = [k for k, who in enumerate(rounds) if i in who]
        if there and len(there) < there[-1] - there[0] + 1:
            return 2
    return 1
