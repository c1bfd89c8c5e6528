"""Values that one unknown equation must have had in the runs of a subject."""

from __future__ import annotations

import ast
import functools
import inspect
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np

from fedspec import arith
from fedspec.arith import Array, largest, norm, total
from fedspec.contract import Event
from fedspec.domains import REAL, resting
from fedspec.params import layers, shapes
from fedspec.rules import printed
from fedspec_suite.diagnosis.defects.limits import MEAN
from fedspec_suite.diagnosis.edits.in_edits import (
    as_set,
    at_hand,
    event_number,
    mean_change,
    new_model,
    of_event_before,
    of_state,
    programs_values,
)
from fedspec_suite.diagnosis.edits.memory import Memory
from fedspec_suite.diagnosis.edits.of_arrays import each_of
from fedspec_suite.diagnosis.variants import CANNOT
from fedspec_suite.diagnosis.written.box import OWN_SHARE, Box, read_in, rows, solved
from fedspec_suite.diagnosis.written.plays import Play
from fedspec_suite.measure.call_graph import Spaces
from fedspec_suite.measure.function_copies import Edits
from fedspec_suite.measure.reaching import Undetermined, flat_model, reach, reach_together, slope_of

WHOLE: dict[str, Callable[[Array], Any]] = {
    "norm({})": np.linalg.norm,
    "largest(abs({}))": lambda v: np.max(np.abs(v)),
    "total(abs({}))": lambda v: np.sum(np.abs(v)),
    "mean({} ** 2)": lambda v: np.mean(v**2),
    "mean(abs({}))": lambda v: np.mean(np.abs(v)),
}
"""Functions from a whole vector to one number."""

NUDGE = 4e-16
"""Relative perturbation of the models, which shows how precisely they determine a value."""


def x_0(kept: Memory, x: Any) -> Any:
    """Return the model with which the session began."""
    return kept.left.setdefault(("x_0",), x)


def old(kept: Memory, v: Any) -> Any:
    """Return an input's value in the event before; zero in the first event."""
    return of_event_before(kept, "input", v)


def participants(kept: Memory) -> int:
    """Return the number of clients of the present event."""
    return len(kept.steps)


def client_squares(kept: Memory) -> Any:
    """Return the weighted mean of the clients' squared changes in the present event."""
    sent, p, mean = kept.averaged
    return mean(sent**2, p)


def rows_mean(kept: Memory, v: Array) -> Array:
    """Return the mean of a stack's rows, for each client."""
    return np.broadcast_to(v.sum(axis=0) / len(v), v.shape)


