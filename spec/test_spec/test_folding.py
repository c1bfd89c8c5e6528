"""Texts folded under a reading: no option is left in them, and they compute what the text with options computes."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from types import FunctionType
from typing import Any

import numpy as np
import pytest

from fedspec import arith
from fedspec.catalogue import CATALOGUE, Algorithm, LocalSolver, Method, Program
from fedspec.contract import Offer
from fedspec.deciding import WHERE
from fedspec.folding import LEFT_OPEN, Folding, folding_of
from fedspec.reference import session_of
from fedspec_suite.measure.cases import scenarios
from fedspec_suite.measure.seeded_draws import draw_cases
from fedspec_suite.measure.setting import setting_of
from fedspec_suite.report.source import code_of

pytestmark = pytest.mark.table(10)

READINGS = [(a.id, r.name) for a in CATALOGUE.values() for r in a.readings if a.options.keys() - LEFT_OPEN.keys()]


def text(run: Any) -> Callable[..., Any]:
    """The text of a row: of its rule, its server or its step."""
    found: Callable[..., Any] = (
        run.rule if isinstance(run, LocalSolver) else run.server if isinstance(run, Method) else run.step
    )
    return found


def linked(folding: Folding) -> dict[FunctionType, FunctionType]:
    """Every function of the specification over names in which the folded ones stand."""
    modules = {name: vars(module) for name, module in [*sys.modules.items()] if f"{name}.".startswith(WHERE)}
    # Another text may compute with whatever fedspec.arith has.
    spaces = {name: {**vars(arith), **names} for name, names in modules.items()}
    made: dict[FunctionType, FunctionType] = {}
    for names in modules.values():
        for f in (inspect.unwrap(v) for v in names.values() if isinstance(v, FunctionType)):
            if f.__module__ in spaces and f not in made:
                made[f] = FunctionType(f.__code__, spaces[f.__module__], f.__name__, f.__defaults__, f.__closure__)
                made[f].__kwdefaults__ = f.__kwdefaults__
    for f, source in folding.texts.items():
        exec(compile(f"from __future__ import annotations\n{source}", "<folded>", "exec"), spaces[f.__module__])
        made[f] = spaces[f.__module__].pop(f.__name__)
    for name, names in modules.items():
        spaces[name].update(
            {n: made[g] for n, v in names.items() if isinstance(v, FunctionType) and (g := inspect.unwrap(v)) in made}
        )
    return made


def folded(a: Algorithm, reading: str) -> Callable[..., Any]:
    """The text of a row as a reading runs it."""
    runs, folding = text(a.run), folding_of(a, reading)
    folding.add(runs)
    return linked(folding)[inspect.unwrap(runs)]


@pytest.mark.parametrize(("name", "reading"), READINGS)
def test_no_text_under_a_reading_looks_at_an_option(name: str, reading: str) -> None:
    a = CATALOGUE[name]
    kinds = {a.options[n].__name__ for n in a.options.keys() - LEFT_OPEN.keys()}
    for node in ast.walk(ast.parse(code_of(a, reading))):
        if isinstance(node, ast.Compare | ast.match_case):
            named = [n.value for n in ast.walk(node) if isinstance(n, ast.Attribute)]
            assert not {n.id for n in named if isinstance(n, ast.Name)} & kinds
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "h":
            assert node.attr not in a.options.keys() - LEFT_OPEN.keys()


def same(one: Any, two: Any) -> bool:
    """True if states or intermediates are equal, bit for bit."""
    if is_dataclass(one):
        return type(one) is type(two) and all(same(getattr(one, f.name), getattr(two, f.name)) for f in fields(one))
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(same(one[n], two[n]) for n in one)
    if isinstance(one, tuple):
        return len(one) == len(two) and all(map(same, one, two))
    return bool(np.all(np.asarray(one) == np.asarray(two)))


PART: dict[type[Any], str] = {LocalSolver: "rule", Method: "server", Program: "step"}


def drifting(session: Any) -> Any:
    """The session, of clients whose gradients grow with the local step if a program runs them."""
    if hasattr(session, "clients"):
        session.clients = [lambda k, x, g=g: g(k, x) * (1 + k / 4) for g in session.clients]
    return session


@pytest.mark.parametrize(("name", "reading"), READINGS)
def test_a_folded_text_computes_what_the_text_does(name: str, reading: str) -> None:
    """Bit for bit, whole states and all that is shown, after every event of drawn cases."""
    a: Any = CATALOGUE[name]
    other = replace(a, run=replace(a.run, **{PART[type(a.run)]: folded(a, reading)}))
    levels = [at for at in a.levels if a.reading(reading) in a.readings_at(at)]
    # Of a method the server is folded.
    level, moved = levels[0 if isinstance(a.run, Method) else -1], 0
    for s in draw_cases(scenarios(setting_of(Offer(name, level, reading))), 8, seed=1):
        one, two = (drifting(session_of(a, level)(row, s.case)) for row in (other, a))
        for event in s.events:
            before = two.state
            assert same(dict(one.step(event)), dict(two.step(event))) and same(one.state, two.state)
            moved += not same(before, two.state)
    assert moved > 3
