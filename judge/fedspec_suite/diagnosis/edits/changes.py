"""Mistaken replacements of an expression: another value of the same kind, an extra factor, its earlier value."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import permutations

from fedspec.domains import DOMAINS
from fedspec_suite.diagnosis.edits.at_hand import CHAIN, Choice, Kind, is_array, is_list
from fedspec_suite.diagnosis.edits.edit import Change
from fedspec_suite.diagnosis.edits.of_arrays import ROUNDED
from fedspec_suite.diagnosis.edits.slips import is_decay, said

TWICE = {"tau", "tau_eff", "q"}
"""Names of hyper-parameters that also name varying quantities: a client's steps tau, LAMB's direction q."""


MODELS = ("x", "x_mu", "anchor")
"""Names of the model with which an event begins."""


def _is_given_once(name: str) -> bool:
    """True if a name's value never changes: the record of hyper-parameters, or a hyper-parameter declared by now."""
    return name == "h" or (name in DOMAINS and name not in TWICE)


SUMMARIES = {
    "largest of": "lambda v: largest(v)",
    "smallest of": "lambda v: smallest(v)",
    "first number of": "lambda v: v[..., 0]",
    "mean of": "lambda v: v.sum(axis=-1) / v.shape[-1]",
    "root mean square of": "lambda v: sqrt((v**2).sum(axis=-1) / v.shape[-1])",
}
"""Functions from an array to one number, by their words."""


STEPS = {"tau", "T", "K", "steps"}
"""Names of a client's number of local steps."""

CLIENTS = re.compile(r"len\(.*\)|.*\.shape\[0\]|clients|n|N|M")
"""Pattern of expressions that count clients."""

COUNTS = {
    "the number of clients so far": ("heard()", CLIENTS),
    "the number of the event's different clients": ("different()", CLIENTS),
    "the number of the client's rounds": ("own_rounds()", re.compile(r"t|k|.*\.t|t\[i\]")),
}
"""Counts that are in no rule's scope, by their words, with the pattern of what they may stand for."""


