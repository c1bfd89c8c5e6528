"""Rules and whole rounds as functions of everything that a library may trace, and what NumPy says of the same."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import jax
import numpy as np
import torch
from test_proofs.test_arithmetics import CALLS, called
from torch.utils import _pytree

from fedspec.algorithms.synchronous import run_round
from fedspec.catalogue import Method
from fedspec.contract import Offer, Round
from fedspec.plan import Plan
from fedspec.problems.quadratic import QuadraticClients
from fedspec.reference import SUBJECT
from fedspec_suite.measure.seeded_cases import candidate
from fedspec_suite.measure.setting import setting_of

PAGE = Path(__file__).parents[2] / "docs" / "precision.md"

_LINE = re.compile(r"^\| `(?P<what>[^`]+)` \| (?P<under>[^|]+) \| (?P<cause>[^|]+) \|$", re.MULTILINE)


@dataclass(frozen=True)
class Traced:
    """A function of two trees of arguments, whose numbers and arrays are traced.

    Attributes:
        run: the function.
        moved: arguments to differentiate by.
        still: the rest: weights, which must sum to one, and of a round its state and plans.
    """

    run: Callable[[Any, Any], Any]
    moved: Any
    still: Any


@cache
def exceptions() -> dict[str, tuple[str, ...]]:
    """Rows of the page that cannot be traced, and by what; each line has its cause."""
    table = PAGE.read_text().partition("<!-- traced -->")[2].partition("<!-- end -->")[0]
    return {m["what"]: tuple(m["under"].strip().split(", ")) for m in _LINE.finditer(table)}


NUMERIC = ("Vector", "Shared", "Stack", "Stack | Blocks", "Column", "Sets", "Scalar", "Count")
WEIGHTS = ("Weights", "Mixing")


def rule(label: str) -> Traced:
    """A rule's example: arrays, states, scalars and counts are traced; readings, covers and whole numbers are not."""
    example = called(label)
    notes = {n: str(p.annotation) for n, p in inspect.signature(example.rule).parameters.items()}
    given = {n: _floats(v) for n, v in example.arguments.items()}
    moved = {n: v for n, v in given.items() if notes[n] in NUMERIC or (is_dataclass(v) and notes[n] != "AnyCover")}
    still = {n: v for n, v in given.items() if notes[n] in WEIGHTS}
    fixed = {n: v for n, v in given.items() if n not in moved and n not in still}
    return Traced(lambda moved, still: example.rule(**moved, **still, **fixed), moved, still)


def _floats(value: Any) -> Any:
    """The value with floats for its fractions."""
    if isinstance(value, np.ndarray):
        return value.astype(float)
    if isinstance(value, Fraction):
        return float(value)
    if is_dataclass(value):
        return _pytree.tree_map(_floats, value)
    return value


ROUNDS = {
    "/".join((o.algorithm, o.reading, *(f"{n}={v}" for n, v in sorted(o.options.items())))): o
    for o in SUBJECT.info.offers
    if o.level in ("round", "trace") and o.rates == "one"
}
"""Every algorithm in every reading, with each option turned; rates that events say are read by what runs a step."""

CANONICAL = list({o.algorithm: label for label, o in reversed(ROUNDS.items())}.values())[::-1]


def rounds(label: str) -> Traced:
    """All events of a case: hyper-parameters, state, objectives and plans are traced."""
    offer: Offer = ROUNDS[label]
    scenario = candidate(setting_of(offer), label, 0)
    session: Any = SUBJECT.start(scenario.case)
    method = session.run if isinstance(session.run, Method) else None
    problem = scenario.case.problem
    assert problem is not None

    def plan_of(event: Any) -> Any:
        if not isinstance(event, Round):
            return event
        examples = tuple(problem.examples[list(event.participants)].tolist())
        more = event.strategies, event.scales, event.noise, event.draws
        repeats = "repeats" in getattr(session.run, "takes", ())
        return Plan(event.participants, event.steps, examples, *more, repeats=repeats)

    def run(moved: Any, still: Any) -> Any:
        (h, objectives), (state, plans) = moved, still
        shown = []
        for plan in plans:
            if method:
                parts = {"local": method.local, "norm": method.norm, "server": method.server}
                trace = run_round(h, state, objectives.clients, plan, **parts)
                state, values = trace.state, trace.values
            else:
                state, values = session.run.step(h, state, objectives.clients, plan)
            shown.append(values)
        return state, shown

    objectives = QuadraticClients(problem.H, problem.e, problem.f)
    return Traced(run, (session.h, objectives), (session.state, tuple(map(plan_of, scenario.events))))


def numbers(tree: Any) -> list[np.ndarray]:
    """The floats of a tree of any library, one array for each leaf; where layers lie is no number."""
    leaves = (leaf for leaf in jax.tree.leaves(tree) if hasattr(leaf, "dtype") or isinstance(leaf, float))
    arrays = [leaf.detach().numpy() if isinstance(leaf, torch.Tensor) else np.asarray(leaf) for leaf in leaves]
    return [a for a in arrays if a.dtype.kind == "f"]


def agree(got: Sequence[np.ndarray], want: Sequence[np.ndarray], label: str, rtol: float = 1e-11) -> None:
    """The numbers are the same but for roundings."""
    assert len(got) == len(want) > 0, label
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g, w, rtol=rtol, atol=rtol / 10, err_msg=label)


def in_torch(tree: Any) -> Any:
    """A tree with torch's arrays for NumPy's."""
    return _pytree.tree_map(lambda leaf: torch.tensor(leaf) if isinstance(leaf, np.ndarray) else leaf, tree)


EVERY: Mapping[str, Callable[[str], Traced]] = {**dict.fromkeys(CALLS, rule), **dict.fromkeys(ROUNDS, rounds)}
