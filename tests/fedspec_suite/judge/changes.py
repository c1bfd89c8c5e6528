"""What may stand for an expression by mistake, whatever it says: all else at hand of its kind, other operators."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import permutations
from typing import NamedTuple

from fedspec.domains import DOMAINS
from fedspec_suite.judge.at_hand import CHAIN, Choice, Kind, is_array, is_list
from fedspec_suite.judge.in_edits import ROUNDED
from fedspec_suite.judge.slips import DECAYS, said

OTHER: Mapping[type[ast.AST], str] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "/",
    ast.Div: "*",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Eq: "!=",
    ast.NotEq: "==",
}
"""The operator that stands for another by mistake."""

EXTREMES = {"maximum": "minimum", "minimum": "maximum", "max": "min", "min": "max", "greatest": "least"}

GIVEN_ONCE = {"h", *DOMAINS} - {"tau", "tau_eff"}
"""What does not change from time to time; a client's number of steps is called tau too."""

MODELS = ("x", "x_mu", "anchor")
"""What the model is called that an event begins with."""

SUMMARIES = {
    "largest of": "lambda v: largest(v)",
    "smallest of": "lambda v: smallest(v)",
    "first number of": "lambda v: v[..., 0]",
    "mean of": "lambda v: v.sum(axis=-1) / v.shape[-1]",
    "root mean square of": "lambda v: sqrt((v**2).sum(axis=-1) / v.shape[-1])",
}
"""One number for all of an array's."""


STABILISED = (
    "sqrt({v}) + {e}",
    "sqrt({v} + {e})",
    "sqrt({v} + {e} ** 2)",
    "maximum(sqrt({v}), {e})",
    "sqrt(maximum({v}, {e}))",
    "sqrt(maximum({v}, {e} ** 2))",
    "sqrt({v}) + sqrt({e})",
    "sqrt({v} + {e}) + {e}",
)
"""The ways to keep the root of v off zero by e."""


class Change(NamedTuple):
    """One expression put for another.

    Attributes:
        words: what stands for what.
        old: the expression in the text.
        new: what stands there instead.
        rank: how much of a mistake it is to make: what is read in the wrong place comes first.
    """

    words: str
    old: ast.expr
    new: str
    rank: int = 0


def exchanged(node: ast.expr, kinds: Mapping[str, Kind], around: str) -> Iterator[Change]:
    """Something else at hand of the same kind."""
    text = ast.unparse(node)
    kind = kinds.get(text)
    if kind is None or kind in {"truth", "word"} or isinstance(kind, Choice):
        return
    chain = isinstance(node, CHAIN) or text.startswith("len(")
    if is_list(kind):
        for words, new in (("in ascending order", f"sorted({text})"), ("in reverse", f"[*({text})][::-1]")):
            yield Change(f"{said(node)} {words} stands for it{around}", node, new, 1)
    if not chain and not is_array(kind):
        return
    for other, its in kinds.items():
        _, plain = _said(other)
        new, rank = other, (1 - chain) if plain else 2
        if its == kind:
            fits = other != text and (plain or chain)
        else:
            fits, rank = plain and _counts_for(kind, its), 1
            new = f"numbers({other}, {text})" if is_array(kind) else other
        if fits:
            instead = f"{_read(other, kinds)} stands for {_read(text, kinds) if chain else said(node)}"
            yield Change(f"{instead}{around}", node, new, rank)
    if kind == "number" and text.rpartition(".")[2] not in DECAYS:
        yield from _of_event(node, around)
    if kind == "count" and chain:
        yield Change(f"0 stands for {said(node)}{around}", node, "0", 2)
        yield Change(f"the number of the event stands for {said(node)}{around}", node, "event_number()", 0)
        before = f"the number of events before stands for {said(node)}{around}"
        yield Change(before, node, "event_number() - 1", 1)
        yield Change(f"{said(node)} + 1 stands for {said(node)}{around}", node, f"{text} + 1", 2)
        yield Change(f"{said(node)} - 1 stands for {said(node)}{around}", node, f"{text} - 1", 2)
    if not is_array(kind):
        return
    yield Change(f"{said(node)} is left out (taken as zero){around}", node, f"{text} * 0", 2)
    if len(kind[1]) > 1:
        yield Change(f"the sum of {said(node)} stands for its rows{around}", node, f"({text}).sum(axis=0)", 2)
        rows = kind[1][0]
        for other, its in kinds.items():
            if its == ("array", (rows, rows)) and other != text and _said(other)[1]:
                yield Change(f"{said(node)} is mixed by {_said(other)[0]}{around}", node, f"({other} @ ({text}))", 1)
                twice = f"{said(node)} is mixed twice by {_said(other)[0]}{around}"
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
        yield Change(f"the {words} {said(node)} stands for each{around}", node, all_of_it, 2)
        each = f"in_each_block({one}, {text})"
        yield Change(f"the {words} {said(node)} in a block stands for each there{around}", node, each, 2)
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and is_array(kinds.get(n.id))}
    curved = isinstance(node, ast.Call) or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow))
    if names == {"delta"} and curved:
        mean = f"over_clients(lambda delta: {text})"
        yield Change(f"the clients' mean of {said(node)} stands for that of their mean{around}", node, mean, 1)