def exchanged(node: ast.expr, kinds: Mapping[str, Kind], around: str) -> Iterator[Change]:
    """Yield changes of an expression to another value in scope of the same kind."""
    text = ast.unparse(node)
    kind = kinds.get(text)
    match node:
        case ast.BinOp(left=ast.Call(func=ast.Name(id="sum")), op=ast.Div(), right=ast.Call(func=ast.Name(id="len"))):
            for how in ROUNDED:
                yield Change(f"{said(node)} is {how} to a whole number{around}", node, f"whole({text}, {how!r})", 1)
    if kind is None or kind in {"truth", "word"} or isinstance(kind, Choice):
        return
    chain = isinstance(node, CHAIN) or text.startswith("len(")
    if is_list(kind):
        for words, new in (("in ascending order", f"sorted({text})"), ("in reverse", f"[*({text})][::-1]")):
            yield Change(f"{said(node)} {words} stands for it{around}", node, new, 1)
    if not chain and not is_array(kind):
        return
    for other, its in kinds.items():
        _, plain = worded(other)
        new, rank = other, (1 - chain) if plain else 2
        if its == kind:
            fits = other != text and (plain or chain)
        else:
            fits, rank = (plain or other.startswith("len(")) and _counts_for(kind, its), 1
            new = f"numbers({other}, {text})" if is_array(kind) else other
        if fits:
            instead = f"{read_as(other, kinds)} stands for {read_as(text, kinds) if chain else said(node)}"
            yield Change(f"{instead}{around}", node, new, rank)
    if kind == "number" and chain:
        yield Change(f"0 stands for {said(node)}{around}", node, f"0 * {text}", 2)
        yield Change(f"the root of {text} stands for it{around}", node, f"sqrt({text})", 3)
        yield Change(f"the square of {text} stands for it{around}", node, f"({text}) ** 2", 3)
    if kind == "number" and not is_decay(text.rpartition(".")[2]):
        yield from _of_event(node, around)
    if kind == "count" and chain:
        if text in STEPS:
            yield from _steps_of(node, 1, around)
        for words, (new, of) in COUNTS.items():
            if of.fullmatch(text):
                yield Change(f"{words} stands for {said(node)}{around}", node, new, 1)
        yield Change(f"0 stands for {said(node)}{around}", node, "0", 2)
        yield Change(f"the number of the event stands for {said(node)}{around}", node, "event_number()", 0)
        before = f"the number of events before stands for {said(node)}{around}"
        yield Change(before, node, "event_number() - 1", 1)
        yield Change(f"{said(node)} + 1 stands for {said(node)}{around}", node, f"{text} + 1", 2)
        yield Change(f"{said(node)} - 1 stands for {said(node)}{around}", node, f"{text} - 1", 2)
        less = f"{said(node)} - 1 stands for {said(node)}, but where that is 0"
        yield Change(f"{less}{around}", node, f"max({text} - 1, 0)", 2)
    if not is_array(kind):
        return
    yield Change(f"{said(node)} is left out (taken as zero){around}", node, f"{text} * 0", 2)
    if len(kind[1]) > 1:
        yield Change(f"the sum of {said(node)} stands for its rows{around}", node, f"({text}).sum(axis=0)", 2)
        rows = kind[1][0]
        for other, its in kinds.items():
            if its == ("array", (rows, rows)) and other != text and worded(other)[1]:
                yield Change(f"{said(node)} is mixed by {worded(other)[0]}{around}", node, f"({other} @ ({text}))", 1)
                twice = f"{said(node)} is mixed twice by {worded(other)[0]}{around}"
                yield Change(twice, node, f"({other} @ ({other} @ ({text})))", 2)
        return
    if chain:
        yield Change(f"the magnitude of {text} stands for it{around}", node, f"maximum({text}, -({text}))", 2)
        yield Change(f"the square of {text} stands for it{around}", node, f"({text}) ** 2", 2)
        yield Change(f"the root of {text} stands for it{around}", node, f"sqrt({text})", 2)
    unit = f"ratio({text}, norm({text}))"
    yield Change(f"{said(node)} is divided by its length{around}", node, unit, 2)
    each = f"in_each_block(lambda v: ratio(v, norm(v)), {text})"
    yield Change(f"{said(node)} is divided by its length, block by block{around}", node, each, 2)
    yield Change(f"{said(node)} is divided by twice its length, block by block{around}", node, f"{each} / 2", 2)
    # The gradient of half its length, where that of half the length's square is meant.
    yield Change(f"{said(node)} is divided by twice its length{around}", node, f"{unit} / 2", 2)
    for words, one in SUMMARIES.items():
        all_of_it = f"({text}) * 0 + ({one})({text})"
        # One number of steps for all is an old mistake.
        rank = 1 if text in ("tau", "numbers(plan.steps, x)") else 2
        yield Change(f"the {words} {said(node)} stands for each{around}", node, all_of_it, rank)
        each = f"in_each_block({one}, {text})"
        yield Change(f"each block has one number for {said(node)}, the {words} its coordinates{around}", node, each, 2)
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and is_array(kinds.get(n.id))}
    # An option may choose of which of two.
    chosen = isinstance(node, ast.BinOp) and isinstance(node.left, ast.IfExp)
    curved = isinstance(node, ast.Call) or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow))
    if (names == {"delta"} or (chosen and "delta" in names)) and curved:
        mean = f"over_clients(lambda delta: {text})"
        words = f"{said(node)} is computed from each client's change and then averaged, not from the mean{around}"
        yield Change(words, node, mean, 1)


