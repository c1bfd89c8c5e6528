"""Plays of a subject with generic numbers, and the values that one open equation must have had in them."""

from __future__ import annotations

import ast
import copy
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fedspec import arith
from fedspec.arith import Array
from fedspec.contract import Messages
from fedspec.domains import COUNTS, DECAY, DOMAINS, NONNEGATIVE, POSITIVE
from fedspec_suite.diagnosis.edits.memory import Memory
from fedspec_suite.diagnosis.variants import CANNOT, session_with
from fedspec_suite.diagnosis.written.box import Box, read_in, rows, solved
from fedspec_suite.diagnosis.written.history import ASKED, texts_of
from fedspec_suite.measure.bench import Bench, Shown
from fedspec_suite.measure.call_graph import Spaces
from fedspec_suite.measure.cases import scenarios
from fedspec_suite.measure.scenario import Scenario, change_events, with_hyper
from fedspec_suite.measure.seeded_draws import draw_cases
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.verdict import Beyond, Deviates, Undecided

REFUSED = (*CANNOT, Beyond, Deviates, Undecided)
"""Exceptions of a subject that does not take a case, or answers in no shape that can be read."""

CASES = 10
"""Number of cases that are played."""

WHOLE: dict[str, Callable[[Array], Any]] = {
    "norm({})": np.linalg.norm,
    "mean({} ** 2)": lambda v: np.mean(v**2),
    "mean(abs({}))": lambda v: np.mean(np.abs(v)),
}
"""Numbers that a whole vector has."""

NUDGE = 4e-16
"""Relative move of the models by which the search measures how precisely they determine a value."""


def generic_cases(setting: Setting) -> list[Scenario]:
    """Cases with numbers that have nothing to do with one another: what agrees in them is the same formula."""
    dice = np.random.default_rng(0)
    few = {"steps": (4, 5), "rounds": (1, 1)} if setting.level == "client" else {"rounds": (4, 5)}
    drawn = draw_cases(scenarios(setting, **few), 8 * CASES, seed=5)
    drawn = sorted(drawn, key=lambda s: -sum(a.size for a in s.case.x0.values()))[:CASES]
    return [_generic(setting, s, dice) for s in drawn]


def _generic(setting: Setting, s: Scenario, dice: np.random.Generator) -> Scenario:
    size = float(dice.choice((0.3, 1.0, 3.0)))

    def fresh(a: Array) -> Array:
        return np.asarray(size * dice.normal(size=a.shape), a.dtype)

    told = {n: v for n, v in s.case.hyper.items() if n not in setting.fixed and n not in COUNTS}
    for n in told:
        domain = DOMAINS[n].domain
        if domain is DECAY:
            told[n] = float(dice.uniform(0.1, 0.95))
        elif domain is NONNEGATIVE:
            told[n] = float(10 ** dice.uniform(-1.5, 0))
        elif domain is POSITIVE and n not in ("phi_m", "phi_M"):
            told[n] = float(dice.uniform(0.2, 1.3))
    if "v0" in told and "tau" in told:
        told["v0"] = told["tau"] ** 2 * (1.0 if setting.v0_is_tau_squared else float(dice.uniform(1, 2)))
    s = with_hyper(change_events(s, fresh, fresh), **told)
    events = (replace(e, hyper={}) if isinstance(e, Messages) else e for e in s.events)
    return replace(s, events=tuple(events))


def of_models(bench: Bench) -> Bench:
    """The bench of an offer that shows models alone."""
    return replace(bench, offer=replace(bench.offer, intermediates=()))


def played(bench: Bench, cases: Sequence[Scenario]) -> list[tuple[Scenario, list[Shown]]]:
    """The cases that the subject plays, with its models."""
    models, found = of_models(bench), []
    for s in cases:
        try:
            found.append((s, models.play(copy.deepcopy(s))))
        except REFUSED:
            continue
    return found


@dataclass(frozen=True)
class Opened:
    """Values of everything beside one name, coordinate by coordinate in all events of all cases.

    Attributes:
        box: the rule.
        name: the name that is open.
        want: what it must have been; nan where the models do not tell.
        slack: how far off that may be for rounding.
        values: the other numbers.
    """

    box: Box
    name: str
    want: Array
    slack: Array
    values: Mapping[str, Array]


def opened(box: Box, name: str, plays: Sequence[tuple[Scenario, list[Shown]]]) -> Opened | None:
    """Solve a rule for one name; None if nothing solves for it, or the rule is not what makes the model.

    Raises:
        KeyError: nothing solves for it.
    """
    model = box.model_from(name)
    holes = _holes(model, name)
    if len(holes) != 1:
        return None
    want, values = _all(box, name, plays, model, holes[0], 0)
    if not want.size:
        return None
    with np.errstate(all="ignore"):
        apart = [np.abs(_all(box, name, plays, model, holes[0], k)[0] - want) for k in (1, 2, 3)]
        slack = 100 * np.max(apart, axis=0) + 1e-11 * np.abs(want)
    clear = slack <= 1e-6 * np.abs(want) + 1e-8
    return Opened(box, name, np.where(clear, want, np.nan), slack, values)


