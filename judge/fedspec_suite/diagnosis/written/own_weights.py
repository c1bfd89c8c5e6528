"""Weights that a rule makes itself, solved for and written as a formula of what the rule's text makes of each client.

Where a rule computes ``delta = w @ deltas``, the subject's Delta gives its weights by least squares, as in ``weights``.
The formula search builds them from the rule's own numbers of each client, such as exp(-temp a_i), and from their sums
and largest ones. So a softmax that is divided by another sum has a name, though the search builds no exponential.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from fedspec.arith import Array
from fedspec.rules import equations
from fedspec.source_text import copied, loaded
from fedspec_suite.diagnosis.edits.edit import Put
from fedspec_suite.diagnosis.variants import CANNOT, Variant
from fedspec_suite.diagnosis.written.box import Box, boxes, parts_in
from fedspec_suite.diagnosis.written.notation import in_symbols
from fedspec_suite.diagnosis.written.plays import Play
from fedspec_suite.diagnosis.written.replay import code_of, in_place_of
from fedspec_suite.diagnosis.written.synthesis import rule_with
from fedspec_suite.diagnosis.written.weights import WORDS, fitting, mean_of, near, weights_of
from fedspec_suite.measure.reaching import flat_model
from fedspec_suite.measure.setting import Setting

TRIED = 4
"""Number of formulas that are yielded, the smallest first."""

MOST = 10
"""Largest number of expressions of which formulas are built; the rule's last ones come first."""


def own_weighted(plays: Sequence[Play], setting: Setting) -> Iterator[Variant]:
    """Yield the claimed rule with the subject's weights in place of those that its own text makes."""
    for box in boxes(setting):
        for name, value in box.made.items():
            match value:
                case ast.BinOp(left=ast.Name(id=w), op=ast.MatMult(), right=ast.Name() as rows) if w in box.made:
                    for formula, said in islice(_formulas(box, name, plays), TRIED):
                        for changed, put in ((w, formula), (name, ast.BinOp(formula, ast.MatMult(), rows))):
                            yield _told(rule_with(setting, box, changed, put), setting, box, w.rstrip("_"), said)


def _told(variant: Variant, setting: Setting, box: Box, symbol: str, said: str) -> Variant:
    """The variant with its words for the weights: the formula, and the printed equation of that symbol."""
    printed = {e.text.partition(" = ")[0].removesuffix("_i"): e for e in equations(box.function, setting.options)}
    there = printed.get(symbol)
    wanted, at = (there.text, there.id) if there else ("", variant.equation)
    yours = f"{symbol}_i = {said}"
    words = f"yours: {yours}, wanted: {wanted}" if wanted else f"yours: {yours}"
    names = ({"yours": yours, "wanted": wanted, "equation": at},)
    return replace(variant, words=words, equation=at, names=names)


def _formulas(box: Box, name: str, plays: Sequence[Play]) -> Iterator[tuple[ast.expr, str]]:
    """Formulas of the weights by which a name is a mean, as text of the rule and in words, the smallest first.

    There is none if the weights are the claimed ones.
    """
    try:
        rounds = [one for play in plays for one in _rounds(box, name, play)]
    except (KeyError, *CANNOT):
        return
    if not rounds or all(near(b, w).all() for b, w, _ in rounds):
        return
    there = [text for text in rounds[0][2] if all(text in values for *_, values in rounds)]
    # Of two texts with the same values the shorter one is taken: a name.
    texts = {f"F{k}": text for k, text in enumerate(sorted(there[-MOST:], key=len))}
    columns: dict[str, list[Array]] = {}
    for b, _, values in rounds:
        for symbol, text in texts.items():
            v, one = values[text], np.ones(len(b))
            columns.setdefault(symbol, []).append(v * one)
            if np.ndim(v):
                columns.setdefault(f"S{symbol[1:]}", []).append(sum(v) * one)
                columns.setdefault(f"X{symbol[1:]}", []).append(max(v) * one)
    found = {n: np.concatenate(v) for n, v in columns.items() if len(v) == len(rounds)}
    want = np.concatenate([b for b, *_ in rounds])
    written = {"F": "({})", "S": "({}).sum()", "X": "max(({}).tolist())"}
    for fits in fitting(found, want, {n: 1 if n[0] == "F" else 2 for n in found}):
        formula, said = copied(fits), _in_words(fits, box, texts)
        for symbol in loaded(formula) & found.keys():
            text = written[symbol[0]].format(texts[f"F{symbol[1:]}"])
            formula = Put(ast.Name(symbol, ast.Load()), ast.parse(text, mode="eval").body).visit(formula)
        yield formula, said


