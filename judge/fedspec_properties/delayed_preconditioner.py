"""Laws of FedAda2's local solvers: a preconditioner that is updated every z steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array
from fedspec.contract import Gradient
from fedspec.covers import named_cover
from fedspec.params import flatten, shapes
from fedspec.readings import CoverName, DeadZone
from fedspec_properties.closed_forms import delayed_solvers
from fedspec_suite.laws.asked import Word, both, number, one, option, settable, unless, zero
from fedspec_suite.laws.law import Law
from fedspec_suite.laws.relations import related
from fedspec_suite.measure.bench import THRESHOLD, Bench
from fedspec_suite.measure.cases import client_scenarios
from fedspec_suite.measure.pools import POOLS
from fedspec_suite.measure.running import bounds_of
from fedspec_suite.measure.scenario import Scenario, with_hyper
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.verdict import Deviates, Deviation


def one_round(setting: Setting, zeroed: tuple[str, ...] = (), **values: float) -> st.SearchStrategy[Scenario]:
    """One round of at least two steps with some hyper-parameters at zero or as given."""
    given = {**dict.fromkeys((n for n in zeroed if n in setting.numbers), 0.0), **values}
    return client_scenarios(setting, steps=(2, 6), rounds=(1, 1)).map(lambda s: with_hyper(s, **given))


def _cover(s: Scenario) -> tuple[tuple[int, ...], ...]:
    return named_cover(CoverName(s.case.options.get("cover", "one")), shapes(s.case.x0)).sets


def _gradients(s: Scenario) -> list[Array]:
    return [flatten(e.g) for e in s.events if isinstance(e, Gradient)]


def displacements(bench: Bench, s: Scenario) -> Iterator[tuple[int, Array, Array]]:
    """Number, displacement and rounding of every step of a run of one round."""
    expected = bench.expect(s)
    x, before = flatten(s.case.x0).astype(float), np.abs(flatten(s.case.x0).astype(float))
    for k, got in enumerate(bench.play(s)):
        bench.finite("x", got["x"], f"step {k + 1}")
        after = bounds_of(expected[k]["x"])
        yield k, got["x"] - x, THRESHOLD * float(np.finfo(s.case.dtype).eps) * (before + after)
        x, before = got["x"], after


def deviates(bench: Bench, k: int, broken: Array, got: Array, want: Array, note: str) -> None:
    """Report the first broken coordinate of step k as a deviation."""
    if broken.any():
        j = int(np.argmax(broken))
        raise Deviates(
            Deviation(
                bench.step_equation, f"step {k + 1}", j, float(got[j]), float(want[j]), None, f"the step is {note}"
            )
        )


def _frozen(bench: Bench, s: Scenario) -> None:
    louder = [Gradient({n: 2 * a for n, a in e.g.items()}) for e in s.events[1:] if isinstance(e, Gradient)]
    first = bench.play(s)[0]["x"]
    related(bench, s, replace(s, events=(s.events[0], *louder)), lambda k, x: first + 2 * (x - first))


def _between(bench: Bench, s: Scenario) -> None:
    h, sets = s.case.hyper, _cover(s)
    rows = [g.astype(float) for g in _gradients(s)]
    beta = h.get("beta2")
    for k, d, slack in displacements(bench, s):
        squares = [rows[j] * rows[j] for j in delayed_solvers.updating(k + 1, h["z"], h["epoch"])]
        n, v0 = len(squares), h.get("v0", 0.0)
        weights = [1.0] * n if beta is None else [beta**e * (1 - beta) / (1 - beta**n) for e in reversed(range(n))]
        low = v0 + sum(w * q for w, q in zip(weights, squares, strict=True))
        most = [v0 + sum(w * max(q[list(S)]) for w, q in zip(weights, squares, strict=True)) for S in sets]
        high = np.array([min(m for m, S in zip(most, sets, strict=True) if j in S) for j in range(len(low))])
        longest, shortest = (h["eta_l"] * np.abs(rows[k]) / (np.sqrt(v) + h["eps"]) for v in (low, high))
        deviates(
            bench, k, np.abs(d) > longest + slack, np.abs(d), longest, "longer than with a set for each coordinate"
        )
        deviates(bench, k, np.abs(d) < shortest - slack, np.abs(d), shortest, "shorter than the maxima of sets allow")


def _no_longer(bench: Bench, s: Scenario) -> None:
    for k, d, slack in displacements(bench, s):
        rate = np.full(d.shape, s.case.hyper["eta_l"])
        deviates(bench, k, np.abs(d) > rate + slack, np.abs(d), rate, "longer than eta_l, with the gradient in v")


def local_law(id: str, words: str, source: str, cases: Any, check: Any, applies: Word, **more: Any) -> Law:
    """Return a law of level client whose source is FedAda2."""
    return Law(
        id=id,
        words=words,
        levels=("client",),
        source=f"FedAda2, {source}",
        cases=cases,
        check=check,
        applies=applies,
        **more,
    )


DELAYED = number("z")
SUMMED = unless(number("beta2"), "its second moment is an average")
CARRIED = unless(option("idle", "reset"), "its accumulators are cleared between updates")


@st.composite
def _edge(draw: st.DrawFn, setting: Setting) -> Scenario:
    s: Scenario = draw(one_round(setting))
    return with_hyper(s, eps_s=draw(st.sampled_from([e for e in POOLS["eps_s"] if e > 0])))


def _none_or_long(bench: Bench, s: Scenario) -> None:
    least = s.case.hyper["eta_l"] * s.case.hyper["eps_s"]
    for k, d, slack in displacements(bench, s):
        length = float(np.linalg.norm(d))
        if 0 < length < least - float(np.linalg.norm(slack)):
            note = f"a step of length {length:.6g} is taken, shorter than eta_l eps_s = {least:.6g}"
            raise Deviates(Deviation(bench.step_equation, f"step {k + 1}", note=note))


DEAD = both(DELAYED, unless(option("dead_zone", DeadZone.MOMENTUM), "it takes its short steps"))

LAWS = (
    local_law(
        id="delay-frozen",
        words="a delay beyond the round: the first preconditioner stays, and later steps are linear in their gradients",
        source="Algs. 2-4 and 7-10: updates at k = 1, z + 1, ...",
        cases=lambda setting: one_round(setting, ("eps_s", "beta1"), z=64, epoch=1),
        check=_frozen,
        applies=both(DELAYED, settable("eps_s", "beta1", fits=zero)),
        needs=("z", "epoch"),
        zeroes=("eps_s", "beta1"),
    ),
    local_law(
        id="delay-bound",
        words="the bound lies between what singleton sets would hold and the sum of the largest squares of a set",
        source="Lemma 15 (L752): v_k is at least v_0 and the squares at the updates",
        cases=lambda setting: one_round(setting, ("eps_s", "beta1")),
        check=_between,
        applies=both(DELAYED, option("cover"), CARRIED, settable("eps_s", "beta1", fits=zero)),
        zeroes=("eps_s", "beta1"),
    ),
    local_law(
        id="delay-one-rate",
        words="with z = 1 the gradient is in its own preconditioner, and no coordinate moves further than eta_l",
        source="App. F (L1510): only a delay breaks this bound",
        cases=lambda setting: one_round(setting, z=1),
        check=_no_longer,
        applies=both(DELAYED, SUMMED, settable("z", fits=one)),
    ),
    local_law(
        id="dead-zone-edge",
        words="a step is not taken, or its whole length is at least eta_l eps_s",
        source="Alg. 2, line 11 (L679)",
        cases=_edge,
        check=_none_or_long,
        applies=DEAD,
        needs=("eps_s",),
    ),
)