def _holes(model: ast.expr, name: str) -> list[ast.expr]:
    """The places where an expression reads a name."""
    return [n for n in ast.walk(model) if isinstance(n, ast.Name) and n.id == name]


def _all(
    box: Box, name: str, plays: Sequence[tuple[Scenario, list[Shown]]], model: Any, hole: Any, seed: int
) -> tuple[Array, dict[str, Array]]:
    dice = np.random.default_rng(seed)
    wants: list[Array] = []
    found: dict[str, list[Array]] = {}
    for s, answers in plays:
        for want, values in _events(box, name, s, answers, model, hole, dice if seed else None):
            wants.append(want)
            for n, v in values.items():
                found.setdefault(n, []).append(v)
    if not wants:
        return np.zeros(0), {}
    return np.concatenate(wants), {n: np.concatenate(v) for n, v in found.items() if len(v) == len(wants)}


def _events(
    box: Box, name: str, s: Scenario, answers: Sequence[Shown], model: Any, hole: Any, dice: Any
) -> Iterator[tuple[Array, dict[str, Array]]]:
    """The value of the open name in each event of a case, with those of all others."""
    signature = inspect.signature(inspect.unwrap(box.function))
    rest = box.resting_on(name)
    space: dict[str, Any] = {}
    codes = {n: _code(v) for n, v in box.made.items()}
    atoms = {a: compile(a, "<leaf>", "eval") for a in read_in([*box.made.values()]) if not a.isidentifier()}
    end = _code(box.end)
    between = {n: (m, h[0]) for n in rest - {name, box.model} if len(h := _holes(m := box.model_from(n), n)) == 1}
    calls: list[tuple[Array, dict[str, Array]]] = []
    now: list[Array] = []
    kept = Memory()

    @functools.wraps(box.function)
    def rule(*given: Any, **named: Any) -> Any:
        bound = signature.bind(*given, **named)
        bound.apply_defaults()
        env = dict(bound.arguments)
        x = now[0]
        for n in box.made:
            if n not in rest:
                env[n] = eval(codes[n], space, env)
        values = {n: rows(v, x) for n, v in env.items() if _is_number(v) and np.ndim(v) <= 1}
        asked = {text: (ASKED[f], eval(of, space, env) if of else None) for text, (f, of) in texts_of(env).items()}
        values |= {a: rows(f(kept) if of is None else f(kept, of), x) for a, (f, of) in asked.items()}
        for n in [n for n, v in env.items() if isinstance(v, np.ndarray) and v.ndim == 1]:
            values |= {a.format(n): rows(f(env[n]), x) for a, f in WHOLE.items()}
        for a, code in atoms.items():
            try:
                values[a] = rows(eval(code, space, env), x)
            except (*CANNOT, KeyError):
                continue
        want = solved(model, hole, x, values)
        env[name] = want
        for n in box.made:
            if n in rest and n != name:
                env[n] = x if n == box.model else eval(codes[n], space, env)
                if n in between and np.isnan(env[n]).any():
                    # What the open one hides, such as the loser of a maximum, may be told by the model.
                    env[n] = np.where(np.isnan(env[n]), solved(*between[n], x, values), env[n])
        if box.model == name:
            env[name] = x
        calls.append((rows(want, x), values))
        return eval(end, space, env)

    def in_place(names: Spaces) -> Any:
        inner = inspect.unwrap(box.function)
        space.update({n: getattr(arith, n) for n in arith.__all__}, **names.get(inner.__module__, inner.__globals__))
        return rule

    session = session_with(s.case, {box.function: in_place})
    for kept.number, (event, answer) in enumerate(zip(s.events, answers, strict=False), 1):
        x = np.asarray(answer["x"], dtype=float)
        now[:] = [x if dice is None else x * (1 + NUDGE * dice.normal(size=x.shape))]
        before = len(calls)
        shown = session.step(event)
        got = np.concatenate([np.asarray(a, float).reshape(-1) for a in _flat(shown["x"])])
        same = len(calls) - before == 1 and np.array_equal(got, now[0], equal_nan=True)
        if len(calls) > before and not same:
            raise KeyError("the rule is not what makes the model")
    yield from calls


def _flat(x: Any) -> list[Any]:
    return [*x.values()] if isinstance(x, Mapping) else [x]


def _is_number(v: Any) -> bool:
    return isinstance(v, int | float | np.ndarray | np.number) and not isinstance(v, bool)


def _code(node: Any) -> Any:
    return compile(ast.fix_missing_locations(ast.Expression(node)), "<rule>", "eval")