def as_given(node: ast.expr, kinds: Mapping[str, Kind], names: Iterable[str], around: str) -> Iterator[Change]:
    """Yield changes of a name to the hyper-parameter's set value, where a function receives another number."""
    if isinstance(node, ast.Name) and kinds.get(node.id) == "number" and not any(n.startswith("h.") for n in kinds):
        # What is at hand by its name is one of those that stand for one another anyway.
        for name in (n for n in names if n == node.id or n not in kinds):
            yield Change(f"{name} as it is set stands for {node.id}{around}", node, f"as_set({name!r})", 1)


def _of_event(node: ast.expr, around: str) -> Iterator[Change]:
    """A number that is rounded, or the number of steps of one of the event's clients in its place."""
    text = ast.unparse(node)
    for how in ROUNDED:
        yield Change(f"{said(node)} is {how} to a whole number{around}", node, f"whole({text}, {how!r})", 2)
    if isinstance(node, CHAIN):
        yield from _steps_of(node, 3, around)


def _steps_of(node: ast.expr, rank: int, around: str) -> Iterator[Change]:
    """The number of steps of one of the event's clients, or the most of them."""
    for which, new in (("first client", "steps_of(0)"), ("last client", "steps_of(-1)"), ("busiest", "most_steps()")):
        words = f"the number of steps of the event's {which} stands for {said(node)}{around}"
        yield Change(words, node, new, rank)


def _counts_for(kind: Kind, its: Kind) -> bool:
    """True if counts may stand for numbers: a count for a number, or a list of counts for an array of its length."""
    return (kind, its) == ("number", "count") or (is_array(kind) and its == ("several", (*kind[1], "count")))


def scaled(node: ast.expr, kinds: Mapping[str, Kind], above: ast.AST | None, around: str) -> Iterator[Change]:
    """Yield changes that multiply or divide an expression by a number in scope, or by two."""
    text = ast.unparse(node)
    kind = kinds.get(text)
    if not (is_array(kind) or kind == "number"):
        return
    if isinstance(above, ast.BinOp) and isinstance(above.op, ast.Mult | ast.Div):
        # Said of the whole.
        return
    read = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    for other, its in kinds.items():
        words, plain = worded(other)
        if plain and its in {"number", "count"} and other.partition(".")[0] not in read | {"state"}:
            yield Change(f"{said(node)} is multiplied by {words}{around}", node, f"({text}) * {other}", 3)
            yield Change(f"{said(node)} is divided by {words}{around}", node, f"({text}) / {other}", 3)
    for n, m in permutations([n for n in kinds if n.startswith("len(")], 2) if above is None else ():
        yield Change(f"{said(node)} is multiplied by {n} / {m}{around}", node, f"({text}) * {n} / {m}", 3)
    if is_array(kind):
        product = isinstance(node, CHAIN) or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div))
        for other, its in kinds.items() if product and len(kind[1]) == 1 else ():
            if its == kind and other.isidentifier() and other not in read:
                words, by = f"by the length of {other}{around}", f"norm({other})"
                yield Change(f"{said(node)} is multiplied {words}", node, f"{by} * ({text})", 3)
                yield Change(f"{said(node)} is divided {words}", node, f"ratio({text}, {by})", 3)
        if product and len(kind[1]) == 1:
            count = f"({text}) / ({text}).shape[-1]"
            yield Change(f"{said(node)} is divided by the number of its coordinates{around}", node, count, 3)
        yield Change(f"{said(node)} is doubled{around}", node, f"({text}) * 2", 3)
        yield Change(f"{said(node)} is halved{around}", node, f"({text}) / 2", 3)


