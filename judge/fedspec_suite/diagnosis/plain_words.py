"""Source text in words and in the paper's symbols, without functions that a reader of the paper does not know."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from types import FunctionType

from fedspec.catalogue import CATALOGUE
from fedspec.contract import Level
from fedspec.rules import printed
from fedspec.source_text import source_of
from fedspec_suite.diagnosis.variants import Variant
from fedspec_suite.measure.setting import Setting
from fedspec_suite.mutants import functions, original, parsed

CALLED = re.compile(r"(?<![\w.])([A-Za-z_][\w.]*)\(")
OPTION = re.compile(r"\b(\w+) (is not|!=|is|==) [A-Z]\w*\.([A-Z][A-Z_0-9]*)\b")
WITHIN = re.compile(r"\b(?:plan|sent|messages|arrival|moments|past)\.(\w+)")
SUM = re.compile(r"\bsum\((\w+)\.tolist\(\)\)")
ROWS = re.compile(r"\b(\w+)\.sum\(axis=0\)")
ALIKE = re.compile(r"shares\(\[1\] \* clients, x\)\[:(?:[^][]|\[\])*\]")
CHOICES = re.compile(r"\{[A-Z]\w+\.[A-Z_]+: .*\}")
OPERATORS = "*/+-@^"


def _ratio(a: str, b: str) -> str:
    return f"{a} divided by its length" if b == f"norm({a})" else f"{_one(plainly(a))} / {_one(plainly(b))}"


def _one(text: str) -> str:
    """In brackets, unless it is one word, one call or bracketed already."""
    begin = re.match(r"\w*(?=\()", text)
    return text if " " not in text or (begin and _closing(text, begin.end()) == len(text) - 1) else f"({text})"


def _larger(a: str, b: str) -> str:
    return f"the magnitude of {plainly(a)}" if b == f"-{a}" else f"maximum({plainly(a)}, {plainly(b)})"


def _of(words: str) -> Callable[[Sequence[str]], str]:
    return lambda given: words.format(*map(plainly, given))


ANY = -2
"""Stand-in for any number of arguments."""

OF_CLIENTS = {"tau", "steps", "p", "a", "deltas", "examples"}
"""Names that hold a number, or a row, for every client of a round."""

SAID: Mapping[str, tuple[int, Callable[[Sequence[str]], str]]] = {
    "ratio": (2, lambda given: _ratio(*given)),
    "maximum": (2, lambda given: _larger(*given)),
    "norm": (1, _of("the length of {}")),
    "len": (1, lambda given: "the number of clients" if given[0] in OF_CLIENTS else f"the number of {given[0]}"),
    "effective_steps": (ANY, lambda given: "tau_eff"),
    "list": (1, _of("{}")),
    "numbers": (2, _of("{}")),
    "choice": (3, _of("{2}")),
    "constant": (3, _of("{}")),
    "new.append": (1, _of("{}")),
    "gradient": (2, _of("the gradient at {1}")),
    "where_less": (4, _of("{2} where {0} < {1}, else {3}")),
    "where_shorter": (4, _of("{2} where {0} is shorter than {1}, else {3}")),
    "unless_short": (3, _of("{0} unless {1} is shorter than {2}")),
    "scaling": (4, _of("the scaled length of {0}")),
    "weighted_mean": (2, _of("the mean of {0} by {1}")),
    "weigh": (2, _of("the sum of {1} by {0}")),
    "corrected": (4, _of("{0} / (1 - {1}^{2})")),
    "complement": (3, _of("1 - {0}^{1}")),
    "root": (3, _of("the root of {0} with {1}")),
    "rate": (5, _of("the corrected {0}")),
    "warmed": (3, _of("the rate {0} of a warm-up")),
}
"""Number of arguments of each function that has words, and a function that gives the words."""

NEW_STATE = re.compile(r"[A-Z]\w*|replace|after")
"""Calls that make a record of what is kept."""


def _option(found: re.Match[str]) -> str:
    name, how, value = found.groups()
    return f"{name} {'is not' if how in ('is not', '!=') else '='} {value.lower().replace('_', '-')}"


def plainly(words: str) -> str:
    """Replace source text in a sentence by plain words, as far as there are words for it."""
    words = CHOICES.sub("what is chosen from", words)
    words = ALIKE.sub("1 / N", words)
    words = OPTION.sub(_option, words)
    words = ROWS.sub(r"the sum of \1", SUM.sub(r"the sum of \1", words))
    out, at = "", 0
    for begin, end, said in _calls(words):
        beside = words[:begin].rstrip()[-1:] + words[end:].lstrip()[:1]
        out += words[at:begin] + (_one(said) if any(c in OPERATORS for c in beside) else said)
        at = end
    words = out + words[at:]
    return WITHIN.sub(r"\1", words).replace(" ** ", "^").replace(" == ", " = ")


def _calls(words: str) -> Iterator[tuple[int, int, str]]:
    """Places of calls that there are words for, the outer ones first, and the words."""
    at = 0
    while found := CALLED.search(words, at):
        name, end = found[1], _closing(words, found.end() - 1) + 1
        given = _split(words[found.end() : end - 1])
        count, said = SAID.get(name, (-1, _of("")))
        record = NEW_STATE.fullmatch(name) and len(given) > 1
        if end and (record or count == ANY or (count == len(given) and not any("=" in a for a in given))):
            yield found.start(), end, "the new state" if record else said(given)
            at = end
        else:
            at = found.end()


def _closing(text: str, begin: int) -> int:
    """The place of the bracket that closes the one at ``begin``; -1 if none does."""
    depth = 0
    for k in range(begin, len(text)):
        depth += (text[k] in "([{") - (text[k] in ")]}")
        if depth == 0:
            return k
    return -1


def _split(text: str) -> list[str]:
    """The arguments of a call."""
    out, depth = [""], 0
    for c in text:
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            out.append("")
        else:
            out[-1] += c
    return [a.strip() for a in out]


def under_options(words: str, setting: Setting) -> str:
    """Remove from a sentence the corrections of biases that the claim doesn't have."""
    correction, maximum_of = setting.options.get("bias_correction"), setting.options.get("maximum_of")
    # AMSGrad corrects either before it takes the maximum or after it, never twice.
    idle = {
        r"corrected\((\w+), [^()]*\)": correction != "moments",
        r"corrected\((\w+), [^()]*\bbefore\)": maximum_of == "before-correction",
        r"corrected\((\w+), [^()]*\bafter\)": maximum_of == "after-correction",
        r"rate\((\w+), [^()]*\)": correction != "step",
    }
    for call in (call for call, does_nothing in idle.items() if does_nothing):
        words = re.sub(rf"(?<![\w.]){call}", r"\1", words)
    return words


