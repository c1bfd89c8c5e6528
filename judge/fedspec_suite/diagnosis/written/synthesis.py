"""Synthesis of a subject's own equation, if one right side of a rule differs: solve, look up, and write it."""

from __future__ import annotations

import ast
import inspect
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from fedspec.arith import Array, sqrt, total
from fedspec.chain import LINKS
from fedspec.rules import equations
from fedspec.schedules import SHAPES, schedule_of
from fedspec.source_text import copied, loaded, source_of
from fedspec_suite.diagnosis.comparing import agrees
from fedspec_suite.diagnosis.composed import together
from fedspec_suite.diagnosis.defects.defect import Defect
from fedspec_suite.diagnosis.edits.edit import Put, swapped
from fedspec_suite.diagnosis.edits.in_edits import FORESEEN, NOTED, REMEMBERED
from fedspec_suite.diagnosis.variants import CANNOT, Variant, equation_of, of_own, printed_by
from fedspec_suite.diagnosis.written.averages import averaged
from fedspec_suite.diagnosis.written.box import Box, boxes, leaf, parts_in, parts_of, read_in, value_of
from fedspec_suite.diagnosis.written.notation import NAMES, in_notation
from fedspec_suite.diagnosis.written.plays import played
from fedspec_suite.diagnosis.written.rates import factors, scheduled
from fedspec_suite.diagnosis.written.replay import ASKED, Opened, opened
from fedspec_suite.diagnosis.written.shown_values import runs, shown_values
from fedspec_suite.diagnosis.written.sums import sums
from fedspec_suite.diagnosis.written.weights import weighted
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.formulas import CLAIMED, ROWS, Answer, Terms, smallest
from fedspec_suite.measure.setting import Setting
from fedspec_suite.mutants import Mutant
from fedspec_suite.mutants.mutant import of_name

LOOKED = 120
"""Largest number of subexpressions that are looked up: a count, so that every machine finds the same."""

LEAST = 24
"""Least number of values that an equation must reproduce."""

KNOWN = 0.9
"""Least share of finite values of a quantity that a formula may read."""

AGAIN, FEW = 3, 8
"""Number of repeated searches if an answer fits only some rows, and number of rows that are added."""

RECORDERS: Mapping[Defect, Sequence[str]] = {
    REMEMBERED: ["client_squares", "mean_change"],
    FORESEEN: ["new_model", "mean_change"],
    NOTED: [*ASKED],
}
"""Recorders of the session's record, each with the functions whose values need it, the innermost first."""

TRIED = 6
"""Number of answers that are checked in whole runs, the smallest first."""


@dataclass(frozen=True, order=True)
class Edit:
    """Equation with another right side.

    Attributes:
        size: size of the changed part.
        length: length of the text.
        place: number of equations before it.
        text: the whole right side.
        name: the name that it defines.
    """

    size: int
    length: int
    place: int
    text: str
    name: str


def written(bench: Bench, setting: Setting, base: Variant | None = None) -> Iterator[Variant]:
    """Yield the claimed rule with one right side replaced so that it gives all models, the smallest change first.

    With ``base`` another rule has another right side already.

    Several formulas may be equal on random numbers, and one of them may divide by what is zero elsewhere.
    """
    # In float32 rounding hides what tells one formula from another.
    plays = played(bench, setting, base) if setting.dtype == "float64" else []
    if not plays:
        return

    def based(v: Variant) -> Variant | None:
        return together(setting, v, base) if base else v

    rated = dict(factors(bench, setting)) if setting.schedules else {}
    shapes = rated.items() if setting.schedules else factors(bench, setting)
    # What factors of a rate explain is no mean of other weights.
    means = () if rated else chain(averaged(plays, setting), weighted(plays, setting))
    for v in filter(None, map(based, chain(means, () if base else scheduled(setting, shapes)))):
        if all(agrees(v, p.s, p.answers, share=1.0) for p in plays):
            yield v
            return
    left = iter(range(LOOKED))
    shown = runs(bench, setting) if bench.offer.intermediates and not base else []
    numbers = {*setting.numbers, *(f"as_set({n!r})" for n in setting.numbers)}
    found: dict[Edit, tuple[Box, ast.expr]] = {}
    equations_of = [(box, name) for box in boxes(setting) for name in box.made]
    for place, (box, name) in enumerate(equations_of):
        try:
            told = shown_values(box, shown, setting.options) if name == box.model and not box.word else None
            o = (
                of_schedule(box, rated, setting)
                if box.word.startswith("schedule")
                else told or opened(box, name, plays)
            )
        except (KeyError, *CANNOT):
            continue
        if o is not None:
            for size, value in chain(right_sides(o, left), sums(o, box.made[name], numbers)):
                text = ast.unparse(value)
                found.setdefault(Edit(size, len(text), place, text, name), (box, value))
    tried = Counter[Box]()
    for edit in sorted(found):
        box, value = found[edit]
        own = rule_with(setting, box, edit.name, value)
        if own.names[0]["yours"] == own.names[0]["wanted"] or "[" in own.names[0]["yours"]:
            # In the notation they differ in nothing that a reader sees, or it lacks what the text has.
            continue
        tried[box] += 1
        one = based(own) if tried[box] <= TRIED else None
        if one and all(agrees(one, p.s, p.answers, share=1.0) for p in plays):
            yield one


