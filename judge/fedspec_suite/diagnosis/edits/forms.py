"""Edits that confuse formulas: stabilised roots, means, mixing, and fading sums."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from fedspec_suite.diagnosis.edits.at_hand import Choice, Kind, is_array
from fedspec_suite.diagnosis.edits.changes import worded
from fedspec_suite.diagnosis.edits.edit import Change
from fedspec_suite.diagnosis.edits.of_arrays import REDUCED
from fedspec_suite.diagnosis.edits.slips import is_decay, said

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
"""Formulas for the square root of v kept away from zero by e."""


def _compounded(node: ast.expr, kinds: Mapping[str, Kind], around: str) -> Iterator[Change]:
    """A power that is multiplied into what is kept: the product of all powers so far."""
    match node:
        case ast.BinOp(op=ast.Pow(), right=power) if kinds.get(ast.unparse(power)) == "count":
            words = f"the product of every {said(node)} so far stands for {said(node)}{around}"
            yield Change(words, node, f"compounded({ast.unparse(node)})", 2)


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
            yield Change(f"{worded(new)[0]} stands for {said(node)}{around}", node, new, 1)


def _length_off_zero(node: ast.expr, around: str) -> Iterator[Change]:
    """A length that a number is added to, and one that is no less than it, for one another."""
    match node:
        case ast.BinOp(left=ast.Call(func=ast.Name(id="norm")) as length, op=ast.Add(), right=e):
            yield Change(
                f"maximum({said(length)}, {said(e)}) stands for {said(node)}{around}",
                node,
                f"maximum({ast.unparse(length)}, {ast.unparse(e)})",
                1,
            )
        case ast.Call(func=ast.Name(id="maximum"), args=[ast.Call(func=ast.Name(id="norm")) as length, e]):
            yield Change(
                f"{said(length)} + {said(e)} stands for {said(node)}{around}",
                node,
                f"{ast.unparse(length)} + {ast.unparse(e)}",
                1,
            )


def _of_blocks(node: ast.expr, kinds: Mapping[str, Kind], around: str) -> Iterator[Change]:
    """The sum, or the largest, of the lengths of the blocks for the length of the whole."""
    match node:
        case ast.Call(func=ast.Name(id="norm"), args=[v]):
            square: str | None = ""
        case ast.Call(func=ast.Name(id="total"), args=[ast.BinOp(left=v, op=ast.Mult(), right=w)]):
            square = " ** 2" if ast.dump(v) == ast.dump(w) else None
        case _:
            square = None
    if square is not None and is_array(kinds.get(ast.unparse(v))):
        lengths = f"over_blocks(norm, {ast.unparse(v)})"
        for words, f in (("sum", "sum"), ("largest", "max"), ("smallest", "min")):
            instead = f"the {words} of the lengths of the blocks of {said(v)} stands for its length"
            yield Change(f"{instead}{around}", node, f"{f}({lengths}){square}", 1)


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
            moved = f"moved_mean({text!r}, {text})"
            words = f"the mean of the {said(rows)} moves by their changes over the number of the event's clients"
            yield Change(f"{words}, not over {said(count)}{around}", node, moved, 1)
            for words, k in (("first", 0), ("last", -1)):
                new = f"(({text}).sum(axis=0) + ({text})[{k}]) / (({ast.unparse(count)}) + 1)"
                yield Change(f"the {words} of the {said(rows)} counts twice in their mean{around}", node, new, 2)


def _weighed(node: ast.expr, kinds: Mapping[str, Kind], around: str) -> Iterator[Change]:
    """Rows that are weighed by some numbers are added up, or averaged, as they are."""
    match node:
        case ast.BinOp(left=w, op=ast.MatMult(), right=rows) | ast.Call(func=ast.Name(id="weigh"), args=[w, rows]):
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
                pairs = f"the mean so far and the next of the {said(rows)} are averaged in turn, for {said(node)}"
                yield Change(f"{pairs}{around}", node, f"halving({text})", 1)
                mean = f"({text}).sum(axis=0) / len({text})"
                yield Change(f"the plain mean of the {said(rows)} stands for {said(node)}{around}", node, mean, 1)
                for which, k in (("first", 0), ("last", -1)):
                    share = f"({ast.unparse(w)})[{k}]"
                    more = f"(({ast.unparse(node)}) + {share} * ({text})[{k}])"
                    twice = f"the {which} of the {said(rows)} counts twice in {said(node)}"
                    yield Change(f"{twice}{around}", node, more, 2)
                    yield Change(f"{twice}, and in the sum of weights{around}", node, f"{more} / (1 + {share})", 2)


MIXED = {
    "the transpose of {w} stands for it": "{w}.T @ {x}",
    "{w} mixes twice": "{w} @ ({w} @ {x})",
    "{w} mixes half, the other half stays": "({w} @ {x} + {x}) / 2",
    "what each keeps of its own by {w} is left out": "without_own({w}) @ {x}",
    "what each keeps of its own by {w} is left out, the rest made to sum to one again": "others_alone({w}) @ {x}",
    "the plain mean of a client's own row and its neighbours', not that by {w},": "plain_means({w}) @ {x}",
    "the plain mean of the neighbours' by {w}": "others_alone(plain_means({w})) @ {x}",
}
"""Mistakes in multiplying rows by a mixing matrix, by their words."""


def _falling(node: ast.expr, kinds: Mapping[str, Kind], around: str) -> Iterator[Change]:
    """A rate that falls otherwise than by a power of a count."""
    match node:
        case ast.BinOp(left=a, op=ast.Pow(), right=k) if kinds.get(ast.unparse(k)) == "count":
            base, count = ast.unparse(a), ast.unparse(k)
            for new in (f"1 / (1 + {base} * {count})", f"1 / (1 + {count})", f"{base} ** min({count}, 1)"):
                yield Change(f"{worded(new)[0]} stands for {said(node)}{around}", node, new, 4)


EXTREMES = {"greatest": ("a set", "coordinates", "largest"), "least": ("a coordinate", "sets", "smallest")}
"""Methods of a cover, with the words for the extreme that each takes."""


def _of_sets(node: ast.expr, around: str) -> Iterator[Change]:
    """Yield changes of the extreme of a set's coordinates, or of a coordinate's sets, to other functions of them."""
    match node:
        case ast.Call(func=ast.Attribute(value=cover, attr=over), args=[values]) if over in EXTREMES:
            who, whose, usual = EXTREMES[over]
            for how in (how for how in REDUCED if how != usual):
                new = f"reduced({ast.unparse(cover)}, {over!r}, {how!r}, {ast.unparse(values)})"
                what = f"{who} takes the {how} of its {whose}, not the {usual}"
                yield Change(f"{what}, in {said(node)}{around}", node, new, 1)


FADING = (0.9, 0.99, 0.999)
"""Default decays in packages."""


def _faded(node: ast.expr, kinds: Mapping[str, Kind], around: str) -> Iterator[Change]:
    """A sum that is kept fades: a running mean for a running sum."""
    match node:
        case ast.BinOp(left=ast.Attribute(value=ast.Name(id="state" | "kept" | "s")) as old, op=ast.Add(), right=new):
            decays = [n for n, its in kinds.items() if its == "number" and is_decay(n.rpartition(".")[2])]
            for b in (*decays, *map(repr, FADING)) if is_array(kinds.get(ast.unparse(node))) else ():
                mean = f"{b} * {ast.unparse(old)} + (1 - {b}) * ({ast.unparse(new)})"
                yield Change(f"{worded(mean)[0]} stands for {said(node)}{around}", node, mean, 1)


TINY = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-10, 1e-12)
"""Constants that packages add to a denominator, or under a root."""


def _kept_off_zero(node: ast.expr, kinds: Mapping[str, Kind], around: str) -> Iterator[Change]:
    """A constant that is no hyper-parameter is added to a divisor."""
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
    asks = f" is {ast.unparse(node)}" in around or f" == {ast.unparse(node)}" in around
    if isinstance(node, ast.Attribute) and ast.unparse(node)[:1].isupper() and isinstance(kind, Choice) and not asks:
        name = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", node.value.id if isinstance(node.value, ast.Name) else "").lower()
        for other in kind.others:
            new = f"type({ast.unparse(node)})({other!r})"
            yield Change(f"{name} = {other} stands for {name} = {kind.value}{around}", node, new, 0)


def _mixed(node: ast.expr, kinds: Mapping[str, Kind], around: str) -> Iterator[Change]:
    """Rows that are mixed by a square matrix are mixed otherwise."""
    match node:
        case ast.BinOp(left=w, op=ast.MatMult(), right=rows):
            by = kinds.get(ast.unparse(w))
            if is_array(by) and len(by[1]) == 2 and by[1][0] == by[1][1]:
                for words, text in MIXED.items():
                    new = text.format(w=f"({ast.unparse(w)})", x=f"({ast.unparse(rows)})")
                    yield Change(f"{words.format(w=said(w))} in {said(node)}", node, new, 1)


def _capped(node: ast.expr, around: str) -> Iterator[Change]:
    """Yield the change that shortens long steps, in the place of the one that leaves out short ones."""
    match node:
        case ast.Call(func=ast.Name(id="where_shorter"), args=[u, e, _, y]):
            length, most, what = (ast.unparse(n) for n in (u, e, y))
            cap = f"minimum(1, ratio({most}, norm({length})))"
            words = f"{said(y)} is shortened to {said(e)} where {said(u)} is longer"
            yield Change(f"{words}{around}", node, f"{cap} * {what}", 2)
            yield Change(
                f"{words}, unless {said(e)} is 0{around}", node, f"where_less(0, {most}, {cap}, 1) * {what}", 2
            )


def _kept(node: ast.expr, around: str) -> Iterator[Change]:
    """The entries of a vector that are largest by their signed value, for those of the largest size."""
    match node:
        case ast.Call(func=ast.Name(id="keep_largest"), args=[v, k]):
            text, count = ast.unparse(v), ast.unparse(k)
            # All are positive above the sum of their sizes.
            above = f"({text}) + total(maximum({text}, -({text}))) + 1"
            new = f"where_less(0, keep_largest({above}, {count}), {text}, 0 * ({text}))"
            yield Change(f"the largest entries of {said(v)} are kept by their signed value{around}", node, new, 0)


def _larger(node: ast.expr, kinds: Mapping[str, Kind], around: str) -> Iterator[Change]:
    """The larger of two vectors in each coordinate, for their sum."""
    match node:
        case ast.BinOp(left=a, op=ast.Add(), right=b) if is_array(kinds.get(ast.unparse(node))):
            new = f"maximum({ast.unparse(a)}, {ast.unparse(b)})"
            yield Change(f"the larger of {said(a)} and {said(b)} stands for their sum{around}", node, new, 2)


def _unless_equal(node: ast.expr, kinds: Mapping[str, Kind], around: str) -> Iterator[Change]:
    """A term is left out where the vector that it is added to is the same as another one, as a whole."""
    match node:
        case ast.BinOp(left=ast.Name(id=a), op=ast.Add() | ast.Sub(), right=term) if is_array(kinds.get(a)):
            for b, its in kinds.items():
                if its == kinds[a] and b != a and b.isidentifier():
                    new = f"where_less(0, norm({a} - {b}), {ast.unparse(node)}, {a})"
                    yield Change(f"{said(term)} is left out where {a} is {b}{around}", node, new, 2)


def _of_base(node: ast.expr, around: str) -> Iterator[Change]:
    """A logarithm or a power to base 2 or 10 for the natural one."""
    match node:
        case ast.Call(func=ast.Name(id="log" | "exp" as name), args=[v]):
            text = ast.unparse(v)
            for base in (2, 10):
                natural = f"log(0 * ({text}) + {base})"
                new = f"log({text}) / {natural}" if name == "log" else f"exp(({text}) * {natural})"
                words = f"log_{base}({said(v)})" if name == "log" else f"{base}^({said(v)})"
                yield Change(f"{words} stands for {said(node)}{around}", node, new, 1)


def reformed(node: ast.expr, kinds: Mapping[str, Kind], around: str) -> Iterator[Change]:
    """Yield changes of an expression to another formula."""
    yield from _compounded(node, kinds, around)
    yield from _stabilised(node, around)
    yield from _length_off_zero(node, around)
    yield from _of_blocks(node, kinds, around)
    yield from _at_most(node, kinds, around)
    yield from _of_rows(node, around)
    yield from _weighed(node, kinds, around)
    yield from _of_sets(node, around)
    yield from _falling(node, kinds, around)
    yield from _faded(node, kinds, around)
    yield from _kept_off_zero(node, kinds, around)
    yield from _members(node, kinds, around)
    yield from _mixed(node, kinds, around)
    yield from _capped(node, around)
    yield from _kept(node, around)
    yield from _larger(node, kinds, around)
    yield from _unless_equal(node, kinds, around)
    yield from _of_base(node, around)
