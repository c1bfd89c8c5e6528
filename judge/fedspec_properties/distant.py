"""Laws of servers in which a change counts the less, the farther it is: how little liars far away can do.

Messages at two places, with shares r to 1, have a mean that is 1 and r parts of the way from them. A pass of Weiszfeld
divides each share by its distance from there, so it multiplies the ratio of the shares by r. After the mean and T
passes it is r^(T + 1), however far the places are. For r < 1 liars lose all but that: the breakdown at one half.

A pass of centred clipping is v + mean of clip(Delta_i - v). The difference that is left, (Delta_i - v) less what it is
clipped to, is firmly nonexpansive, for clipping projects onto a ball. So two centres come no farther apart in a pass,
and f other messages move the mean of vectors no longer than c by 2 f c / n at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import sqrt

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array
from fedspec.contract import Messages
from fedspec.facts import Fact
from fedspec.params import flatten, unflatten
from fedspec_properties.joint import refuse, slack_of
from fedspec_properties.weighing import counts
from fedspec_suite.laws.asked import both, fact, option
from fedspec_suite.laws.law import Law
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.cases import server_scenarios
from fedspec_suite.measure.running import bounds_of
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting

FAR = 2.0**10
"""Farther than any honest change."""


def _rounds(s: Scenario) -> list[Messages]:
    return [e for e in s.events if isinstance(e, Messages)]


def _far(draw: st.DrawFn, e: Messages, size: float = FAR) -> dict[str, Array]:
    like = e.messages[0].delta
    signs = draw(st.lists(st.sampled_from((-size, size)), min_size=(n := flatten(like).size), max_size=n))
    return unflatten(np.array(signs).astype(flatten(like).dtype), like)


@st.composite
def _at_two_places(draw: st.DrawFn, setting: Setting) -> Scenario:
    """One round, in which somebody is far away, and the others send one change."""
    s: Scenario = draw(server_scenarios(setting, rounds=(1, 1), clients=(2, 6)))
    (e,) = _rounds(s)
    far = _far(draw, e, draw(st.sampled_from((64.0, FAR))))
    here = {n: a * 0 + a.flat[0] for n, a in e.messages[0].delta.items()}
    liars = draw(st.integers(1, len(e.messages) - 1))
    who = draw(st.permutations(range(len(e.messages))))[:liars]
    there = tuple(replace(m, delta=far if i in who else here) for i, m in enumerate(e.messages))
    return replace(s, events=(Messages(there),))


def _by_powers(bench: Bench, s: Scenario) -> None:
    (e,), (got,), h = _rounds(s), bench.play(s), s.case.hyper
    rows = np.array([flatten(m.delta) for m in e.messages]).astype(float)
    n = np.array(
        [float(k) for k in counts(s.case.options, [m.weight for m in e.messages], [m.steps for m in e.messages])]
    )
    here = (rows == rows[0]).all(axis=1)
    a, b = rows[0], rows[int(np.argmin(here))]
    r, T = float(n[~here].sum() / n[here].sum()), int(h["passes"])
    # Nearer than nu no distance counts as it is.
    share = min(r ** (T + 1), r ** -(T + 1)) / 2
    if share * float(np.linalg.norm(b - a)) < h["smooth"]:
        return
    move = (a + r ** (T + 1) * b) / (1 + r ** (T + 1))
    want = flatten(s.case.x0).astype(float) + h.get("eta", 1.0) * move
    bounds = 2 * bounds_of(bench.expect(s)[0]["x"]) + 4 * np.abs(want)
    bench.compare("x", got["x"], want, "round 1", bounds)


def _objective(z: Array, rows: Array, p: Array, nu: float) -> float:
    """What Weiszfeld's passes lower: distances, and below nu parabolas that meet them."""
    far = np.linalg.norm(rows - z, axis=1)
    return float(p @ np.where(far >= nu, far, far**2 / (2 * nu) + nu / 2))


def _several(setting: Setting) -> st.SearchStrategy[Scenario]:
    return server_scenarios(setting, rounds=(1, 2), clients=(1, 6))


def _no_farther(bench: Bench, s: Scenario) -> None:
    h, expected = s.case.hyper, bench.expect(s)
    before, slack, eta = flatten(s.case.x0).astype(float), 0.0, s.case.hyper.get("eta", 1.0)
    for k, (e, got) in enumerate(zip(_rounds(s), bench.play(s), strict=True)):
        rows, x = np.array([flatten(m.delta) for m in e.messages]).astype(float), got["x"].astype(float)
        n = counts(s.case.options, [m.weight for m in e.messages], [m.steps for m in e.messages])
        p = np.array([float(w) for w in n]) / float(sum(n))
        first = p @ rows if s.case.options["origin"] == "mean" else rows[0] * 0
        own = float(np.linalg.norm(slack_of(s, expected[k], "x"))) / eta
        begun, ended = (_objective(z, rows, p, h["smooth"]) for z in (first, (x - before) / eta))
        farther = np.full(x.shape, ended > begun * (1 + 1e-6) + own + slack)
        note = f"its weighted distances from the changes add up to {ended:.6g}, those of its start to {begun:.6g}"
        refuse(bench, "x", k, farther, x, before + eta * first, note)
        before, slack = x, own


