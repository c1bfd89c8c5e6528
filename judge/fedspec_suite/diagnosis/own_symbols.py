"""A name in the symbols of the algorithm that is judged, where it was found on a function that others call too."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from types import FunctionType

from fedspec.catalogue import CATALOGUE
from fedspec.contract import Level
from fedspec.rules import printed
from fedspec_suite.diagnosis.variants import Variant
from fedspec_suite.measure.setting import Setting
from fedspec_suite.mutants import functions, original, parsed, source_of


def under_options(words: str, setting: Setting) -> str:
    """The same without corrections of biases that the claim has not."""
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
    """The same in the setting's own symbols: those of its hyper-parameters, and of what it hands to a function."""
    if "eps" not in setting.numbers and "tau" in setting.numbers:
        words = re.sub(r"\beps\b", "tau", words)
    for mutant in v.mutants:
        for old, new in _called(setting.algorithm.id, setting.level, original(mutant)).items():
            words = re.sub(rf"(?<![\w.]){old}(?![\w.(])", new, words)
    return words


@cache
def _called(name: str, level: Level, function: FunctionType) -> Mapping[str, str]:
    """What a function's vectors are called where it is called, in an algorithm that does not print its equations."""
    algorithm = CATALOGUE[name]
    own = [e for rule in algorithm.rules for e in printed(rule)]
    if {e.id for e in printed(function)} & {e.id for e in own}:
        return {}
    symbols = set(re.findall(r"[A-Za-z]\w*", " ".join(e.text for e in own)))
    (outer,) = parsed(source_of(function)).body
    assert isinstance(outer, ast.FunctionDef)
    given = [a.arg for a in outer.args.args]
    there = {n.id for n in ast.walk(outer) if isinstance(n, ast.Name)}
    found = [dict(zip(given, call, strict=False)) for call in _calls(functions(algorithm, level), function.__name__)]
    # Of one layer it is said as of all.
    names = {a: {call.get(a, "").removesuffix("_l") for call in found} for a in given}
    one = {a: called.pop() for a, called in names.items() if len(called) == 1}
    return {a: n for a, n in one.items() if n in symbols - there and a not in symbols}


def _calls(among: list[FunctionType], name: str) -> Iterator[list[str]]:
    """What each call of a function is given, by name; empty where it is no name."""
    for f in among:
        for node in ast.walk(parsed(source_of(f))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
                yield [a.id if isinstance(a, ast.Name) else "" for a in node.args]
