"""Values of a rule that the subject shows itself: nothing has to be solved for, and a rule may run once a client."""

from __future__ import annotations

import ast
import functools
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from fedspec.arith import Array
from fedspec.contract import Exchange
from fedspec.params import layers, shapes
from fedspec.rules import equations
from fedspec_suite.diagnosis.defects.defect import with_x
from fedspec_suite.diagnosis.defects.limits import MEAN
from fedspec_suite.diagnosis.edits.in_edits import programs_values
from fedspec_suite.diagnosis.edits.memory import Memory
from fedspec_suite.diagnosis.variants import CANNOT
from fedspec_suite.diagnosis.written.box import Box, rows
from fedspec_suite.diagnosis.written.plays import Play, alone, generic_cases, taken
from fedspec_suite.diagnosis.written.replay import (
    Opened,
    as_shown,
    at_hand_values,
    code_of,
    in_place_of,
    own_values,
    recording,
    unread_in,
)
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.setting import Setting

NEAR = 1e-9
"""Largest relative error of a shown value."""

Found = tuple[Array, dict[str, Array]]
"""A value that a rule must have made, and the numbers at hand."""


def runs(bench: Bench, setting: Setting) -> list[Play]:
    """Return the subject's runs in generic cases; of exchanges with one local step first, since only the last shows."""
    cases = generic_cases(setting)
    ones = [alone(setting, s, 1) for s in cases if all(isinstance(e, Exchange) for e in s.events)]
    return [*taken(bench, filter(None, ones)), *taken(bench, cases)]


def shown_values(box: Box, plays: Sequence[Play], options: Mapping[str, str]) -> Opened | None:
    """Return what a rule must have made, as the subject shows it; None if it does not show what the rule makes.

    Args:
        box: the rule.
        plays: the subject's runs, with the intermediates that it shows.
        options: the options of the claim.
    """
    if not plays or not isinstance(box.end, ast.Name):
        return None
    tails = {e.id.rpartition(".")[2] for e in equations(box.function, options)}
    names = [n for n in sorted(tails) if n != "x" and all(n in a for a in plays[0].answers[:1])]
    name = next((n for n in names if _is_of(box, n, plays[0])), "")
    found: list[Found] = []
    for play in plays if name else ():
        try:
            found += _events(box, name, play)
        except (KeyError, *CANNOT):
            continue
    if not found:
        return None
    want = np.concatenate([w for w, _ in found])
    there = [n for n in found[0][1] if all(n in values for _, values in found)]
    values = {n: np.concatenate([v[n] for _, v in found]) for n in there}
    return Opened(box, box.model, want, NEAR * (np.abs(want) + 1e-3), values)


def _is_of(box: Box, name: str, play: Play) -> bool:
    """True if the claimed rule's results are what the specification shows under a name."""
    made: list[Any] = []

    def rule(*given: Any, **named: Any) -> Any:
        made.append(box.function(*given, **named))
        return made[-1]

    session = play.session(in_place_of(box, functools.wraps(box.function)(rule), {}))
    for event in play.s.events:
        made.clear()
        try:
            answer = session.step(event)
        except CANNOT:
            return False
        if not made or name not in answer:
            return False
        got = np.concatenate([np.asarray(v, float).reshape(-1) for v in made])
        shown = np.asarray(answer[name], float)
        there = [*getattr(event, "participants", ())]
        # What is kept of every client is shown of those that take part.
        whole = shown.ndim > 1 and len(shown) > max(there, default=len(shown))
        if not any(np.array_equal(got, v.reshape(-1)) for v in (shown, *([shown[there]] if whole else []))):
            return False
    return True


def _events(box: Box, name: str, play: Play) -> Iterator[Found]:
    """The values of each call, in a run of the claimed rule that goes on with what the subject shows."""
    signature = inspect.signature(inspect.unwrap(box.function))
    unread = unread_in(signature, play)
    space: dict[str, Any] = {}
    codes = {n: code_of(v) for n, v in box.made.items()}
    kept = Memory(hyper={**play.s.case.hyper}, blocks=[*layers(shapes(play.s.case.x0))])
    calls: list[Callable[[], Found]] = []
    left: list[Array] = []

    @functools.wraps(box.function)
    def rule(*given: Any, **named: Any) -> Any:
        bound = signature.bind(*given, **named)
        bound.apply_defaults()
        env, program = dict(bound.arguments), programs_values(sys._getframe())
        for n, code in codes.items():
            env[n] = eval(code, space, env)
        plain = np.asarray(env[box.model], float)
        if len(left[0]) < plain.size:
            raise KeyError("fewer numbers are shown than the rule makes")
        x, left[0] = np.atleast_1d(left[0][: plain.size].reshape(plain.shape)), left[0][plain.size :]
        known = {n: v for n, v in env.items() if n != box.model}
        at_hand = functools.partial(at_hand_values, box, box.model, kept, space, known, program, unread, x)
        own = own_values(box, space, known, unread, x)
        calls.append(lambda: (rows(x, x), {**own, **at_hand(), **own}))
        return float(x[0]) if not plain.ndim else x

    session = play.session({**in_place_of(box, rule, space), MEAN: recording(kept)})
    for kept.number, (event, answer) in enumerate(zip(play.s.events, play.answers, strict=False), 1):
        calls.clear()
        left[:] = [_of_participants(np.asarray(answer[name], float), event, play, answer["x"].size)]
        kept.state, kept.averaged = session.state, ()
        kept.steps = [*getattr(event, "messages", ())] or [*getattr(event, "participants", (0,))]
        session.step(event)
        if len(left[0]):
            raise KeyError("more numbers are shown than the rule makes")
        x = np.asarray(answer["x"], float)
        kept.made = x
        yield from [call() for call in calls]
        session.state = as_shown(with_x(session.state, _like(session.state, x)), answer)


def _of_participants(shown: Array, event: Any, play: Play, d: int) -> Array:
    """The numbers of those that take part, of what is shown of every client or of them."""
    clients = len(play.s.case.problem.e) if play.s.case.problem else 0
    there = [*getattr(event, "participants", ())]
    return (
        shown.reshape(clients, d)[there].reshape(-1) if there and clients > 1 and shown.size == clients * d else shown
    )


def _like(state: Any, x: Array) -> Array:
    """The model in the shape in which a state has it."""
    mine = getattr(state, "X", None)
    return x.reshape(mine.shape) if mine is not None and np.size(mine) == x.size else x