def of_schedule(box: Box, rated: Mapping[str, Array], setting: Setting) -> Opened | None:
    """The factors of a rate, solved for in a long run, as what its schedule must have made; None if there are none."""
    rate = box.word.rpartition(" ")[2]
    s = rated.get(rate)
    if s is None or len(box.made) > 1:
        return None
    told = schedule_of(setting.schedules[rate])
    numbers = dict(zip(SHAPES[told.shape], told.numbers, strict=True))
    values = {"t": np.arange(len(s), dtype=float)}
    values |= {n: np.full(len(s), v) for n, v in {**numbers, "pi": math.pi}.items()}
    return Opened(box, box.model, s, 1e-8 * np.abs(s) + 1e-9, values)


def right_sides(o: Opened, left: Iterator[int]) -> Iterator[tuple[int, ast.expr]]:
    """Right sides of the open equation that give its values, with the size of what is changed."""
    claimed = o.box.made[o.name]
    rest = o.box.resting_on(o.name)
    seen = np.isfinite(o.want)
    if not seen.any():
        return
    o = replace(o, values={n: v for n, v in o.values.items() if np.isfinite(v[seen]).mean() > KNOWN})
    there = seen & np.all([np.isfinite(v) for v in o.values.values()], axis=0)
    with np.errstate(all="ignore"):
        try:
            follows = np.abs(value_of(claimed, o.values) - o.want) <= o.slack
        except KeyError:
            follows = np.zeros(o.want.shape, bool)
    if there.sum() < LEAST or follows[there].all():
        return
    parts = parts_of(claimed, o.want, o.slack, o.values)
    plain = there & np.all([np.isfinite(w) for _, w, _ in parts], axis=0)
    rows = _chosen(plain if plain.sum() >= ROWS else there, follows)
    for _ in range(AGAIN):
        missed = np.zeros(0, int)
        for size, value in _fitting(o, claimed, parts, rows, _leaves(o, rest, rows), left):
            with np.errstate(all="ignore"):
                near = np.abs(value_of(value, o.values) - o.want) <= o.slack
            if near[there].all():
                missed = rows
                yield size, value
            elif not missed.size:
                missed = np.flatnonzero(there & ~near)
        if not missed.size or missed is rows:
            return
        # What fits these rows alone may be all but right: others are looked at, too.
        rows = np.concatenate([np.resize(missed, FEW), rows[:-FEW]])


