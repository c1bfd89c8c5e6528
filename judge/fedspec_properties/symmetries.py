"""Laws without formulas: invariance of an implementation under rest, negation, scaling, regrouping and permutation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array
from fedspec.catalogue import find
from fedspec.contract import LEVELS, Begin, Level
from fedspec.division import STABILISERS
from fedspec.facts import Fact
from fedspec.params import flatten, unflatten
from fedspec_suite.laws.applicability import (
    always,
    both,
    by_level,
    fact,
    measured,
    number,
    odd,
    offered,
    option,
    settable,
    unless,
)
from fedspec_suite.laws.law import Law
from fedspec_suite.laws.relations import related, same, same_bits
from fedspec_suite.measure.bench import WORDS, Bench, Shown
from fedspec_suite.measure.case_parts import vectors
from fedspec_suite.measure.cases import scenarios
from fedspec_suite.measure.scenario import Scenario, at_rest, change_events, losing, with_blocks, with_hyper
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.signed_permutation import Renaming

BOTH: tuple[Level, ...] = ("client", "server")


def _mirrors(bench: Bench, s: Scenario) -> None:
    related(bench, s, change_events(s, lambda a: -a, lambda a: -a), lambda k, x: -x)


def _scaled_hyper(s: Scenario, c: float) -> dict[str, Any]:
    row, inside = find(s.case.algorithm), s.case.options.get("epsilon") == "inside"

    def degree(name: str) -> int:
        return 2 if inside and name in STABILISERS else row.dimension(name).value

    return {n: v * c ** degree(n) for n, v in s.case.hyper.items() if degree(n)}


def _scales(bench: Bench, s: Scenario) -> None:
    c = 4.0
    numbers = _scaled_hyper(s, c)
    if find(s.case.algorithm).has(Fact.ADAPTIVE):
        related(bench, s, with_hyper(change_events(s, change=lambda a: a * c), **numbers), lambda k, x: x)
    else:
        louder = with_hyper(change_events(s, lambda a: a * c, lambda a: a * c), **numbers)
        # A loss is the square of a length: so it is of quadratics.
        related(bench, s, losing(louder, c**2), lambda k, x: x * c)


def _rated(bench: Bench, s: Scenario) -> None:
    rate = "eta_l" if s.case.level == "client" else "eta"
    # Scaling by a power of two is exact, and x0 = 0 makes the model the displacement.
    origin = change_events(s, model=lambda a: a * 0)
    related(bench, origin, with_hyper(origin, **{rate: 4 * s.case.hyper[rate]}), lambda k, x: 4 * x)


@st.composite
def _disturbed(draw: st.DrawFn, setting: Setting) -> tuple[Scenario, int, Array]:
    s: Scenario = draw(scenarios(setting))
    if "eps_s" in setting.numbers:
        # The dead zone looks at the whole step.
        s = with_hyper(s, eps_s=0.0)
    d = flatten(s.case.x0).size
    noise: Array = draw(vectors((max(len(s.events), 1),), setting.dtype))
    return s, draw(st.integers(0, d - 1)), noise


def _coordinates(bench: Bench, drawn: tuple[Scenario, int, Array]) -> None:
    s, j, noise = drawn

    def poke(by: Any, a: Mapping[str, Array]) -> dict[str, Array]:
        flat = flatten(a).copy()
        flat[j] += by
        return unflatten(flat, a)

    noisy = zip(s.events, noise, strict=False)
    events = (e if isinstance(e, Begin) else with_blocks(e, partial(poke, by)) for e, by in noisy)
    poked = replace(s, events=tuple(events))

    def others(run: list[Shown]) -> list[Shown]:
        d = flatten(s.case.x0).size
        return [{n: np.delete(v, j) if v.size == d and n not in WORDS else v[:0] for n, v in r.items()} for r in run]

    same_bits(bench, s, others(bench.play(s)), others(bench.play(poked)), f"coordinate {j} leaks into another")


@st.composite
def _regrouped(draw: st.DrawFn, setting: Setting) -> tuple[Scenario, Scenario]:
    s: Scenario = draw(scenarios(setting))
    d = flatten(s.case.x0).size
    cut = draw(st.integers(1, d)) if d > 1 else 1
    like = {"p": np.zeros(cut), "q": np.zeros(d - cut)} if cut < d else {"p": np.zeros(d)}

    def regroup(blocks: Any) -> dict[str, Array]:
        return unflatten(flatten(blocks), like)

    return s, Scenario(replace(s.case, x0=regroup(s.case.x0)), tuple(with_blocks(e, regroup) for e in s.events))


STILL = by_level(client=unless(fact(Fact.DECAYING), "its decay moves the model by itself"), server=always)
"""Condition for the law ``rests``: at level client, weight decay must not move the model."""


def _rests(bench: Bench, s: Scenario) -> None:
    x, want = flatten(s.case.x0), []
    for event in s.events:
        x = flatten(event.x) if isinstance(event, Begin) else x
        want.append(x)
    # A server that averages models instead of changes rounds even here. Whether there is a root of what it has moved v
    # to from 0, no bound tells where v moves by a sign; it does of a v that is larger than what rounding moves.
    small = float(np.finfo(bench.dtype).eps * max(1, np.abs(x).max() ** 2))
    beside = with_hyper(s, v0=small) if s.case.hyper.get("v0") == 0 else s
    bench.follows(s, want, rounded=True, beside=beside)


def _in_one_block(s: Scenario) -> Scenario:
    """Flatten the model into one vector: no layers, and slices that are coordinates."""

    def flat(blocks: Any) -> dict[str, Array]:
        return {"w": flatten(blocks)}

    return Scenario(replace(s.case, x0=flat(s.case.x0)), tuple(with_blocks(e, flat) for e in s.events))


@st.composite
def _renamed(draw: st.DrawFn, setting: Setting) -> tuple[Scenario, Scenario, Renaming]:
    s: Scenario = at_rest(draw(scenarios(setting)))
    if "peers" not in setting.takes:
        s = _in_one_block(s)
    d = next(iter(s.case.x0.values())).shape[-1]
    signs = draw(st.lists(st.sampled_from((-1, 1)), min_size=d, max_size=d))
    renaming = Renaming(np.array(draw(st.permutations(range(d)))), np.array(signs))
    return s, renaming.scenario(s), renaming


def _same_path(bench: Bench, drawn: tuple[Scenario, Scenario, Renaming]) -> None:
    s, there, renaming = drawn
    d = len(renaming.order)
    related(bench, s, there, lambda k, x: renaming.vector(x.reshape(-1, d)).reshape(-1))


LAWS = (
    Law(
        id="rests",
        words="from a fresh state, zero changes or gradients do not move the model",
        levels=BOTH,
        source="linearity in m",
        cases=lambda setting: scenarios(setting).map(lambda s: change_events(s, change=lambda a: a * 0)),
        check=_rests,
        applies=both(
            STILL,
            # With a stabiliser of 0 the first step is 0/0.
            settable(*STABILISERS, fits=lambda v: v != 0),
        ),
    ),
    Law(
        id="mirrors",
        words="the opposite input gives the opposite path",
        levels=BOTH,
        source="oddness of every rule",
        cases=scenarios,
        check=_mirrors,
        applies=odd,
    ),
    Law(
        id="scales",
        words="inputs (and eps, tau, v_0 with them) times 4: linear rules move 4 times as far, adaptive ones as far",
        levels=BOTH,
        source="homogeneity of every rule",
        cases=scenarios,
        check=_scales,
        applies=settable(of=measured, fits=lambda v: v == 0),
    ),
    Law(
        id="rate",
        words="the displacement is linear in the rate",
        levels=BOTH,
        source="every step is rate times direction",
        cases=scenarios,
        check=_rated,
        applies=both(
            STILL,
            by_level(
                client=both(
                    number("eta_l"),
                    settable("eta_l"),
                    unless(number("mu"), "the proximal pull depends on the rate"),
                ),
                server=both(number("eta"), settable("eta")),
            ),
        ),
    ),
    Law(
        id="coordinates",
        words="a coordinate's input moves no other coordinate",
        levels=BOTH,
        source="all operations are elementwise",
        cases=_disturbed,
        check=_coordinates,
        applies=both(
            unless(fact(Fact.NORMALISED), "the length of the gradient couples coordinates"),
            unless(fact(Fact.LAYERED), "the length of a layer couples its coordinates"),
            # The dead zone looks at the whole step.
            settable("eps_s", fits=lambda v: v == 0),
            unless(option("cover"), "a cover couples coordinates"),
            unless(fact(Fact.MATRICES), "a singular value is of all of a matrix"),
        ),
        zeroes=("eps_s",),
    ),
    Law(
        id="blocks",
        words="cutting the model into blocks elsewhere changes nothing",
        levels=BOTH,
        source="all operations are elementwise, or look at the whole model",
        cases=_regrouped,
        check=same,
        applies=both(
            unless(fact(Fact.LAYERED), "its layers are the blocks"),
            unless(fact(Fact.MATRICES), "its matrices are the blocks"),
            offered(lambda setting: not setting.one_block, "one block only"),
            unless(option("cover"), "a cover couples coordinates"),
        ),
    ),
    Law(
        id="coordinates-alike",
        words="the coordinates in another order and with other signs: the path in that order with those signs",
        levels=LEVELS,
        source="all operations are elementwise and odd, or look at lengths and sets",
        cases=_renamed,
        check=_same_path,
        applies=both(odd, unless(fact(Fact.MATRICES), "what is a row stays one (rows-and-columns-alike)")),
    ),
)
