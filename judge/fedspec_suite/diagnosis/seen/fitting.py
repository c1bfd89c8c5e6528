"""The multiple that a quantity is of another in every event, as a product of at most two known numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations, product

import numpy as np

from fedspec.contract import Event, Exchange, Messages, Round
from fedspec_suite.measure.scenario import Scenario

CLOSE = {"float64": 1e-8, "float32": 2e-3}
"""Largest error of a fitted step, relative to the step's size."""

ENOUGH = 4
"""The number of steps that a fit must explain, and of different multiples that a product of quantities must give."""

FEW = 3
"""The number of different multiples below which no quantity is named."""

COUNTS = {"t": "counts all steps"}

EXPONENTS = (Fraction(1), Fraction(-1), Fraction(2), Fraction(-2), Fraction(1, 2), Fraction(-1, 2))


def measures(s: Scenario, event: Event, number: int) -> dict[str, float]:
    """The numbers at hand in an event, by what they are called."""
    return {**_numbers(s), **_counts(event, s), "t": number + 1.0}


def _numbers(s: Scenario) -> dict[str, float]:
    given = {n: float(v) for n, v in s.case.hyper.items()}
    return {**given, **{f"(1 - {n})": 1 - v for n, v in given.items() if n.startswith("beta") or n == "rho"}}


def _counts(event: Event, s: Scenario) -> dict[str, float]:
    problem = s.case.problem
    match event:
        case Messages(messages=sent):
            tau = [m.steps for m in sent]
            counts = {"n": float(len(sent)), "mean tau_i": float(np.mean(tau))}
            if s.case.population is not None:
                counts["N"] = float(s.case.population)
            return {**counts, "sum n_i": float(sum(m.weight for m in sent))}
        case Round(participants=S, steps=tau) if problem is not None:
            there = float(sum(problem.examples[i] for i in S))
            share = there / float(sum(problem.examples))
            counts = {"n": float(len(S)), "N": float(len(problem.e)), "mean tau_i": float(np.mean(tau))}
            return {**counts, "sum n_i": there, "(share of the examples)": share}
        case Exchange(senders=S, computing=computing) if problem is not None:
            return {"m": float(len(S)), "N": float(len(problem.e)), "I": float(len(computing))}
    return {}


def named(factors: Sequence[tuple[Mapping[str, float], float]], dtype: str) -> str:
    """The product of at most two known quantities that gives every factor; a number if they are all the same."""
    if not factors:
        return ""
    values = np.array([c for _, c in factors])
    if np.ptp(values) <= CLOSE[dtype] * np.abs(values).max():
        return f"{values[0]:.6g}" if abs(values[0]) > CLOSE[dtype] else ""
    different = len(np.unique(values.round(9)))
    if different < FEW:
        return ""
    sign = "-" if (values < 0).all() else ""
    names = sorted(set.intersection(*(set(known) for known, _ in factors)))
    table = {n: np.array([known[n] for known, _ in factors]) for n in names}
    table = {n: v for n, v in table.items() if (v > 0).all() and np.ptp(v) > 0}
    for count in (1, 2):
        for chosen in combinations(table, count):
            for powers in product(EXPONENTS, repeat=count):
                guess = np.prod([table[n] ** float(p) for n, p in zip(chosen, powers, strict=True)], axis=0)
                quotient = np.abs(values) / guess
                # Of few different multiples a single quantity without a factor of its own may still be read off.
                plain = count == 1 and abs(quotient[0] - 1) < CLOSE[dtype]
                if np.ptp(quotient) <= CLOSE[dtype] * quotient.max() and (different >= ENOUGH or plain):
                    number = "" if abs(quotient[0] - 1) < CLOSE[dtype] else f"{quotient[0]:.6g} "
                    said = sign + number + " ".join(_power(n, p) for n, p in zip(chosen, powers, strict=True))
                    return said + "".join(f" ({n} {COUNTS[n]})" for n in chosen if n in COUNTS)
    return ""


def _power(name: str, p: Fraction) -> str:
    return name if p == 1 else f"{name}^{p}" if p.denominator == 1 else f"{name}^({p})"