def as_given(node: ast.expr, kinds: Mapping[str, Kind], names: Iterable[str], around: str) -> Iterator[Change]:
    """A hyper-parameter as it is set, where a function is given another number."""
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
        for which, k in (("first", 0), ("last", -1)):
            words = f"the number of steps of the event's {which} client stands for {said(node)}{around}"
            yield Change(words, node, f"steps_of({k})", 3)


def _compounded(node: ast.expr, kinds: Mapping[str, Kind], around: str) -> Iterator[Change]:
    """A power that is multiplied into what is kept: the product of all powers so far."""
    match node:
        case ast.BinOp(op=ast.Pow(), right=power) if kinds.get(ast.unparse(power)) == "count":
            words = f"the product of every {said(node)} so far stands for {said(node)}{around}"
            yield Change(words, node, f"compounded({ast.unparse(node)})", 2)


def _counts_for(kind: Kind, its: Kind) -> bool:
    """Whether counts may stand for numbers: one for one, or as many as an array has."""
    return (kind, its) == ("number", "count") or (is_array(kind) and its == ("several", (*kind[1], "count")))


def scaled(node: ast.expr, kinds: Mapping[str, Kind], above: ast.AST | None, around: str) -> Iterator[Change]:
    """A factor or divisor more: a number at hand, or two."""
    text = ast.unparse(node)
    kind = kinds.get(text)
    if not (is_array(kind) or kind == "number"):
        return
    if isinstance(above, ast.BinOp) and isinstance(above.op, ast.Mult | ast.Div):
        # Said of the whole.
        return
    read = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    for other, its in kinds.items():
        words, plain = _said(other)
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
    """What a name was the time before, or the model that is only made of it."""
    text = ast.unparse(node)
    kind = kinds.get(text)
    name = text.rpartition(".")[2]
    if kind is None or kind == "truth" or name in GIVEN_ONCE:
        return
    if isinstance(node, ast.Name):
        before = f"time_before({text!r}, {text})"
        yield Change(f"{text} as it was the time before stands for {text}{around}", node, before, 2)
        for first, then in ((f"0 * {text}", "zero"), ("1", "one")) if kind not in {"count", "word"} else ():
            if then == "zero" or kind == "number":
                before = f"time_before({text!r}, {text}, {first})"
                words = f"{text} as it was the time before, {then} the first time, stands for {text}{around}"
                yield Change(words, node, before, 2)
        if kind in {"count", "number", "word"} or is_list(kind) or isinstance(kind, Choice):
            for which in ("first", "last"):
                new = f"of_{which}({text!r}, {text})"
                yield Change(f"{text} of the {which} in the event stands for {text}{around}", node, new, 1)
    if name in MODELS and is_array(kind) and len(kind[1]) == 1:
        yield Change(f"the model that comes out of the event stands for {said(node)}{around}", node, "new_model()", 1)


def _commuted(node: ast.Call, kinds: Mapping[str, Kind], around: str) -> Iterator[Change]:
    """A function of a square, or of a mean over rows, for the square or the mean of the function."""
    for i, a in enumerate(node.args):
        within = [ast.unparse(b) for b in node.args]
        match a:
            case ast.BinOp(left=base, op=ast.Pow(), right=power):
                within[i] = ast.unparse(base)
                after = f"** ({ast.unparse(power)})"
            case ast.BinOp(
                left=ast.Call(func=ast.Attribute(value=rows, attr="sum"), keywords=[ast.keyword(arg="axis")]),
                op=ast.Div(),
                right=count,
            ):
                within[i] = ast.unparse(rows)
                after = f".sum(axis=0) / ({ast.unparse(count)})"
            case _:
                continue
        new = f"{ast.unparse(node.func)}({', '.join(within)}){after}"
        yield Change(f"{_said(new)[0]} stands for {said(node)}{around}", node, new, 1)


