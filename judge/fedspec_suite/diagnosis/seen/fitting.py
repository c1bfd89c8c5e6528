"""What can be read off a subject's own steps: each is compared with the specification's from the same model.

A step that is a multiple of the specified one, or differs from it by a multiple of something at hand, is told so; the
multiple is named as a product of known quantities where one fits every step of every sample.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np

from fedspec.algorithms.synchronous import model
from fedspec.arith import Array
from fedspec.contract import Begin, Event, Exchange, Gradient, Messages, Round
from fedspec.params import flatten
from fedspec_suite.diagnosis.defects.defect import with_x
from fedspec_suite.diagnosis.steady import ROUNDINGS
from fedspec_suite.diagnosis.variants import CANNOT
from fedspec_suite.measure.bench import Shown, specified
from fedspec_suite.measure.scenario import Scenario, describe

CLOSE = {"float64": 1e-8, "float32": 2e-3}
"""How far off a fitted step may be, relative to its own size."""

ENOUGH = 4
"""The number of steps that a fit must explain, and of different multiples that a product of quantities must give."""

FEW = 3
"""The number of different multiples below which no quantity is named."""

FIRST_ALONE = "only the first "
"""How a sentence begins that says that no later event deviates."""

COUNTS = {"t": "counts all steps", "k": "counts the steps of a round"}

EXPONENTS = (Fraction(1), Fraction(-1), Fraction(2), Fraction(-2), Fraction(1, 2), Fraction(-1, 2))


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step of the subject beside the specification's from the same model.

    Attributes:
        number: how many steps came before it in the sample.
        event: what the event is called.
        taken: what the subject moved by.
        wanted: what the specification moves by.
        beside: vectors at hand, by what they are called.
        known: numbers at hand, by what they are called.
    """

    number: int
    event: str
    taken: Array
    wanted: Array
    beside: Mapping[str, Array]
    known: Mapping[str, float]


def steps(samples: Sequence[Scenario], given: Mapping[int, list[Shown]]) -> list[Step]:
    """Every step of the subject on the samples that it plays."""
    return [step for k, answers in given.items() for step in _steps(samples[k], answers)]


def _steps(s: Scenario, answers: list[Shown]) -> Iterator[Step]:
    session: Any = specified(s)
    x0 = x = flatten(s.case.x0)
    before = np.zeros_like(x)
    number = since = 0
    for event, answer in zip(s.events, answers, strict=True):
        after = np.asarray(answer["x"], dtype=x.dtype)
        try:
            session.state = with_x(session.state, x)
            with np.errstate(all="ignore"):
                session.step(event)
        except CANNOT:
            return
        if isinstance(event, Begin):
            x, before, since = after, np.zeros_like(x), 0
            continue
        yield Step(
            number=number,
            event=describe(event),
            taken=after - x,
            wanted=model(session.state) - x,
            beside={"x": x, "the way from x_0": x - x0, "the step before": before, **_sent(event)},
            known={**_numbers(s), **_counts(event, s), "t": number + 1.0, **_of_round(event, since)},
        )
        before, x, number, since = after - x, after, number + 1, since + 1


def _of_round(event: Event, since: int) -> dict[str, float]:
    """The number of a local step in its round."""
    return {"k": since + 1.0} if isinstance(event, Gradient) else {}


def measures(s: Scenario, event: Event, number: int) -> Step:
    """The numbers at hand in an event, as a step that says nothing of the model."""
    nothing = np.zeros(1)
    known = {**_numbers(s), **_counts(event, s), "t": number + 1.0}
    return Step(number=number, event=describe(event), taken=nothing, wanted=nothing, beside={}, known=known)