def earlier(node: ast.expr, kinds: Mapping[str, Kind], around: str) -> Iterator[Change]:
    """Yield changes of an expression to its earlier value, or of the model to the model after the event."""
    text = ast.unparse(node)
    match node:
        case ast.Call(func=ast.Name(id="norm"), args=[of]):
            words = f"the length of {said(of)} when the round began stands for its length{around}"
            yield Change(words, node, f"at_the_beginning({text!r}, {text})", 2)
    kind = kinds.get(text)
    name = text.rpartition(".")[2]
    if kind is None or kind == "truth" or _is_given_once(name):
        return
    if isinstance(node, ast.Name):
        before = f"time_before({text!r}, {text})"
        yield Change(f"{text} as it was the time before stands for {text}{around}", node, before, 2)
        for first, then in ((f"0 * {text}", "zero"), ("1", "one")) if kind not in {"count", "word"} else ():
            if then == "zero" or kind == "number":
                before = f"time_before({text!r}, {text}, {first})"
                words = f"{text} as it was the time before, {then} the first time, stands for {text}{around}"
                yield Change(words, node, before, 2)
        if is_array(kind):
            begun = f"in_the_first_step({text!r}, {text})"
            yield Change(f"{text} as it was at its first use in the event stands for {text}{around}", node, begun, 3)
        if is_array(kind) and len(kind[1]) == 1:
            # Of what several clients read, the time before was in the same event.
            words = f"{text} of the event before, zero in the first, stands for {text}{around}"
            yield Change(words, node, f"of_event_before({text!r}, {text})", 2)
        if kind == "number":
            most = f"most_so_far({text!r}, {text})"
            yield Change(f"{text} never falls, the largest so far stands for it{around}", node, most, 2)
        if kind in {"count", "number", "word"} or is_list(kind) or isinstance(kind, Choice):
            for which in ("first", "last"):
                new = f"of_{which}({text!r}, {text})"
                yield Change(f"{text} of the {which} in the event stands for {text}{around}", node, new, 1)
        if kind in {"count", "number"}:
            first = f"of_first_use({text!r}, {text})"
            yield Change(f"{text} as it was at its first use of all stands for {text}{around}", node, first, 2)
        if kind in {"count", "number"} or is_array(kind):
            turn = f"of_last_turn({text!r}, {text})"
            yield Change(f"{text} as it was when the client last took part stands for {text}{around}", node, turn, 2)
    if text.startswith("state.") and is_array(kind) and len(kind[1]) == 2:
        # Of peers, who take several steps in a round.
        begun = f"in_the_first_step({text!r}, {text})"
        yield Change(f"{said(node)} as it was when the round began stands for {said(node)}{around}", node, begun, 2)
    if text.startswith("state.") and is_array(kind):
        words = f"{said(node)} of the event before, its initial value in the first, stands for {said(node)}"
        yield Change(f"{words}{around}", node, f"of_event_before({text!r}, {text}, 1)", 2)
    if name in MODELS and is_array(kind) and len(kind[1]) == 1:
        begun = f"at_the_beginning({text!r}, {text})"
        yield Change(f"{said(node)} as it was when the round began stands for {said(node)}{around}", node, begun, 2)
        since = f"({text} - {begun})"
        words = f"how far {said(node)} is from where the round began stands for {said(node)}{around}"
        yield Change(words, node, since, 2)
        for own in (x for x in ("x", "state.x") if x in kinds and name in MODELS[1:]):
            before = f"step_before({own!r}, {own}, {text})"
            yield Change(f"the client's model of the step before stands for {said(node)}{around}", node, before, 1)
        last = f"own_last_model({text})"
        yield Change(f"the client's own last model stands for {said(node)}{around}", node, last, 3)
        yield Change(f"the model that comes out of the event stands for {said(node)}{around}", node, "new_model()", 1)


@cache
def worded(text: str) -> tuple[str, bool]:
    """Return words for an expression, and True if the expression is only a name, a field or a part."""
    tree = ast.parse(text, mode="eval").body
    return said(tree), isinstance(tree, CHAIN)


def read_as(text: str, kinds: Mapping[str, Kind]) -> str:
    """Return words for an expression, with "the old" in front if the same name also has a new value."""
    words, _ = worded(text)
    return f"the old {words}" if words != text and words in kinds else words