def _outside(node: ast.expr, around: str) -> Iterator[Change]:
    """A function of a quotient or product for that of a function, and the other way round."""
    match node:
        case ast.Call(func=f, args=[ast.BinOp(left=a, op=ast.Sub() as less, right=b), *more], keywords=named):
            new = ast.unparse(ast.BinOp(ast.Call(f, [a, *more], named), less, b))
            yield Change(f"{_said(new)[0]} stands for {said(node)}{around}", node, new, 1)
            return
        case ast.BinOp(
            left=ast.Call(func=f, args=[a, *more], keywords=named), op=ast.Div() | ast.Mult() as op, right=b
        ):
            within: ast.expr = ast.BinOp(a, op, b)
        case ast.Call(func=ast.Name(id="ratio") as over, args=[ast.Call(func=f, args=[a, *more], keywords=named), b]):
            within = ast.Call(over, [a, b], [])
        case ast.Call(
            func=f, args=[ast.BinOp(left=a, op=ast.Div() | ast.Mult() as op, right=b), *more], keywords=named
        ):
            new = ast.unparse(ast.BinOp(ast.Call(f, [a, *more], named), op, b))
            yield Change(f"{_said(new)[0]} stands for {said(node)}{around}", node, new, 1)
            return
        case _:
            return
    new = ast.unparse(ast.Call(f, [within, *more], named))
    yield Change(f"{_said(new)[0]} stands for {said(node)}{around}", node, new, 1)


def _apart(node: ast.expr, a: ast.expr, b: ast.expr, kinds: Mapping[str, Kind], around: str) -> Iterator[Change]:
    """A power of the distance from something else."""
    text = ast.unparse(a)
    for other, its in kinds.items():
        if is_array(its) and its == kinds.get(text) and other != text and _said(other)[1]:
            words = f"({said(a)} - {_read(other, kinds)}) ** {said(b)} stands for {said(node)}{around}"
            yield Change(words, node, f"({text} - {other}) ** ({ast.unparse(b)})", 1)


def _of_two(node: ast.Call, name: str, a: ast.expr, b: ast.expr, around: str) -> Iterator[Change]:
    """Something else of two numbers than the larger or the smaller one."""
    first, second = ast.unparse(a), ast.unparse(b)
    half = f"(({first}) + ({second})) / 2"
    yield Change(f"the mean of {said(a)} and {said(b)} stands for {said(node)}{around}", node, half, 2)
    both = f"({first}) + ({second})"
    yield Change(f"{said(a)} + {said(b)} stands for {said(node)}{around}", node, both, 2)
    if name == "minimum":
        over = f"where_less({second}, {first}, ({first}) * 0, {first})"
        yield Change(f"zero stands for {said(node)} where {said(b)} is the smaller one{around}", node, over, 2)


def _stabilised(node: ast.expr, around: str) -> Iterator[Change]:
    """A root that is kept off zero in one way for the other ways."""
    match node:
        case (
            ast.BinOp(left=ast.Call(func=ast.Name(id="sqrt"), args=[v]), op=ast.Add(), right=e)
            | ast.Call(func=ast.Name(id="sqrt"), args=[ast.BinOp(left=v, op=ast.Add(), right=e)])
            | ast.Call(func=ast.Name(id="sqrt"), args=[ast.Call(func=ast.Name(id="maximum"), args=[v, e])])
            | ast.Call(func=ast.Name(id="maximum"), args=[ast.Call(func=ast.Name(id="sqrt"), args=[v]), e])
        ):
            pass
        case _:
            return
    under, eps = ast.unparse(v), ast.unparse(e)
    for form in STABILISED:
        new = form.format(v=under, e=eps)
        if ast.dump(ast.parse(new, mode="eval").body) != ast.dump(node):
            yield Change(f"{_said(new)[0]} stands for {said(node)}{around}", node, new, 1)


def _at_most(node: ast.expr, kinds: Mapping[str, Kind], around: str) -> Iterator[Change]:
    """A quotient or a length that is kept on one side of one."""
    text = ast.unparse(node)
    match node:
        case ast.Call(func=ast.Name(id="ratio" | "norm")) | ast.BinOp(op=ast.Div()) if kinds.get(text) == "number":
            yield Change(f"{said(node)} is taken as one where it is more{around}", node, f"minimum({text}, 1)", 2)
            yield Change(f"{said(node)} is taken as one where it is less{around}", node, f"maximum({text}, 1)", 2)