def _fitting(
    o: Opened,
    claimed: ast.expr,
    parts: Sequence[tuple[ast.expr, Array, Array]],
    rows: Array,
    leaves: Sequence[tuple[ast.expr, Array, int]],
    left: Iterator[int],
) -> Iterator[tuple[int, ast.expr]]:
    """Right sides that give the wanted values in some rows, with the size of what is changed."""
    terms = Terms.of(leaves)
    within = {n: v[rows] for n, v in o.values.items()}
    for at, want, slack in parts:
        if np.isfinite(want[rows]).all() and (slack <= 1e-6 * np.abs(want) + 1e-8)[rows].all():
            if next(left, None) is None:
                return
            own = _value(at, within)
            found = smallest(terms, want[rows], slack[rows], own, guards=True)
            yield from ((a.size, _put(claimed, at, a)) for a in found[:TRIED])
    solvable = {id(at) for at, _, _ in parts}
    for at in parts_in(claimed):
        if id(at) not in solvable:
            yield from ((a.size, _put(claimed, at, a)) for a in _forward(o, claimed, at, terms, rows, within))
    yield from _everywhere(o, claimed, leaves, rows, within)


def _everywhere(
    o: Opened,
    claimed: ast.expr,
    leaves: Sequence[tuple[ast.expr, Array, int]],
    rows: Array,
    within: Mapping[str, Any],
) -> Iterator[tuple[int, ast.expr]]:
    """Right sides in which something else stands for a name that is read more than once, in all its places."""
    read = Counter(n.id for n in parts_in(claimed) if isinstance(n, ast.Name))
    for name in [n for n, times in read.items() if times > 1 and n in within]:
        for other, values, size in leaves:
            value = _value(claimed, {**within, name: values})
            with np.errstate(all="ignore"):
                fits = value is not None and (np.abs(value - o.want[rows]) <= o.slack[rows]).all()
            if fits:
                yield size + 2, o.box.written_out(claimed, {name: other})


def _value(node: ast.expr, values: Mapping[str, Any]) -> Any:
    """The value of a part; None if it has none of its own."""
    try:
        with np.errstate(all="ignore"):
            return value_of(node, values)
    except KeyError:
        return None


def _forward(
    o: Opened, claimed: ast.expr, at: ast.expr, terms: Terms, rows: Array, within: Mapping[str, Any]
) -> Iterator[Answer]:
    """Formulas in the place of a part that nothing solves for: each is tried."""
    whole = swapped(claimed, at, ast.Name("part_", ast.Load()))
    value = _value(whole, {**within, "part_": terms.values})
    if value is None or np.ndim(value) != 2:
        return
    with np.errstate(all="ignore"):
        fits = (np.abs(value - o.want[rows]) <= o.slack[rows]).all(axis=1)
    for k in sorted(np.flatnonzero(fits).tolist(), key=lambda k: terms.sizes[k])[:2]:
        yield Answer(terms.written(k), terms.sizes[k])


def _put(claimed: ast.expr, at: ast.expr, answer: Answer) -> ast.expr:
    """The right side with an answer in the place of a part."""
    return swapped(claimed, at, Put(CLAIMED, at).visit(copied(answer.expression)))


def _chosen(there: Array, follows: Array) -> Array:
    """Rows that are compared first: half of them deviate, if there are as many."""
    dice = np.random.default_rng(3)
    off = dice.permutation(np.flatnonzero(there & ~follows))[: ROWS // 2]
    others = dice.permutation(np.setdiff1d(np.flatnonzero(there), off))[: ROWS - len(off)]
    rows = np.concatenate([off, others])
    return np.resize(rows, ROWS)


def _leaves(o: Opened, rest: set[str], rows: Array) -> list[tuple[ast.expr, Array, int]]:
    """Leaves of formulas: numbers at hand, small numbers, and parts of the rule that can be had there."""
    # A value that is the same in all runs would stand for any number.
    own = {*inspect.signature(o.box.function).parameters} if o.box.word else {*()}
    varying = [n for n, v in o.values.items() if n in own or len({*v[np.isfinite(o.want)].tolist()}) > 1]
    named = [n for n in varying if n not in rest and not ("t" in o.values and n == "state.t")]
    found = [(ast.parse(n, mode="eval").body, o.values[n][rows], 1 + ("(" in n)) for n in named]
    found += [(ast.Constant(c), np.full(ROWS, float(c)), 1) for c in (1, 2, 0)]
    parts: list[ast.expr] = [n for v in o.box.made.values() for n in ast.walk(v) if isinstance(n, ast.BinOp | ast.Call)]
    t = "t" if "t" in o.values else "event_number()"
    powers = [f"{{}}**{t}", *([f"1 - {{}}**{t}", f"1 - {{}}**({t} + 1)", f"(1 - {{}})**{t}"] if t == "t" else [])]
    decays = [n for n in named if n.startswith("beta")]
    parts += [ast.parse(power.format(b), mode="eval").body for b in decays for power in powers]
    parts += [_call("ceil", n.args) for n in parts if isinstance(n, ast.Call) and ast.unparse(n.func) == "floor"]
    for part in parts:
        value = None if leaf(part) or not read_in([part]) <= {*o.values} else _value(part, o.values)
        if value is not None:
            found.append((part, np.broadcast_to(value, o.want.shape)[rows], 2))
    return found


def _call(name: str, given: Sequence[ast.expr]) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), [*given], [])


