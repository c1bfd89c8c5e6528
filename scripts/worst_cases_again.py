"""Recompute the tables of docs/worst-cases.md with PEPit, independently: ``python scripts/worst_cases_again.py``.

It needs PEPit (``pip install pepit clarabel``) and nothing of fedspec: the page says which rounds and numbers, the
rules are typed again here, PEPit has the class of functions and the program. Only the matrices of the forms that fall
are read from one_round.json and following_rates.json. It prints each number that PEPit does not find between the page's
and 0.004 below.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial, reduce
from importlib import import_module
from operator import add
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
STORED = ROOT / "proofs_check/fedspec_proofs/worst_cases"
MU, L = 0.1, 1.0
BELOW, EXACT = 4e-3, 2e-5
"""Allowed excess of the page's number over PEPit's, and allowed shortfall, which is the solver's error."""
AT_ONCE = 4
"""Largest number of rounds in one program; a program of eight takes minutes."""
Check = tuple[str, float, Callable[[], float]]
"""A number of the page: its name, the number, and a function that recomputes it."""


def total(terms: Sequence[Any]) -> Any:
    """Return the sum of terms, without starting from 0, which PEPit's vectors don't support."""
    return reduce(add, terms)


def clients(n: int, *, alike: bool) -> tuple[Any, list[Any], Any, list[Any]]:
    """Return a PEPit problem, n functions, the minimiser of their mean, and their gradients there."""
    pepit, of = import_module("PEPit"), import_module("PEPit.functions").SmoothStronglyConvexFunction
    problem = pepit.PEP()
    F = [problem.declare_function(of, mu=MU, L=L) for _ in range(n)]
    if alike:
        zero, best = import_module("PEPit.point").null_point, pepit.Point()
        for f in F:
            f.add_point((best, zero, pepit.Expression()))
        return problem, F, best, [zero] * n
    best = total(F).stationary_point()
    return problem, F, best, [f.gradient(best) for f in F]


def solved(problem: Any) -> float:
    """Solve the problem, and return its worst case."""
    return float(problem.solve(wrapper="cvxpy", verbose=0, solver="CLARABEL"))


def local(f: Any, x: Any, steps: int, eta_l: float, add_to: Callable[[Any], Any] | None = None) -> Any:
    """Return a client's model after its steps; ``add_to`` gives a vector that is added to each gradient."""
    y = x
    for _ in range(steps):
        y = y - eta_l * (f.gradient(y) + add_to(y) if add_to else f.gradient(y))
    return y


def distance(
    steps: Sequence[int], eta_l: float, zeta2: float, w: Sequence[float], pull: float = 0.0, rounds: int = 1
) -> float:
    """Return the largest |x + sum_i w_i (x_i - x) - x*|^2 after some rounds from |x - x*| <= 1."""
    problem, F, best, slopes = clients(len(steps), alike=not zeta2)
    x = problem.set_initial_point()
    problem.set_initial_condition((x - best) ** 2 <= 1)
    if zeta2:
        problem.add_constraint(total([s**2 for s in slopes]) / len(steps) <= zeta2)
    for _ in range(rounds):
        begun = x
        to = (lambda y, begun=begun: pull * (y - begun)) if pull else None
        x = x + total([c * (local(f, x, k, eta_l, to) - x) for c, f, k in zip(w, F, steps, strict=True)])
    problem.set_performance_metric((x - best) ** 2)
    return solved(problem)


def chained(steps: Sequence[int], eta_l: float, zeta2: float, w: Sequence[float], rounds: int) -> float:
    """Return a bound by single rounds, each from the number of the round before, rounded up to a thousandth."""
    start = 1.0
    for _ in range(rounds):
        start = math.ceil(1000 * start * distance(steps, eta_l, zeta2 / start, w) - EXACT) / 1000
    return start


def factor(algorithm: str, steps: Sequence[int], eta_l: float, P: Sequence[Sequence[float]]) -> float:
    """Return the largest growth of the quadratic form P in x - x* and all c_i - grad F_i(x*) in one round."""
    n = len(steps)
    problem, F, best, slopes = clients(n, alike=False)
    x, c = problem.set_initial_point(), [problem.set_initial_point() for _ in F]

    def value(x: Any, c: Sequence[Any]) -> Any:
        u = [x - best, *(a - s for a, s in zip(c, slopes, strict=True))]
        return total([P[i][j] * (u[i] * u[j]) for i in range(n + 1) for j in range(n + 1)])

    problem.set_initial_condition(value(x, c) <= 1)
    mean = total(c) / n
    if algorithm == "scaffold":
        y = [local(f, x, k, eta_l, lambda _, a=a: mean - a) for f, k, a in zip(F, steps, c, strict=True)]
        after = [a - mean + (x - z) / (k * eta_l) for a, z, k in zip(c, y, steps, strict=True)]
        end = total(y) / n
    else:
        y = [local(f, x, k, eta_l, lambda z, a=a: z - x - a) for f, k, a in zip(F, steps, c, strict=True)]
        after = [a - (z - x) for a, z in zip(c, y, strict=True)]
        end = (total(y) - total(after)) / n
    problem.set_performance_metric(value(end, after))
    return solved(problem)


def nova(steps: Sequence[int], tau_eff: float | None = None) -> list[float]:
    """Return FedNova's coefficients tau_eff / (n tau_i); tau_eff defaults to the mean of the steps."""
    n = len(steps)
    return [(sum(steps) / n if tau_eff is None else tau_eff) / (n * k) for k in steps]