def in_symbols(words: str, v: Variant, setting: Setting) -> str:
    """Write a sentence in the setting's symbols for its hyper-parameters and for the arguments of its functions."""
    if "eps" not in setting.numbers and "tau" in setting.numbers:
        words = re.sub(r"\beps\b", "tau", words)
    for mutant in v.mutants:
        for old, new in _called(setting.algorithm.id, setting.level, original(mutant)).items():
            words = re.sub(rf"(?<![\w.]){old}(?![\w.(])", new, words)
    return words


@cache
def _called(name: str, level: Level, function: FunctionType) -> Mapping[str, str]:
    """The names that a function's vectors have at its calls, in an algorithm that does not print its equations."""
    algorithm = CATALOGUE[name]
    own = [e for rule in algorithm.rules for e in printed(rule)]
    if {e.id for e in printed(function)} & {e.id for e in own}:
        return {}
    symbols = set(re.findall(r"[A-Za-z]\w*", " ".join(e.text for e in own)))
    (outer,) = parsed(source_of(function)).body
    assert isinstance(outer, ast.FunctionDef)
    given = [a.arg for a in outer.args.args]
    there = {n.id for n in ast.walk(outer) if isinstance(n, ast.Name)}
    found = [dict(zip(given, call, strict=False)) for call in _handed(functions(algorithm, level), function.__name__)]
    # Of one layer it is said as of all.
    names = {a: {call.get(a, "").removesuffix("_l") for call in found} for a in given}
    one = {a: called.pop() for a, called in names.items() if len(called) == 1}
    return {a: n for a, n in one.items() if n in symbols - there and a not in symbols}


def _handed(among: list[FunctionType], name: str) -> Iterator[list[str]]:
    """Yield the arguments of each call of a function, by name; empty for an argument that is no name."""
    for f in among:
        for node in ast.walk(parsed(source_of(f))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
                yield [a.id if isinstance(a, ast.Name) else "" for a in node.args]