def _sent(event: Event) -> dict[str, Array]:
    match event:
        case Gradient(g=g):
            return {"g": flatten(g), "sign(g)": np.sign(flatten(g))}
        case Messages(messages=sent):
            deltas, n = np.stack([flatten(m.delta) for m in sent]), np.array([float(m.weight) for m in sent])
            return {
                "the weighted mean of the changes": n @ deltas / n.sum() if n.sum() else deltas[0] * 0,
                "the plain mean of the changes": deltas.mean(axis=0),
                "the first change": deltas[0],
                "the last change": deltas[-1],
            }
    return {}


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


def explained(found: Sequence[Step], dtype: str) -> str:
    """A sentence on the steps, or nothing."""
    moving = [s for s in found if np.abs(s.wanted).max() > 0 or np.abs(s.taken).max() > 0]
    if len(moving) < ENOUGH:
        return ""
    if said := _first_alone(moving, dtype):
        return said
    times = named(_multiples(moving, dtype, lambda s: s.taken, lambda s: s.wanted), dtype)
    # A step that is the specified one but for little is not that one.
    if times and times != "1":
        return f"every step is the specified one times {times}"
    return _along(moving, dtype, "the specified one plus ", lambda s: s.taken - s.wanted) or _along(
        moving, dtype, "", lambda s: s.taken
    )


def _small(residual: Array, s: Step, dtype: str) -> bool:
    size = max(float(np.abs(s.taken).max()), float(np.abs(s.wanted).max()))
    size = max(size, 1e-6 * float(np.abs(s.beside["x"]).max()))
    return bool(np.abs(residual).max() <= CLOSE[dtype] * size)


def _equal(s: Step, dtype: str) -> bool:
    """Whether a step is the specified one to some roundings."""
    size = max(float(np.abs(a).max()) for a in (s.taken, s.wanted, s.beside["x"]))
    return bool(np.abs(s.taken - s.wanted).max() <= ROUNDINGS * float(np.finfo(dtype).eps) * size)


def _first_alone(found: Sequence[Step], dtype: str) -> str:
    rest = [s for s in found if s.number]
    if len(rest) >= ENOUGH and deviating(found, dtype) == {0}:
        return f"{FIRST_ALONE}{found[0].event} deviates; from where it ends, the others are as specified"
    return ""


def deviating(found: Sequence[Step], dtype: str) -> set[int]:
    """How many steps came before those that are not the specified ones."""
    return {s.number for s in found if not _equal(s, dtype)}


def turned(s: Scenario) -> Scenario:
    """The first event comes last: what is wrong with the first one alone, whichever it is, is with the new first."""
    return replace(s, events=(*s.events[1:], *s.events[:1]))


def _multiples(
    found: Sequence[Step], dtype: str, taken: Callable[[Step], Array], along: Callable[[Step], Array | None]
) -> list[tuple[Step, float]]:
    """The factor of each step along a vector; nothing if some step is no multiple of it."""
    out = []
    for s in found:
        v = along(s)
        if v is None:
            return []
        size, t = float(v @ v), taken(s)
        c = float(t @ v) / size if size else 0.0
        if not _small(t - c * v, s, dtype):
            return []
        if size:
            out.append((s, c))
    return out if len(out) >= ENOUGH else []


def _along(found: Sequence[Step], dtype: str, before: str, taken: Callable[[Step], Array]) -> str:
    """Whether what is taken is a multiple of a vector at hand."""
    for name in found[0].beside:
        factors = _multiples(found, dtype, taken, lambda s, n=name: s.beside.get(n))  # type: ignore[misc]
        said = named(factors, dtype)
        if said and not before:
            wanted = _multiples(found, dtype, lambda s: s.wanted, lambda s, n=name: s.beside.get(n))  # type: ignore[misc]
            if said == named(wanted, dtype):
                # What is as true of the claim is no deviation.
                continue
        if said:
            return f"every step is {before}{said} times {name}"
    return ""


def named(factors: Sequence[tuple[Step, float]], dtype: str) -> str:
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
    names = sorted(set.intersection(*(set(s.known) for s, _ in factors)))
    table = {n: np.array([s.known[n] for s, _ in factors]) for n in names}
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