def _of_rows(node: ast.expr, around: str) -> Iterator[Change]:
    """The largest or the smallest of some rows for their mean, in each coordinate."""
    match node:
        case ast.BinOp(
            left=ast.Call(func=ast.Attribute(value=rows, attr="sum"), keywords=[ast.keyword(arg="axis")]),
            op=ast.Div(),
            right=count,
        ):
            for f, words in (("greatest", "largest"), ("least", "smallest")):
                new = f"{f}({ast.unparse(rows)})"
                yield Change(f"the {words} of the {said(rows)} stands for their mean{around}", node, new, 1)
            text = ast.unparse(rows)
            for words, k in (("first", 0), ("last", -1)):
                new = f"(({text}).sum(axis=0) + ({text})[{k}]) / (({ast.unparse(count)}) + 1)"
                yield Change(f"the {words} of the {said(rows)} counts twice in their mean{around}", node, new, 2)


def _weighed(node: ast.expr, kinds: Mapping[str, Kind], around: str) -> Iterator[Change]:
    """Rows that are weighed by some numbers are added up, or averaged, as they are."""
    match node:
        case ast.BinOp(left=w, op=ast.MatMult(), right=rows):
            by, those = kinds.get(ast.unparse(w)), kinds.get(ast.unparse(rows))
            if is_array(by) and is_array(those) and (len(by[1]), len(those[1])) == (1, 2):
                text = ast.unparse(rows)
                yield Change(
                    f"the sum of the {said(rows)} stands for {said(node)}{around}", node, f"({text}).sum(axis=0)", 1
                )
                square = f"({ast.unparse(w)}) ** 2"
                twice = f"{said(w)} stands twice in {said(node)}"
                yield Change(f"{twice}{around}", node, f"{square} @ ({text})", 1)
                normal = f"{square} @ ({text}) / ({square}).sum()"
                yield Change(f"{twice}, and is made to sum to one again{around}", node, normal, 1)
                mean = f"({text}).sum(axis=0) / len({text})"
                yield Change(f"the plain mean of the {said(rows)} stands for {said(node)}{around}", node, mean, 1)


def _over_both(node: ast.expr, kinds: Mapping[str, Kind], around: str) -> Iterator[Change]:
    """A factor or divisor of one term of a sum multiplies or divides all of it."""
    match node:
        case ast.BinOp(left=a, op=ast.Add() | ast.Sub() as plus, right=b):
            pass
        case _:
            return
    for k, term in enumerate((a, b)):
        match term:
            case ast.BinOp(left=p, op=ast.Mult() | ast.Div() as op, right=q):
                pairs = [(p, q), (q, p)] if isinstance(op, ast.Mult) else [(q, p)]
            case _:
                continue
        for factor, rest in pairs:
            if kinds.get(ast.unparse(factor)) not in {"number", "count"}:
                continue
            whole = ast.BinOp(*((rest, plus, b) if k == 0 else (a, plus, rest)))
            new = ast.unparse(ast.BinOp(whole, op, factor))
            how = "multiplies" if isinstance(op, ast.Mult) else "divides"
            yield Change(f"{said(factor)} {how} all of {said(whole)}{around}", node, new, 1)


MIXED = {
    "the transpose of {w} stands for it": "{w}.T @ {x}",
    "{w} mixes twice": "{w} @ ({w} @ {x})",
    "{w} mixes half, the other half stays": "({w} @ {x} + {x}) / 2",
    "what each keeps of its own by {w} is left out": "without_own({w}) @ {x}",
    "what each keeps of its own by {w} is left out, the rest made to sum to one again": "others_alone({w}) @ {x}",
    "the plain mean of its own and the neighbours' by {w}": "plain_means({w}) @ {x}",
    "the plain mean of the neighbours' by {w}": "others_alone(plain_means({w})) @ {x}",
}
"""What a matrix may make of rows by mistake."""


TINY = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-10, 1e-12)
"""What packages add to what they divide by, or take a root of."""


def _kept_off_zero(node: ast.expr, kinds: Mapping[str, Kind], around: str) -> Iterator[Change]:
    """A small number of nobody's is added to what is divided by."""
    match node:
        case ast.Call(func=ast.Name(id="ratio"), args=[a, b]) | ast.BinOp(left=a, op=ast.Div(), right=b):
            kind = kinds.get(ast.unparse(b))
            for tiny in TINY if kind == "number" or is_array(kind) else ():
                new = f"({ast.unparse(a)}) / ({ast.unparse(b)} + {tiny!r})"
                yield Change(f"{tiny!r} is added to {said(b)} in {said(node)}{around}", node, new, 2)
        case ast.Call(func=ast.Name(id="sqrt"), args=[a]):
            for tiny in TINY:
                new = f"sqrt({ast.unparse(a)} + {tiny!r})"
                yield Change(f"{tiny!r} is added to {said(a)} in {said(node)}{around}", node, new, 2)