def rule_with(setting: Setting, box: Box, name: str, value: ast.expr) -> Variant:
    """The claimed rule with another right side."""
    inner = inspect.unwrap(box.function)
    rule = f"{inner.__module__}.{inner.__name__}"
    own = equations(box.function, setting.options)
    # A name that no printed equation has is written out in the equation of the model.
    symbols = {"t", *(word for e in own for word in re.findall(r"\w+", e.text))}
    result = box.made[box.model]
    returned = {box.model, *([result.id] if isinstance(result, ast.Name) else [])}
    told = name if {plain := name.rstrip("_"), NAMES.get(plain, plain)} & symbols or name in returned else box.model
    symbol = "x" if told in returned else NAMES.get(told.rstrip("_"), told.rstrip("_"))
    if box.word and told in returned:
        symbol = next(iter(inspect.signature(inner).parameters)) if box.word.split()[0] in LINKS else "s(t)"
    # A rule that receives no model, or makes one thing of it, makes what its only equation defines.
    takes = {"x", "X", "state"} & {*inspect.signature(inner).parameters}
    alone = told in returned and len(own) == 1 and (not takes or (len(box.made) == 1 and not _moves(own[0].text)))
    making = [e.id for e in own if e.text.partition(" = ")[0] == symbol != "x"]
    equation = own[0].id if alone else making[0] if len(making) == 1 else of_name([e.id for e in own], symbol)
    printed = next((e.text for e in own if e.id == equation), "")
    # A quantity that is made in two statements, the second of the first, is what the second makes.
    alike = [n for n, v in box.made.items() if n.rstrip("_") == told.rstrip("_") and told in loaded(v)]
    last = alike[-1] if alike and told not in returned else told
    wanted = printed or f"{symbol} = {in_notation(box, last, symbols)}"
    edited = replace(box, made={**box.made, name: value})
    yours = f"{wanted.partition(' = ')[0]} = {in_notation(edited, last, symbols)}"
    words = f"yours: {yours}, wanted: {wanted}" + f", in {box.word}" * bool(box.word)
    mutant = Mutant(
        id=f"{rule}: {words}",
        words=words,
        algorithms=(),
        rule=rule,
        old=source_of(inner),
        new=box.edited(name, value),
        given={"mean": _mean, "sqrt": _root, "ceil": math.ceil},
        asking=ASKED,
    )
    # A client's rule may call its model otherwise than its only equation does, or print that of another algorithm.
    there = {e.id for e in own if e.id == equation or len(own) == 1} & printed_by(setting)
    at = "" if box.word else next(iter(there), "") or equation_of(setting, symbol) or equation
    # What counts the events makes sessions slower: it is there if it is needed.
    recorders = tuple(d for d, names in RECORDERS.items() if any(f"{n}(" in mutant.new for n in names))
    return of_own(setting, yours, wanted, at, words=words, mutants=(mutant,), defects=recorders)


def _moves(equation: str) -> bool:
    """True if an equation makes a new value of what it reads."""
    symbol, _, side = equation.partition(" = ")
    return symbol in re.findall(r"\w+", side)


def _mean(v: Any) -> Any:
    """The mean over the coordinates."""
    return total(v) / v.shape[-1]


def _root(v: Any) -> Any:
    """A root, of a count too."""
    return math.sqrt(v) if isinstance(v, int) else sqrt(v)
