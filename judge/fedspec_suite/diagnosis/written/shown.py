"""A subject's own equations, each solved on the numbers that the subject shows: several may differ at once.

A quantity that a subject shows beside the model, such as m, v or the mean change, is put into the claimed rule's state
before each event. Each equation is then compared with the quantity that it makes, whatever the other equations do.
"""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice, product
from typing import Any

import numpy as np

from fedspec.arith import Array
from fedspec.params import layers, shapes
from fedspec_suite.diagnosis.comparing import agrees
from fedspec_suite.diagnosis.composed import together
from fedspec_suite.diagnosis.defects.limits import MEAN
from fedspec_suite.diagnosis.edits.memory import Memory
from fedspec_suite.diagnosis.variants import CANNOT, Variant
from fedspec_suite.diagnosis.written.averages import averaged
from fedspec_suite.diagnosis.written.box import Box, boxes, read_in, rows, solved, value_of
from fedspec_suite.diagnosis.written.own_weights import own_weighted
from fedspec_suite.diagnosis.written.plays import Play, generic_cases, taken
from fedspec_suite.diagnosis.written.replay import (
    NUDGE,
    as_shown,
    asked,
    code_of,
    holes,
    in_place_of,
    is_number,
    recording,
    solved_for,
)
from fedspec_suite.diagnosis.written.synthesis import LOOKED, right_sides, rule_with
from fedspec_suite.diagnosis.written.weights import weighted
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.setting import Setting

OF_EVENT = ("client_squares", "block_sum", "block_mean", "block_max", "old")
"""Functions of the present event and of the input before, whose values are leaves."""

TRIED = 3
"""Number of right sides of each equation that are tried together, the smallest first."""


@dataclass(frozen=True)
class Seen:
    """Numbers of a subject's runs, in the places of a rule's names, per coordinate, event and case.

    Attributes:
        made: the quantities that the subject shows, by the name that the rule makes.
        values: ``made``, and all other names that the rule reads or makes.
    """

    made: Mapping[str, Array]
    values: Mapping[str, Array]


@dataclass(frozen=True)
class Own:
    """Equations of a subject that are solved on what it shows.

    Attributes:
        whole: variants that give everything that the subject shows.
        halves: variants that give quantities of a rule from the subject's own inputs of this rule.
    """

    whole: tuple[Variant, ...] = ()
    halves: tuple[Variant, ...] = ()


def several(bench: Bench, setting: Setting, readings: Sequence[Mapping[str, str]] = ()) -> Own:
    """Find the claimed rule with all equations replaced that deviate, and other weights if the mean deviates.

    Args:
        bench: the subject.
        setting: the setting of the claim.
        readings: the options of other readings, whose equations come first.
    """
    if setting.dtype != "float64" or not bench.offer.intermediates:
        return Own()
    plays = [*taken(bench, generic_cases(setting))]
    shown = {"x", *bench.offer.intermediates}
    names = shown.intersection(*({*a} for p in plays for a in p.answers)) if plays else set[str]()
    others_of_mean = (
        chain(averaged(plays, setting), weighted(plays, setting), own_weighted(plays, setting)) if names - {"x"} else ()
    )
    means = [*islice(others_of_mean, TRIED)]
    halves: list[Variant] = []
    others = [other for options in readings for other in boxes(replace(setting, options=options))]
    for box in boxes(setting):
        fields = _fields(box)
        if len(fields.keys() & names) > 1 and (seen := _seen(box, {f: fields[f] for f in fields if f in names}, plays)):
            halves += _replaced(setting, box, seen, [o for o in others if o.function is box.function])
    both = [one for w, v in product(means, halves) if (one := together(setting, w, v))] if means else halves
    agreeing = (v for v in (*means, *both) if all(agrees(v, p.s, [*p.answers], tuple(names)) for p in plays))
    distinct = {v.words: v for v in reversed(halves) if not v.defects}
    return Own(tuple(islice(agreeing, TRIED)), tuple(distinct.values())[::-1][:TRIED])


def _fields(box: Box) -> dict[str, str]:
    """The names that a rule makes, by the field of the state that receives each."""
    found = {k.arg: k.value.id for k in getattr(box.end, "keywords", ()) if isinstance(k.value, ast.Name)}
    return {str(f): n for f, n in found.items() if n in box.made}


def _seen(box: Box, fields: Mapping[str, str], plays: Sequence[Play]) -> Seen | None:
    """Run the claimed rule with the subject's numbers in its state; None if it runs otherwise than once an event."""
    found: list[dict[str, Array]] = []
    for play in plays:
        try:
            found += _events(box, fields, play)
        except (KeyError, *CANNOT):
            continue
    if not found:
        return None
    values = {n: np.concatenate([v[n] for v in found]) for n in found[0] if all(n in v for v in found)}
    return Seen({n: values[n] for n in box.made if n in fields.values() and n in values}, values)