def own(head: str, steps: Sequence[int]) -> list[float]:
    """Return the coefficients of the method that a column is of: FedNova's, or 1/n."""
    return nova(steps) if "fednova" in head else [1 / len(steps)] * len(steps)


def number(text: str) -> float:
    """Read a number or a fraction, after its name if it has one."""
    return float(Fraction(text.rsplit(" = ", maxsplit=1)[-1]))


def whole(text: str) -> list[int]:
    """Read the numbers of local steps."""
    return [*map(int, text.split(","))]


def forms(name: str) -> dict[tuple[str, ...], list[list[float]]]:
    """Return the stored matrices of the forms that fall, by algorithm, steps and rate."""
    stored = json.loads((STORED / f"{name}.json").read_text(encoding="utf-8"))
    return {
        (one["algorithm"], ", ".join(map(str, one["steps"])), one["eta_l"]): [[*map(number, r)] for r in one["form"]]
        for one in (row.get("best", row) for row in stored)
    }


def table_checks(page: str) -> Iterator[Check]:
    """Yield every number of the page's round tables."""
    tables = {
        name: [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
        for name, text in re.findall(r"<!-- (\w+: \w+) -->\n(.*?)\n<!-- end -->", page, re.DOTALL)
    }
    yield from of_rounds(tables["rounds: distance"])
    for name, pull in (("rates: factors", 0.0), ("rates: fedprox", 1.0), ("worst: best", 0.0)):
        yield from of_rates(name, tables[name], pull)
    head, _, *lines = tables["worst: distance"]
    for words, eta_l, *cells in lines:
        for name, cell in zip(head[2:], cells, strict=True):
            if not cell.startswith("as"):
                last = (number(name), own(name, whole(words)), float("fedprox" in name))
                yield f"{name}, {words}, {eta_l}", float(cell), partial(distance, whole(words), number(eta_l), *last)
    for zeta2, eta_l, *cells in tables["worst: coefficients"][2:]:
        steps, avg, fednova, one, _, two, _ = ([1, 1, 3, 3], *cells)
        ways = (
            (avg, [0.25] * 4),
            (fednova, nova(steps)),
            (one, nova(steps, float(one.split(":")[0]) if ":" in one else None)),
            (two, [float(c) / 4 for c in two.split(":")[0].split(";") for _ in range(2)]),
        )
        for cell, w in ways:
            name = f"coefficients {[round(c, 4) for c in w]}, eta_l = {eta_l}, zeta^2 = {zeta2}"
            yield name, float(cell.split(": ")[-1]), partial(distance, steps, number(eta_l), number(zeta2), w)
    P = forms("one_round")
    for words, eta_l, *cells in tables["worst: factor"][2:]:
        for algorithm, cell in zip(("scaffold", "feddyn"), cells, strict=True):
            form = (algorithm, whole(words), number(eta_l), P[algorithm, words, eta_l])
            yield f"{algorithm}, {words}, {eta_l}", float(cell), partial(factor, *form)


def of_rates(kind: str, table: Sequence[Sequence[str]], pull: float) -> Iterator[Check]:
    """Yield the numbers at the best rates; every second column has what is shown at other rates."""
    P = forms("following_rates")
    head, _, *lines = table
    for words, *cells in lines:
        steps = whole(words)
        for name, cell in zip(head[1::2], cells[::2], strict=True):
            rate, bound = cell.split(": ")
            if (method := name.strip("`")) == name:
                # Where steps are equal, these coefficients are FedAvg's.
                again = partial(distance, steps, number(rate), number(name), nova(steps), pull)
            else:
                again = partial(factor, method, steps, number(rate), P[method, words, rate])
            yield f"{kind}, {name}, steps {words}, {cell}", float(bound), again


def of_rounds(table: Sequence[Sequence[str]]) -> Iterator[Check]:
    """Yield the numbers of several rounds: at once up to :data:`AT_ONCE` rounds, or by chains."""
    for zeta2, eta_l, R, *cells in table[2:]:
        for k, cell in enumerate(cells):
            head = table[0][3 + k - k % 2]
            steps = whole(head.split("` ")[1])
            how = (steps, number(eta_l), number(zeta2), own(head, steps))
            name = f"{head}, {R} rounds, {eta_l}, zeta^2 = {zeta2}, {'chain' if k % 2 else 'at once'}"
            if k % 2 or int(R) <= AT_ONCE:
                yield name, float(cell), partial(chained if k % 2 else distance, *how, rounds=int(R))


def main() -> int:
    """Recompute each number, and print those that differ."""
    page = (ROOT / "docs" / "worst-cases.md").read_text(encoding="utf-8")
    count = wrong = 0
    most = least = 0.0
    for name, number, again in table_checks(page):
        off = number - again()
        count, most, least = count + 1, max(most, off), min(least, off)
        # Links of a chain are rounded up one by one, and some of them by one more.
        if not -EXACT <= off <= BELOW + 1e-3 * name.endswith("chain"):
            wrong += 1
            print(f"{name}: the page has {number:.3f}, PEPit {number - off:.6f}")
    print(f"{count} numbers made again, {wrong} of them others; PEPit's are from {-most:+.6f} to {-least:+.6f} of them")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