def _in_words(formula: ast.expr, box: Box, texts: Mapping[str, str]) -> str:
    """A formula with the rule's expressions written out, as far as names of the rule's arguments."""

    def put(found: re.Match[str]) -> str:
        part = box.written_out(ast.parse(texts[f"F{found[2]}"], mode="eval").body, _once(box))
        text = in_symbols(_Sums().visit(part), ())
        return f"{WORDS.get(found[1], '')}({text})" if found[1] in WORDS or re.search(r" [+-] ", text) else text

    return re.sub(r"\b([FSX])(\d+)\b", put, in_symbols(formula, ()))


def _once(box: Box) -> Mapping[str, ast.expr]:
    """Names that a rule assigns a second value, with the first: the name in the printed equation is the last one."""
    return {n: v for n, v in box.made.items() if f"{n}_" in box.made}


class _Sums(ast.NodeTransformer):
    """Writes a method as a function of what it is called on: v.sum() as sum(v)."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Attribute(value=v, attr="sum"), args=[]):
                return ast.Call(ast.Name("sum", ast.Load()), [v], [])
        return node


def _rounds(box: Box, name: str, play: Play) -> Iterator[tuple[Array, Array, Mapping[str, Array]]]:
    """The subject's and the claimed weights in each round of a case, and the rule's numbers of each client by text.

    Raises:
        KeyError: the rule runs otherwise than once a round, or no weighted sum leads to the subject's model.
    """
    signature = inspect.signature(inspect.unwrap(box.function))
    space: dict[str, Any] = {}
    codes = {n: code_of(v) for n, v in box.made.items()}
    end, mean = code_of(box.end), box.made[name]
    assert isinstance(mean, ast.BinOp)
    rest = box.resting_on(name)
    made = [v for n, v in box.made.items() if n not in rest or n == name]
    # The claimed weights themselves would stand for what the formula is to say.
    before_mean = dict.fromkeys(ast.unparse(part) for v in made for part in parts_in(v) if part is not mean.left)
    w, rows = (code_of(side) for side in (mean.left, mean.right))
    now: list[Array | None] = [None]
    envs: list[dict[str, Any]] = []

    @functools.wraps(box.function)
    def rule(*given: Any, **named: Any) -> Any:
        bound = signature.bind(*given, **named)
        bound.apply_defaults()
        env = dict(bound.arguments)
        envs.append(env)
        for n in box.made:
            env[n] = now[0] if n == name and now[0] is not None else eval(codes[n], space, env)
        return eval(end, space, env)

    session, last = play.session(in_place_of(box, rule, space)), dict[str, Any]()
    for event, answer in zip(play.s.events, play.answers, strict=False):
        before = {**vars(session)}

        def taken(y: Array | None, event: Any = event, before: Any = before) -> Array:
            vars(session).update(before)
            now[0] = y
            envs.clear()
            last.clear()
            last.update(session.step(event))
            return flat_model(last)

        plain = taken(None)
        if len(envs) != 1:
            raise KeyError("the rule does not run once a round")
        env = {**envs[0]}
        weights, stack = np.asarray(eval(w, space, env), float), np.asarray(eval(rows, space, env), float)
        y = mean_of(session, answer, last, taken, weights @ stack, plain)
        if (b := weights_of(y, stack)) is not None:
            yield b, weights, {text: v for text in before_mean for v in _numbers(text, space, env, len(weights))}


def _numbers(text: str, space: Mapping[str, Any], env: Mapping[str, Any], count: int) -> Iterator[Array]:
    """The value of an expression, if it is a number, or one for each client; none if it can't be evaluated."""
    try:
        v = np.asarray(eval(text, {**space}, {**env}), float)
    except (TypeError, ValueError, *CANNOT):
        return
    if v.shape in ((), (count,)) and np.isfinite(v).all():
        yield v