def _events(box: Box, fields: Mapping[str, str], play: Play) -> Iterator[dict[str, Array]]:
    signature = inspect.signature(inspect.unwrap(box.function))
    space: dict[str, Any] = {}
    codes = {n: code_of(v) for n, v in box.made.items()}
    atoms = {a: code_of(ast.parse(a, mode="eval").body) for a in read_in([*box.made.values()]) if not a.isidentifier()}
    shown_as = {n: f for f, n in fields.items()}
    calls: list[dict[str, Array]] = []
    answer: Mapping[str, Array] = {}
    kept = Memory(blocks=[*layers(shapes(play.s.case.x0))])

    @functools.wraps(box.function)
    def rule(*given: Any, **named: Any) -> Any:
        bound = signature.bind(*given, **named)
        bound.apply_defaults()
        env, x = dict(bound.arguments), np.asarray(answer["x"], float)
        if "delta" in env and "delta" in answer:
            env["delta"] = np.asarray(answer["delta"], float)
        for n, code in codes.items():
            env[n] = np.asarray(answer[shown_as[n]], float) if n in shown_as else eval(code, space, env)
        for a, code in atoms.items():
            env[a] = eval(code, space, env)
        env |= asked(kept, space, env, OF_EVENT)
        calls.append({n: rows(v, x) for n, v in env.items() if is_number(v) and np.shape(v) in {(), x.shape}})
        return box.function(*given, **named)

    session = play.session({**in_place_of(box, rule, space), MEAN: recording(kept)})
    for kept.number, (event, now) in enumerate(zip(play.s.events, play.answers, strict=False), 1):
        answer = now
        calls.clear()
        session.step(event)
        if len(calls) != 1:
            raise KeyError("the rule runs once an event")
        yield calls[0]
        session.state = as_shown(session.state, now)


def _replaced(setting: Setting, box: Box, seen: Seen, others: Sequence[Box]) -> Iterator[Variant]:
    """The claimed rule with each equation replaced that does not make what the subject shows."""
    left = iter(range(LOOKED))
    sides: list[list[tuple[str, ast.expr]]] = []
    for target, want in seen.made.items():
        if not _makes(box.made[target], want, seen):
            read = {ast.unparse(side): side for o in others if (side := _read(o, target, want, seen)) is not None}
            found = [(0, 0, target, side) for side in read.values()] or sorted(
                ((size, len(ast.unparse(side)), n, side) for n, size, side in _sides(box, target, seen, left)),
                key=lambda one: one[:2],
            )
            sides.append([(n, side) for *_, n, side in found[:TRIED]])
    for chosen in product(*sides):
        edited, variants = box, list[Variant]()
        for n, side in chosen:
            variants.append(rule_with(setting, edited, n, side))
            edited = replace(edited, made={**edited.made, n: side})
        if variants:
            places = [f" at {v.equation}" if v.equation != variants[-1].equation else "" for v in variants]
            words = ", and ".join(f"{v.words}{at}" for v, at in zip(variants, places, strict=True))
            names = tuple(name for v in variants for name in v.names)
            # The last text has all edits.
            mutants = (replace(variants[-1].mutants[0], id=words),)
            defects = tuple({d: None for v in variants for d in v.defects})
            yield replace(variants[-1], words=words, names=names, parts=len(variants), mutants=mutants, defects=defects)


def _makes(side: ast.expr, want: Array, seen: Seen) -> bool:
    """True if a right side gives all numbers that the subject shows."""
    try:
        with np.errstate(all="ignore"):
            near = np.abs(value_of(side, seen.values) - want) <= 1e-9 * (np.abs(want) + 1e-3)
    except KeyError:
        return False
    return bool(near[np.isfinite(want)].all())


def _read(other: Box, target: str, want: Array, seen: Seen) -> ast.expr | None:
    """The right side of another reading's equation, if it gives all numbers that the subject shows."""
    if target not in other.made:
        return None
    side = other.written_out(other.made[target], {n: v for n, v in other.made.items() if n not in seen.made})
    return side if _makes(side, want, seen) else None


def _sides(box: Box, target: str, seen: Seen, left: Iterator[int]) -> Iterator[tuple[str, int, ast.expr]]:
    """Other right sides of the equation of a shown quantity, or of a name that it alone reads, with their sizes."""
    whole, dice = replace(box, model=target), np.random.default_rng(1)
    for n in [*box.made][::-1]:
        if n != target and (n in seen.made or target not in box.resting_on(n)):
            continue
        expression = whole.model_from(n)
        if len(at := holes(expression, n)) != 1:
            continue

        def solve(want: Array, expression: Any = expression, at: Any = at[0]) -> Array:
            return np.broadcast_to(solved(expression, at, want, seen.values), want.shape)

        with np.errstate(all="ignore"):
            try:
                want = solve(seen.made[target])
                nudged = [solve(seen.made[target] * (1 + NUDGE * dice.normal(size=want.shape))) for _ in range(3)]
            except KeyError:
                continue
            apart = [np.abs(v - want) for v in nudged]
        values = {name: v for name, v in seen.values.items() if name not in box.resting_on(n)}
        yield from ((n, *found) for found in right_sides(solved_for(whole, n, want, apart, values), left))