def _members(node: ast.expr, kinds: Mapping[str, Kind], around: str) -> Iterator[Change]:
    """Another option than the one that is written there."""
    kind = kinds.get(ast.unparse(node))
    if isinstance(node, ast.Attribute) and ast.unparse(node)[:1].isupper() and isinstance(kind, Choice):
        for other in kind.others:
            new = f"type({ast.unparse(node)})({other!r})"
            yield Change(f"{other} stands for {kind.value}{around}", node, new, 0)


def _mixed(node: ast.expr, kinds: Mapping[str, Kind], around: str) -> Iterator[Change]:
    """Rows that are mixed by a square matrix are mixed otherwise."""
    match node:
        case ast.BinOp(left=w, op=ast.MatMult(), right=rows):
            by = kinds.get(ast.unparse(w))
            if is_array(by) and len(by[1]) == 2 and by[1][0] == by[1][1]:
                for words, text in MIXED.items():
                    new = text.format(w=f"({ast.unparse(w)})", x=f"({ast.unparse(rows)})")
                    yield Change(f"{words.format(w=said(w))} in {said(node)}", node, new, 1)


def _call(f: ast.expr, *args: ast.expr) -> str:
    return ast.unparse(ast.Call(f, [*args], []))


def _capped(node: ast.expr, around: str) -> Iterator[Change]:
    """What is left out where a step is short is shortened where it is long."""
    match node:
        case ast.Call(func=ast.Name(id="where_shorter"), args=[u, e, _, y]):
            length, most, what = (ast.unparse(n) for n in (u, e, y))
            cap = f"minimum(1, ratio({most}, norm({length})))"
            words = f"{said(y)} is shortened to {said(e)} where {said(u)} is longer"
            yield Change(f"{words}{around}", node, f"{cap} * {what}", 2)
            yield Change(
                f"{words}, unless {said(e)} is 0{around}", node, f"where_less(0, {most}, {cap}, 1) * {what}", 2
            )