@st.composite
def _attacked(draw: st.DrawFn, setting: Setting) -> tuple[Scenario, Scenario, list[int]]:
    """The same messages twice, of which somebody sends something else the second time; and how many do."""
    s: Scenario = draw(server_scenarios(setting, rounds=(1, 3), clients=(1, 6)))
    events, liars = [], []
    for e in _rounds(s):
        who = draw(st.sets(st.integers(0, len(e.messages) - 1), max_size=len(e.messages) // 2 + 1))
        far = _far(draw, e)
        events.append(Messages(tuple(replace(m, delta=far if i in who else m.delta) for i, m in enumerate(e.messages))))
        liars.append(len(who))
    return s, replace(s, events=tuple(events)), liars


def _little_moved(bench: Bench, drawn: tuple[Scenario, Scenario, Sequence[int]]) -> None:
    s, there, liars = drawn
    h, here = s.case.hyper, [got["x"].astype(float) for got in bench.play(s)]
    wanted = bench.expect(there)
    apart = allowed = 0.0
    for k, (e, one, got, f) in enumerate(zip(_rounds(s), here, bench.play(there), liars, strict=True)):
        apart += 2 * f * h["clip_norm"] * h["passes"] / len(e.messages)
        allowed += h.get("eta", 1.0) * apart
        x = got["x"].astype(float)
        slack = float(np.linalg.norm(slack_of(s, bench.expect(s)[k], "x") + slack_of(there, wanted[k], "x")))
        far = np.full(x.shape, float(np.linalg.norm(x - one)) > allowed * (1 + 1e-9) + slack)
        refuse(bench, "x", k, far, x, one, f"{sum(liars[: k + 1])} other messages move it by more than {allowed:.6g}")


def _one_message(setting: Setting) -> st.SearchStrategy[Scenario]:
    """Everybody sends the same in a round."""

    def agreed(s: Scenario) -> Scenario:
        events = (Messages(tuple(replace(m, delta=e.messages[0].delta) for m in e.messages)) for e in _rounds(s))
        return replace(s, events=tuple(events))

    return server_scenarios(setting, rounds=(1, 4), clients=(1, 4)).map(agreed)


def _towards(bench: Bench, s: Scenario) -> None:
    """Every pass goes c on the straight way to what all send, and no farther."""
    h, expected = s.case.hyper, bench.expect(s)
    x = flatten(s.case.x0).astype(float)
    v = x * 0
    for k, (e, got) in enumerate(zip(_rounds(s), bench.play(s), strict=True)):
        goal = flatten(e.messages[0].delta).astype(float)
        way = sqrt(float((goal - v) @ (goal - v)))
        v = goal if way <= h["passes"] * h["clip_norm"] else v + h["passes"] * h["clip_norm"] / way * (goal - v)
        x = x + h.get("eta", 1.0) * v
        bounds = 2 * bounds_of(expected[k]["x"]) + 4 * (np.abs(x) + np.abs(v)) * (k + 1)
        bench.compare("x", got["x"], x, f"round {k + 1}", bounds)


LAWS = (
    Law(
        id="two-places",
        words="messages at two places, with shares r to 1: after the mean and T passes they count as r^(T + 1) to 1",
        levels=("server",),
        source="a pass divides each share by its distance, which is the other's share",
        cases=_at_two_places,
        check=_by_powers,
        applies=both(fact(Fact.DISTANT), option("origin", "mean")),
    ),
    Law(
        id="no-farther",
        words="the weighted distances from the changes add up to no more where the passes end than where they begin",
        levels=("server",),
        source="Weiszfeld: a pass goes to the minimum of parabolas that lie above the distances and meet them",
        cases=_several,
        check=_no_farther,
        applies=fact(Fact.DISTANT),
    ),
    Law(
        id="little-moved",
        words="f_t other messages of n_t in round t move v by no more than the sum of 2 f_t c L / n_t",
        levels=("server",),
        source="v + mean of clip(Delta_i - v) is nonexpansive in v, and clipped vectors are no longer than c",
        cases=_attacked,
        check=_little_moved,
        applies=fact(Fact.CENTRED),
    ),
    Law(
        id="towards",
        words="where all send the same, v goes L c on the straight way to it in a round, and no farther",
        levels=("server",),
        source="each pass goes min(c, what is left of the way)",
        cases=_one_message,
        check=_towards,
        applies=fact(Fact.CENTRED),
    ),
)