def _over_blocks(of: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda kept, v: each_of(kept.blocks, of, v)


ASKED: Mapping[str, Callable[..., Any]] = {
    **{"event_number": event_number, "x_0": x_0, "old": old},
    **{"participants": participants, "of_state": of_state, "as_set": as_set, "at_hand": at_hand},
    **{"rows_mean": rows_mean, "new_model": new_model, "mean_change": mean_change},
    "client_squares": client_squares,
    **{"block_sum": _over_blocks(total), "block_max": _over_blocks(largest)},
    "block_norms": lambda kept, v: sum(norm(v[b]) for b in kept.blocks),
    "block_mean": _over_blocks(lambda v: total(v) / v.shape[-1]),
}
"""Functions by which an edited rule reads its session's record."""


def texts_of(arguments: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """Return the calls of these functions that suit a rule's arguments, by text: function and argument.

    Args:
        arguments: the arguments of a rule.
    """
    model = "state.x" if "state" in arguments else "X" if "X" in arguments else "x"
    inputs = [n for n in ("delta", "g", "G") if n in arguments]
    found = {f"x_0({model})": ("x_0", model)} if model.partition(".")[0] in arguments else {}
    found |= {f"old({n})": ("old", n) for n in inputs}
    # A stack G of all clients' gradients has blocks in each row.
    vectors = [n for n in inputs if n != "G"]
    found |= {f"{f}({n} ** 2)": (f, f"{n} ** 2") for n in vectors for f in ("block_sum", "block_mean", "block_max")}
    found |= {f"block_norms({n})": ("block_norms", n) for n in vectors}
    if "delta" in arguments:
        found |= {"participants()": ("participants", ""), "client_squares()": ("client_squares", "")}
    return (
        found
        if "t" in arguments or hasattr(arguments.get("state"), "t")
        else {**found, "event_number()": ("event_number", "")}
    )


def vectors(state: Any, path: str = "") -> Iterator[tuple[str, Array]]:
    """Yield the path and the value of each array in a state, those of records in it too."""
    for field in fields(state) if is_dataclass(state) else ():
        value, at = getattr(state, field.name), f"{path}{field.name}"
        if isinstance(value, np.ndarray):
            yield at, value
        else:
            yield from vectors(value, f"{at}.")


def asked(
    kept: Memory, space: dict[str, Any], env: Mapping[str, Any], names: Collection[str] = ASKED
) -> dict[str, Any]:
    """Return the values of these calls for a rule's arguments ``env``, by text, as far as the record has them."""
    texts = {a: (f, of) for a, (f, of) in texts_of(env).items() if f in names}
    there = {a: (f, of) for a, (f, of) in texts.items() if f != "client_squares" or kept.averaged}
    return {a: ASKED[f](kept, *([eval(of, space, {**env})] if of else [])) for a, (f, of) in there.items()}


@dataclass(frozen=True)
class Opened:
    """Required values of one unknown name, and the values of all others, per coordinate, event and case.

    Attributes:
        box: the rule.
        name: the name that is open.
        want: the required values; NaN if the models do not determine them.
        slack: rounding tolerance of each required value.
        values: the other numbers.
    """

    box: Box
    name: str
    want: Array
    slack: Array
    values: Mapping[str, Array]


def opened(box: Box, name: str, plays: Sequence[Play]) -> Opened | None:
    """Solve a rule for one name in all runs; None if the name occurs more than once in the model or no run decides.

    Raises:
        KeyError: nothing solves for it.
    """
    model = box.model_from(name)
    at = holes(model, name)
    if len(at) != 1:
        return None
    with np.errstate(all="ignore"):
        slopes: dict[tuple[int, int], Array] = {}
        first, *others = [_all(box, name, plays, model, at[0], seed, slopes) for seed in range(4)]
        # A secant may end beside one model and not beside another that rounding tells from it.
        there = [event for event in first if all(event in other for other in others)]
        if not there:
            return None
        want, *moved = [np.concatenate([turn[event][0] for event in there]) for turn in (first, *others)]
        named = [n for n in first[there[0]][1] if all(n in first[event][1] for event in there)]
        values = {n: np.concatenate([first[event][1][n] for event in there]) for n in named}
        apart = [np.abs(other - want) for other in moved]
    return solved_for(box, name, want, apart, values)


def solved_for(box: Box, name: str, want: Array, apart: Sequence[Array], values: Mapping[str, Array]) -> Opened:
    """Return what a name must have been, where models that are perturbed by rounding give nearly the same.

    Args:
        box: the rule.
        name: the name that is open.
        want: the required values.
        apart: for each perturbation, the distance of its solution from ``want``.
        values: the other numbers.
    """
    with np.errstate(all="ignore"):
        slack = 100 * np.max(apart, axis=0) + 1e-11 * np.abs(want)
        clear = slack <= 1e-6 * np.abs(want) + 1e-8
    return Opened(box, name, np.where(clear, want, np.nan), slack, values)


def in_place_of(box: Box, rule: Callable[..., Any], space: dict[str, Any]) -> Edits:
    """Put a function in the place of a rule, and the names that the rule's text reads into ``space``."""

    def in_place(names: Spaces) -> Any:
        inner = inspect.unwrap(box.function)
        space.update({n: getattr(arith, n) for n in arith.__all__}, **names.get(inner.__module__, inner.__globals__))
        return rule

    return {box.function: in_place}


def recording(kept: Memory) -> Callable[[Spaces], Any]:
    """Put a function in the place of the weighted mean that records what it averages."""

    def in_place(names: Spaces) -> Any:
        def mean(sent: Any, p: Any) -> Any:
            kept.averaged = sent, p, MEAN
            return MEAN(sent, p)

        return mean

    return in_place


def holes(model: ast.expr, name: str) -> list[ast.expr]:
    """Return the places where an expression reads a name."""
    return [n for n in ast.walk(model) if isinstance(n, ast.Name) and n.id == name]


def _all(
    box: Box,
    name: str,
    plays: Sequence[Play],
    model: Any,
    hole: Any,
    seed: int,
    slopes: dict[tuple[int, int], Array],
) -> dict[tuple[int, int], tuple[Array, dict[str, Array]]]:
    """The values of the open name and of all others, by the number of the play and of the event in it.

    How the model changes by what the rule makes is measured once for an event, and kept in ``slopes`` by the play.
    """
    dice = np.random.default_rng(seed) if seed else None
    return {
        (k, n): one for k, play in enumerate(plays) for n, one in _events(box, name, play, model, hole, dice, slopes)
    }


def _reached(
    taken: Callable[[Array], Array],
    x: Array,
    made: Array,
    plain: Array,
    slopes: dict[tuple[int, int], Array],
    key: tuple[int, int],
) -> Array:
    """The result that the open rule must have, by coordinate, or where that finds none by all coordinates together.

    Raises:
        KeyError: nothing leads to the model.
        Undetermined: several results do, or enough events are solved.
    """
    if key not in slopes:
        try:
            return reach(taken, x, made, plain)
        except KeyError:
            if not made.ndim:
                raise
        if len(slopes) >= MEASURED:
            raise Undetermined("enough events are solved")
        slopes[key] = slope_of(taken, made, plain)
    return reach_together(taken, x, made, slopes[key])


def unread_in(signature: inspect.Signature, play: Play) -> set[str]:
    """Return hyper-parameters that the claimed reading doesn't have, which keep their defaults."""
    optional = {n for n, p in signature.parameters.items() if p.default is not p.empty}
    return optional - play.s.case.hyper.keys()


@functools.lru_cache(maxsize=256)
def _atoms(box: Box) -> Mapping[str, Any]:
    """Code of what a rule reads, beside names."""
    return {a: compile(a, "<leaf>", "eval") for a in read_in([*box.made.values()]) if not a.isidentifier()}


def own_values(
    box: Box, space: dict[str, Any], env: Mapping[str, Any], unread: Collection[str], x: Array
) -> dict[str, Array]:
    """Return the numbers that a rule reads or makes, by text.

    Args:
        box: the rule.
        space: the names of its module.
        env: numbers that it is given or makes.
        unread: hyper-parameters that the claimed reading doesn't have.
        x: its result, in its shape.
    """
    known = {n: v for n, v in env.items() if n not in unread}
    values = {n: rows(v, x) for n, v in known.items() if is_number(v) and np.shape(v) in {(), x.shape}}
    for a, code in _atoms(box).items():
        try:
            values[a] = rows(eval(code, space, {**env}), x)
        except (*CANNOT, KeyError):
            continue
    return values


@functools.lru_cache(maxsize=256)
def _symbols(box: Box) -> set[str]:
    """Words of a rule's printed equations, each of which means something there."""
    return {word for e in printed(box.function) for word in re.findall(r"\w+", e.text)}


def at_hand_values(
    box: Box,
    name: str,
    kept: Memory,
    space: dict[str, Any],
    env: Mapping[str, Any],
    program: Mapping[str, Any],
    unread: Collection[str],
    x: Array,
) -> dict[str, Array]:
    """Return the numbers that another right side may read beside what the claimed one does, by text.

    Args:
        box: the rule.
        name: the name whose right side it is.
        kept: the session's record.
        space: the names of the rule's module.
        env: numbers that the rule is given or makes.
        program: values of the algorithm where it calls the rule, by name.
        unread: hyper-parameters that the claimed reading doesn't have.
        x: the result of the rule, in its shape.
    """
    values = {a: rows(v, x) for a, v in asked(kept, space, env).items()}
    for n in [n for n, v in env.items() if isinstance(v, np.ndarray) and v.ndim == 1]:
        values |= {a.format(n): rows(f(env[n]), x) for a, f in WHOLE.items()}
    values |= {f"as_set({n!r})": rows(v, x) for n, v in kept.hyper.items() if n not in env}
    # A name that the rule's equation has for something else would be read as that.
    there = {n: v for n, v in program.items() if n not in env and n not in _symbols(box) - {"W"} and is_number(v)}
    values |= {f"at_hand({n!r})": rows(v, x) for n, v in there.items() if np.shape(v) in {(), x.shape}}
    values |= {f"of_state({path!r})": rows(v, x) for path, v in vectors(kept.state) if v.shape == x.shape}
    if kept.made is not None and kept.made.shape == x.shape:
        # Who keeps something for the next event may know what this one comes to.
        values["new_model()"] = kept.made
        values |= {"mean_change()": rows(mean_change(kept), x)} if kept.averaged else {}
    if x.ndim < 2:
        return values
    stacks = {n: v for n, v in env.items() if n not in {"W", *unread} and is_number(v) and np.shape(v) == x.shape}
    values |= {f"rows_mean({n})": rows(rows_mean(kept, v), x) for n, v in stacks.items()}
    for W, mixing in (("W", env.get("W")), ("at_hand('W')", there.get("W"))):
        if isinstance(mixing, np.ndarray):
            mixed = {**stacks, ast.unparse(box.made[name]): eval(code_of(box.made[name]), space, {**env})}
            values |= {_mixed(W, n): rows(mixing @ v, x) for n, v in mixed.items() if np.shape(v) == x.shape}
            values |= {_mixed(W, _mixed(W, n)): rows(mixing @ mixing @ v, x) for n, v in stacks.items()}
    if isinstance(env.get("W"), np.ndarray):
        values[OWN_SHARE] = rows(env["W"].diagonal()[:, None], x)
    return values


def _events(
    box: Box, name: str, play: Play, model: Any, hole: Any, dice: Any, slopes: dict[tuple[int, int], Array]
) -> Iterator[tuple[int, tuple[Array, dict[str, Array]]]]:
    """The number of each event of a case in which a rule can be solved, with the value of the open name and others."""
    signature = inspect.signature(inspect.unwrap(box.function))
    rest = box.resting_on(name)
    unread = unread_in(signature, play)
    space: dict[str, Any] = {}
    codes = {n: code_of(v) for n, v in box.made.items()}
    end = code_of(box.end)
    between = {n: (m, h[0]) for n in rest - {name, box.model} if len(h := holes(m := box.model_from(n), n)) == 1}
    calls: list[Callable[[], tuple[Array, dict[str, Array]]]] = []
    made: list[Any] = []
    shape: list[tuple[int, ...]] = [()]
    now: list[Array | None] = [None]
    averaged: list[tuple[Any, ...]] = [()]
    kept = Memory(hyper={**play.s.case.hyper}, blocks=[*layers(shapes(play.s.case.x0))])

    @functools.wraps(box.function)
    def rule(*given: Any, **named: Any) -> Any:
        bound = signature.bind(*given, **named)
        bound.apply_defaults()
        env = dict(bound.arguments)
        made.append(None)
        x = now[0] if len(made) == last[0] else None
        for n in box.made:
            if n not in rest or x is None:
                env[n] = eval(codes[n], space, env)
        if x is None:
            made[-1] = env[box.model]
            return eval(end, space, env)
        lone = x.ndim == 0
        # A stack of models has the shape that the claimed rule gives it.
        x = np.atleast_1d(x).reshape(shape[0] or (-1,))
        values = own_values(box, space, env, unread, x)
        told, there = dict(env), programs_values(sys._getframe())

        def solve(expression: ast.expr, at: ast.expr) -> Array:
            return np.broadcast_to(solved(expression, at, x.reshape(-1), values), x.size).reshape(x.shape)

        want = solve(model, hole)
        env[name] = want
        for n in box.made:
            if n in rest and n != name:
                env[n] = x if n == box.model else eval(codes[n], space, env)
                if n in between and np.isnan(env[n]).any():
                    # What the open one hides, such as the loser of a maximum, may be told by the model.
                    env[n] = np.where(np.isnan(env[n]), solve(*between[n]), env[n])
        if box.model == name:
            env[name] = x
        at_hand = functools.partial(at_hand_values, box, name, kept, space, told, there, unread, x)
        calls[:] = [lambda: (rows(want, x), {**values, **at_hand(), **values})]
        found = eval(end, space, env)
        return float(found[0]) if lone else found

    last, is_model, acts, unseen = [0], False, False, False
    session = play.session({**in_place_of(box, rule, space), MEAN: recording(kept)})
    played = [*zip(play.s.events, play.answers, strict=False)]
    for kept.number, (event, answer) in enumerate(played, 1):
        before, kept.averaged = {**vars(session)}, ()

        def taken(y: Array | None, then: Sequence[Any] = (), event: Any = event, before: Any = before) -> Array:
            """The model after the event, and some more, if the open rule makes this in the event; if the claimed."""
            vars(session).update(before)
            now[0] = y
            made.clear()
            with resting(REAL):
                # A subject's own schedule may make a rate negative, or nearly 0 by rounding.
                x, ran, averaged[:] = session.step(event), len(made), [kept.averaged]
                now[0] = None
                for e in then:
                    x = session.step(e)
            del made[ran:]
            return flat_model(x)

        kept.state = before.get("state")
        kept.steps = [*getattr(event, "messages", ())] or [*getattr(event, "participants", (0,))]
        x = _nudged(answer["x"], dice)
        if is_model and np.array_equal(taken(x), x, equal_nan=True) and len(made) == 1:
            yield kept.number, calls[0]()
            continue
        last[0] = 0
        plain = taken(None)
        if not made:
            continue
        last[0] = len(made)
        shape[0] = np.shape(made[-1])
        if len(made) > play.steps or not (shape[0] == () or np.size(made[-1]) == x.size):
            return
        result = np.asarray(made[-1], float)
        result = result.reshape(-1) if result.ndim else result
        is_model = len(made) == 1 and np.array_equal(result, plain, equal_nan=True)
        acts = acts or is_model or not result.ndim or _tells(taken, result, plain)
        then: list[Event] = []
        if not acts:
            # What is kept for the next event is seen in that event's model.
            if not np.allclose(plain, x, rtol=SAME, atol=0):
                if unseen:
                    return
                raise KeyError("the rule is not what makes the model")
            if kept.number == len(played):
                return
            following, next_answer = played[kept.number]
            then = [following]
            x, plain = _nudged(next_answer["x"], dice), taken(None, then)
            if not _tells(functools.partial(taken, then=then), result, plain):
                # A client that sits out then keeps what it made for a later event.
                taken(None)
                unseen = True
                continue
        leading = functools.partial(taken, then=then)

        key = id(play), kept.number
        try:
            y = _reached(leading, x, result, plain, slopes, key)
        except Undetermined:
            return
        except KeyError:
            if then:
                return
            raise
        kept.made, kept.averaged = np.asarray(answer["x"], float).reshape(-1) if then else None, averaged[0]
        found = calls[0]()
        # Of a number that changes nothing, such as the share of an equal model, the model tells nothing.
        tells = y.ndim > 0 or _tells(taken, y, x)
        if then or not y.ndim:
            taken(y)
        if tells:
            yield kept.number, found


MEASURED = 40
"""Largest number of events in which the effect of each coordinate on the model is measured."""

SAME = 1e-6
"""Largest relative change of a model that counts as none."""


def _nudged(x: Any, dice: Any) -> Array:
    """A model, perturbed by rounding if there are dice."""
    model: Array = np.asarray(x, dtype=float)
    return model if dice is None else model * (1 + NUDGE * np.asarray(dice.normal(size=model.shape)))


def _tells(taken: Callable[[Array], Array], y: Array, x: Array) -> bool:
    """True if a model shows what a rule makes: another result than y leads to another model than x."""
    try:
        moved, size = (np.max(v, where=np.isfinite(v), initial=0) for v in (np.abs(taken(y + 1) - x), np.abs(x)))
        return bool(moved > SAME * size)
    except CANNOT:
        # What another result leads out of a domain of shows it.
        return True


def as_shown(state: Any, shown: Mapping[str, Array]) -> Any:
    """Replace the vectors of a state that a subject shows by the subject's."""
    there = {f.name: getattr(state, f.name) for f in fields(state)} if is_dataclass(state) else {}
    own = {n: np.asarray(shown[n], float) for n, v in there.items() if n in shown and np.shape(v) == shown[n].shape}
    return replace(state, **own) if own else state


@functools.cache
def _mixed(W: str, stack: str) -> str:
    """The product of a matrix and a stack, as text."""
    return ast.unparse(ast.parse(f"{W} @ ({stack})"))


def is_number(v: Any) -> bool:
    """Return True for a number or an array of numbers."""
    return isinstance(v, int | float | np.ndarray | np.number) and not isinstance(v, bool)


def code_of(node: Any) -> Any:
    """Compile an expression."""
    return compile(ast.fix_missing_locations(ast.Expression(node)), "<rule>", "eval")