def turned(node: ast.expr, kinds: Mapping[str, Kind], around: str) -> Iterator[Change]:
    """Another operator, number or function; a part of an expression in the place of the whole."""
    yield from _outside(node, around)
    yield from _of_rows(node, around)
    yield from _weighed(node, kinds, around)
    yield from _compounded(node, kinds, around)
    yield from _stabilised(node, around)
    yield from _at_most(node, kinds, around)
    yield from _over_both(node, kinds, around)
    yield from _mixed(node, kinds, around)
    yield from _kept_off_zero(node, kinds, around)
    yield from _members(node, kinds, around)
    yield from _capped(node, around)
    match node:
        case ast.BinOp(left=a, op=ast.Add() | ast.Sub() as plus, right=ast.BinOp(left=b, op=ast.Pow(), right=n)):
            new = ast.unparse(ast.BinOp(ast.BinOp(a, plus, b), ast.Pow(), n))
            yield Change(f"{_said(new)[0]} stands for {said(node)}{around}", node, new, 1)
        case ast.BinOp(
            left=ast.BinOp(left=w, op=ast.Mult(), right=a),
            op=ast.Add(),
            right=ast.BinOp(
                left=u, op=ast.Mult(), right=ast.Call(func=ast.Name("maximum" | "minimum"), args=[p, q]) as most
            ),
        ) if ast.dump(a) in (ast.dump(p), ast.dump(q)):
            b = q if ast.dump(a) == ast.dump(p) else p
            new = ast.unparse(ast.BinOp(ast.BinOp(w, ast.Mult(), most), ast.Add(), ast.BinOp(u, ast.Mult(), b)))
            yield Change(f"{_said(new)[0]} stands for {said(node)}{around}", node, new, 1)
        case ast.BinOp(left=a, op=ast.Div(), right=ast.BinOp(left=b, op=ast.Mult(), right=c)):
            new = ast.unparse(ast.BinOp(ast.BinOp(a, ast.Div(), b), ast.Mult(), c))
            yield Change(f"{_said(new)[0]} stands for {said(node)}{around}", node, new, 1)
    match node:
        case ast.Call(func=ast.Name(id="where_less" | "where_shorter") as which, args=[p, q, a, b]):
            yield Change(f"{said(a)} and {said(b)} change places in {said(node)}", node, _call(which, p, q, b, a), 1)
    match node:
        case ast.IfExp(test=test, body=a, orelse=b):
            yield Change(f"{said(node)} as if {said(test)}{around}", node, ast.unparse(a), 2)
            yield Change(f"{said(node)} as if not {said(test)}{around}", node, ast.unparse(b), 2)
        case ast.BinOp(left=a, op=op, right=b):
            if type(op) in OTHER:
                sign = OTHER[type(op)]
                if isinstance(op, ast.Add) and is_array(kinds.get(ast.unparse(node))):
                    larger = f"maximum({ast.unparse(a)}, {ast.unparse(b)})"
                    yield Change(f"{_said(larger)[0]} stands for {said(node)}{around}", node, larger, 2)
                yield Change(
                    f"{said(a)} {sign} {said(b)} stands for {said(node)}",
                    node,
                    f"({ast.unparse(a)}) {sign} ({ast.unparse(b)})",
                    3,
                )
                yield Change(f"{said(a)} stands for {said(node)}{around}", node, ast.unparse(a), 3)
                alone = f"-({ast.unparse(b)})" if isinstance(op, ast.Sub) else ast.unparse(b)
                yield Change(f"{_said(alone)[0]} stands for {said(node)}{around}", node, alone, 3)
            elif isinstance(op, ast.Pow):
                yield from _apart(node, a, b, kinds, around)
                yield Change(f"{said(a)} stands for {said(node)}{around}", node, ast.unparse(a), 3)
                yield Change(
                    f"{said(a)} * {said(b)} stands for {said(node)}{around}",
                    node,
                    f"({ast.unparse(a)}) * ({ast.unparse(b)})",
                    3,
                )
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            for near in (number + 1, number - 1):
                yield Change(f"{near:g} stands for {number:g}{around}", node, repr(near), 4)
        case ast.Compare(left=a, ops=[op], comparators=[b]) if type(op) in OTHER:
            sign = OTHER[type(op)]
            yield Change(
                f"{said(a)} {sign} {said(b)} stands for {said(node)}",
                node,
                f"({ast.unparse(a)}) {sign} ({ast.unparse(b)})",
                3,
            )
        case ast.Call(func=f, args=args):
            name = ast.unparse(f)
            yield from _commuted(node, kinds, around)
            if name == "norm" and len(args) == 1:
                each = f"in_each_block(norm, {ast.unparse(args[0])})"
                yield Change(f"the length of {said(args[0])} is taken block by block{around}", node, each, 1)
                alone = f"maximum({ast.unparse(args[0])}, -({ast.unparse(args[0])}))"
                words = f"the length of {said(args[0])} is taken coordinate by coordinate{around}"
                yield Change(words, node, alone, 1)
                own = kinds.get(ast.unparse(args[0]))
                for other, its in kinds.items():
                    # Of the same size they stand for one another anyway.
                    if is_array(own) and is_array(its) and len(its[1]) == 1 and its != own and _said(other)[1]:
                        words = f"the length of {said(args[0])} is that of all of {_said(other)[0]}{around}"
                        yield Change(words, node, f"norm({other})", 1)
            if name in {"maximum", "minimum"} and len(args) == 2:
                yield from _of_two(node, name, args[0], args[1], around)
            if name in EXTREMES:
                other = ast.unparse(ast.Call(ast.Name(EXTREMES[name], ast.Load()), args, node.keywords))
                yield Change(f"{EXTREMES[name]} stands for {name}{around or f' in {said(node)}'}", node, other, 3)
            whole = kinds.get(ast.unparse(node))
            for a in args:
                if not isinstance(a, ast.Starred) and whole is not None and kinds.get(ast.unparse(a)) == whole:
                    yield Change(f"{said(a)} stands for {said(node)}{around}", node, ast.unparse(a), 3)


@cache
def _said(text: str) -> tuple[str, bool]:
    """What is read, as a person says it, and whether that is no more than a name, a field or a part."""
    tree = ast.parse(text, mode="eval").body
    return said(tree), isinstance(tree, CHAIN)


def _read(text: str, kinds: Mapping[str, Kind]) -> str:
    """What is read, as a person says it; the old one where there is a new one of that name too."""
    words, _ = _said(text)
    return f"the old {words}" if words != text and words in kinds else words
