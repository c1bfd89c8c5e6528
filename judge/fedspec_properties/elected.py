"""Laws of servers that take changes for their nearest neighbours: what they take, and what liars can do to it.

Of n messages f may be anything, and N <= n - f - 1 others count. If honest changes are no farther than R from each
other, each of the n - f honest scores is N R^2 at most, and so are the n - f smallest. Of the N nearest to a liar who
is among these, N - f + 1 are honest at least. One of them is therefore within R sqrt(N / (N - f + 1)) of the liar, or
within R N / (N - f + 1) where distances are not squared.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from math import sqrt

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array
from fedspec.contract import Messages
from fedspec.facts import Fact
from fedspec.params import flatten, unflatten
from fedspec_properties.joint import refuse
from fedspec_suite.laws.asked import fact
from fedspec_suite.laws.law import Law
from fedspec_suite.measure.bench import THRESHOLD, Bench
from fedspec_suite.measure.cases import server_scenarios
from fedspec_suite.measure.scenario import Scenario, with_hyper
from fedspec_suite.measure.setting import Setting

FAR = 2.0**10
"""Beyond all honest changes, and near enough that these still show in a sum."""


def _rounds(s: Scenario) -> list[Messages]:
    return [e for e in s.events if isinstance(e, Messages)]


def _changes(e: Messages) -> Array:
    return np.array([flatten(m.delta) for m in e.messages]).astype(float)


def _kept(s: Scenario, e: Messages) -> int:
    return min(int(s.case.hyper.get("keep", 1)), len(e.messages))


def _counted(s: Scenario, e: Messages) -> int:
    """How many others count."""
    one_more = s.case.options["neighbours"] == "n-f-1"
    return max(1, len(e.messages) - int(s.case.hyper["f"]) - (1 if one_more else 2))


def _weights(s: Scenario, e: Messages) -> Array:
    weighed = s.case.options.get("weights") == "examples"
    return np.array([float(m.weight) if weighed else 1.0 for m in e.messages])


def _moves(bench: Bench, s: Scenario) -> list[tuple[Messages, Array, Array]]:
    """Of each round the messages, the model before and the model after it, as the subject has them."""
    before, found = flatten(s.case.x0).astype(float), []
    for e, got in zip(_rounds(s), bench.play(s), strict=True):
        found.append((e, before, got["x"].astype(float)))
        before = found[-1][2]
    return found


def _slack(s: Scenario, e: Messages, before: Array, x: Array) -> Array:
    """What rounding may add to a model: it is a sum of a model and of a change that was a difference of models."""
    size = np.abs(_changes(e)).max(axis=0) * s.case.hyper.get("eta", 1.0)
    allowed: Array = THRESHOLD * float(np.finfo(s.case.dtype).eps) * (2 * np.abs(before) + np.abs(x) + 2 * size)
    return allowed


def _some(setting: Setting) -> st.SearchStrategy[Scenario]:
    return server_scenarios(setting, rounds=(1, 3))


def _taken(bench: Bench, s: Scenario) -> None:
    for k, (e, before, x) in enumerate(_moves(bench, s)):
        deltas, weights = _changes(e), _weights(s, e)
        means = [
            before + s.case.hyper.get("eta", 1.0) * weights[[*some]] @ deltas[[*some]] / weights[[*some]].sum()
            for some in combinations(range(len(deltas)), _kept(s, e))
        ]
        allowed = _slack(s, e, before, x)
        nearest = min(means, key=lambda mean: float((np.abs(x - mean) - allowed).max()))
        note = f"it is no mean of {_kept(s, e)} of the {len(deltas)} changes"
        refuse(bench, "x", k, np.abs(x - nearest) > allowed, x, nearest, note)


@st.composite
def _attacked(draw: st.DrawFn, setting: Setting) -> tuple[Scenario, list[list[int]]]:
    """Rounds of n > 2 f + 2 messages, f of which say what they have agreed on."""
    s: Scenario = draw(server_scenarios(setting, rounds=(1, 2), clients=(5, 7)))
    f = min(int(s.case.hyper["f"]), 1) if "f" not in setting.fixed else int(s.case.hyper["f"])
    s = with_hyper(s, f=f)
    if "keep" in s.case.hyper:
        s = with_hyper(s, keep=min(int(s.case.hyper["keep"]), 5 - f))
    events, liars = [], []
    for e in _rounds(s):
        who = draw(st.permutations(range(len(e.messages))))[:f]
        far = draw(st.sampled_from((1.0, FAR)))
        said = {n: (a * far).astype(setting.dtype) for n, a in e.messages[draw(st.sampled_from((0, -1)))].delta.items()}
        events.append(Messages(tuple(replace(m, delta=said) if i in who else m for i, m in enumerate(e.messages))))
        liars.append(who)
    return replace(s, events=tuple(events)), liars


def _near_others(bench: Bench, drawn: tuple[Scenario, list[list[int]]]) -> None:
    s, liars = drawn
    f, eta = int(s.case.hyper["f"]), s.case.hyper.get("eta", 1.0)
    for k, ((e, before, x), who) in enumerate(zip(_moves(bench, s), liars, strict=True)):
        honest = np.delete(_changes(e), who, axis=0)
        R = max((float(np.linalg.norm(a - b)) for a, b in combinations(honest, 2)), default=0.0)
        N = _counted(s, e)
        share = N / (N - f + 1)
        reach = eta * R * (share if s.case.options["distance"] == "plain" else sqrt(share))
        ends = before + eta * honest
        allowed = _slack(s, e, before, x)
        note = f"{len(who)} of {len(e.messages)} messages move it away from all others"
        if _kept(s, e) == 1:
            nearest = min(ends, key=lambda end: float(np.linalg.norm(x - end)))
            far = float(np.linalg.norm(x - nearest)) > reach + float(np.linalg.norm(allowed))
            refuse(bench, "x", k, np.full(x.shape, far), x, nearest, note)
        else:
            # Each of those that are kept is as near to an honest one, so their mean is as near to the honest range.
            low, high = ends.min(axis=0) - reach - allowed, ends.max(axis=0) + reach + allowed
            refuse(bench, "x", k, (x < low) | (x > high), x, np.clip(x, low, high), note)


@st.composite
def _agreed(draw: st.DrawFn, setting: Setting) -> Scenario:
    """Rounds in which all honest clients send the same."""
    s, liars = draw(_attacked(setting))
    events = []
    for e, who in zip(_rounds(s), liars, strict=True):
        one = next(m.delta for i, m in enumerate(e.messages) if i not in who)
        size = flatten(one).size
        far = unflatten(np.full(size, draw(st.sampled_from((-FAR, 0.125, FAR)))).astype(setting.dtype), one)
        events.append(Messages(tuple(replace(m, delta=far if i in who else one) for i, m in enumerate(e.messages))))
    return replace(s, events=tuple(events))


def _as_agreed(bench: Bench, s: Scenario) -> None:
    for k, (e, before, x) in enumerate(_moves(bench, s)):
        rows, counts = np.unique(_changes(e), axis=0, return_counts=True)
        want = before + s.case.hyper.get("eta", 1.0) * rows[int(np.argmax(counts))]
        note = "it is not what all others send"
        refuse(bench, "x", k, np.abs(x - want) > _slack(s, e, before, x), x, want, note)


ELECTING = fact(Fact.ELECTING)
LAWS = (
    Law(
        id="some-of-them",
        words="the move is the mean of as many changes as are kept, times the server's rate",
        levels=("server",),
        source="external: Blanchard et al. (2017): Krum's result is one of its inputs",
        cases=_some,
        check=_taken,
        applies=ELECTING,
    ),
    Law(
        id="near-others",
        words="where f of n > 2 f + 2 may be anything, what is kept is as near to another as R sqrt(N / (N - f + 1))",
        levels=("server",),
        source="an honest score is N R^2 at most, and N - f + 1 honest ones are among the N nearest to a liar",
        cases=_attacked,
        check=_near_others,
        applies=ELECTING,
        needs=("f",),
    ),
    Law(
        id="agreed",
        words="where all but f of n > 2 f + 2 send the same change, that is the move",
        levels=("server",),
        source="the score of each of them is 0",
        cases=_agreed,
        check=_as_agreed,
        applies=ELECTING,
        needs=("f",),
    ),
)
