"""Formulas of wrong intermediates, and the intermediates that are wrong or right when the model first deviates."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from fedspec.arith import Array
from fedspec.contract import Begin, Event, Exchange, Messages, Round
from fedspec_suite.diagnosis.comparing import Evidence, Given
from fedspec_suite.diagnosis.known import Known
from fedspec_suite.diagnosis.seen.digits import compared
from fedspec_suite.diagnosis.written.box import value_of
from fedspec_suite.measure.bench import WORDS
from fedspec_suite.measure.formulas import ROWS, Terms, answers
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.verdict import listed

ENOUGH = 4
"""Number of events with nonzero values that are needed to fit a formula."""

CLOSE = 1e-8
"""Largest error of a formula relative to its largest value."""

TRIED = 40
"""Number of formulas that are compared in all events, the simplest first."""

WANTED, BEFORE = "(what it should be)", "(what it should be in the event before)"


def shown(known: Known, given: Given, names: tuple[str, ...]) -> str:
    """Return a sentence for each wrong intermediate that is a formula of its right value and known numbers."""
    said = ((name, _what(known, given, name)) for name in names)
    return "; ".join(f"{name} is {words}" for name, words in said if words)


def _what(known: Known, given: Given, name: str) -> str:
    rows = [row for row in _rows(known, given, name) if np.abs(row[1][WANTED]).max(initial=0.0) > 0]
    if len(rows) < ENOUGH or any(got.shape != values[WANTED].shape for got, values in rows):
        return ""
    if all(not got.any() for got, _ in rows):
        return "always zero"
    got = np.concatenate([got for got, _ in rows])
    held = set.intersection(*({*values} for _, values in rows))
    values = {n: np.concatenate([np.broadcast_to(v[n], g.shape) for g, v in rows]) for n in sorted(held)}
    some = np.resize(np.random.default_rng(3).permutation(np.flatnonzero(got)), ROWS)
    slack = CLOSE * np.abs(got).max() + 0 * got
    terms = Terms.of([(ast.Name(n), v[some], 1) for n, v in values.items()])
    found = sorted(islice(answers(terms, got[some], slack[some]), TRIED), key=lambda a: a.size)
    with np.errstate(all="ignore"):
        fits = (a for a in found if (np.abs(value_of(a.expression, values) - got) <= slack).all())
        return next((ast.unparse(a.expression) for a in fits if WANTED in ast.unparse(a.expression)), "")


def _rows(known: Known, given: Given, name: str) -> Iterator[tuple[Array, dict[str, Any]]]:
    """Yield the shown value, and by name the wanted one, the one wanted before and the numbers at hand."""
    for k, shows in given.items():
        s, wanted = known.samples[k], known.exact(known.claimed, k)
        before: Array | None = None
        number = 0
        for event, got, want in zip(s.events, shows, wanted or (), strict=True):
            if isinstance(event, Begin) or name not in got or name not in want:
                before = None
                continue
            value = np.array([float(x) for x in want[name]])
            number += 1
            if before is not None:
                yield got[name], {**_numbers(s, event), "t": number, WANTED: value, BEFORE: before}
            before = value


def _numbers(s: Scenario, event: Event) -> dict[str, float]:
    """The numbers at hand in an event, by what they are called."""
    found, problem = {n: float(v) for n, v in s.case.hyper.items()}, s.case.problem
    match event:
        case Messages(messages=sent):
            return {**found, "n": float(len(sent)), "(sum n_i)": float(sum(m.weight for m in sent))}
        case Round(participants=S) if problem is not None:
            there = float(sum(problem.examples[i] for i in S))
            return {**found, "n": float(len(S)), "N": float(len(problem.e)), "(sum n_i)": there}
        case Exchange(senders=S, computing=computing) if problem is not None:
            return {**found, "m": float(len(S)), "N": float(len(problem.e)), "I": float(len(computing))}
    return found


def along(known: Known, told: Evidence) -> str:
    """Name the intermediates that are right, or wrong, in every event in which x first deviates."""
    right: list[set[str]] = []
    wrong: list[set[str]] = []
    for k, event, shows in told.heads:
        wanted = known.exact(known.claimed, k)
        if not wanted:
            return ""
        got, want = shows[event], wanted[event]
        names = [n for n in got if n in want and n not in {"x", *WORDS} and got[n].shape == want[n].shape]
        dtype = known.samples[k].case.dtype
        found = {n: compared(k, event, got[n], want[n], dtype) for n in names}
        right.append({n for n, each in found.items() if each.equal.all()})
        wrong.append({n for n, each in found.items() if each.apart.any()})
    kept, lost = (sorted(set.intersection(*sets)) if sets else [] for sets in (right, wrong))
    said = [f"{listed(kept)} {_is(kept)} as claimed"] if kept else []
    said += [f"{listed(lost)} {_is(lost)} not{'' if kept else ' as claimed'}"] if lost else []
    return f"where x first deviates, {' and '.join(said)}" if said else ""


def _is(names: list[str]) -> str:
    return "is" if len(names) == 1 else "are"
