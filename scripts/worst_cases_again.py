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
from functools import reduce
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


def table_checks(page: str) -> Iterator[tuple[str, float, Callable[[], float]]]:
    """Yield every number of the page's round tables: its name, the number, and a function that recomputes it."""
    tables = {
        worst or "rounds": [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
        for worst, text in re.findall(
            r"<!-- (?:worst: (\w+)|rounds: distance) -->\n(.*?)\n<!-- end -->", page, re.DOTALL
        )
    }
    yield from of_rounds(tables["rounds"])
    yield from of_rates(page)
    for words, *cells in tables["best"][2:]:
        steps = [*map(int, words.split(","))]
        # What is shown at other rates stands in every second column.
        for head, cell in zip(tables["best"][0][1::2], cells[::2], strict=True):
            eta_l, number = cell.split(": ")
            # Where steps are equal, these are FedAvg's.
            how = (steps, float(Fraction(eta_l)), float(Fraction(head.split(" = ")[1])), nova(steps))
            yield f"best, steps {words}, {cell}, {head}", float(number), lambda how=how: distance(*how)
    for words, eta_l, *cells in tables["distance"][2:]:
        steps, rate = [*map(int, words.split(","))], float(Fraction(eta_l))
        for head, cell in zip(tables["distance"][0][2:], cells, strict=True):
            if cell.startswith("as"):
                continue
            w = nova(steps) if "fednova" in head else [1 / len(steps)] * len(steps)
            last = (steps, rate, float(head[-1]), w, float("fedprox" in head))
            yield f"{head}, {words}, {eta_l}", float(cell), lambda last=last: distance(*last)
    for zeta2, eta_l, *cells in tables["coefficients"][2:]:
        steps, avg, fednova, one, _, two, _ = ([1, 1, 3, 3], *cells)
        ways = (
            (avg, [0.25] * 4),
            (fednova, nova(steps)),
            (one, nova(steps, float(one.split(":")[0]) if ":" in one else None)),
            (two, [float(c) / 4 for c in two.split(":")[0].split(";") for _ in range(2)]),
        )
        for cell, w in ways:
            of = (steps, float(Fraction(eta_l)), float(Fraction(zeta2)), w)
            name = f"coefficients {[round(c, 4) for c in w]}, eta_l = {eta_l}, zeta^2 = {zeta2}"
            yield name, float(cell.split(": ")[-1]), lambda of=of: distance(*of)
    stored = json.loads((STORED / "one_round.json").read_text(encoding="utf-8"))
    P = {
        (row["algorithm"], ", ".join(map(str, row["steps"])), row["eta_l"]): [
            [float(Fraction(c)) for c in line] for line in row["form"]
        ]
        for row in stored
    }
    for words, eta_l, *cells in tables["factor"][2:]:
        for algorithm, cell in zip(("scaffold", "feddyn"), cells, strict=True):
            form = (algorithm, [*map(int, words.split(","))], float(Fraction(eta_l)), P[algorithm, words, eta_l])
            yield f"{algorithm}, {words}, {eta_l}", float(cell), lambda form=form: factor(*form)


def of_rates(page: str) -> Iterator[tuple[str, float, Callable[[], float]]]:
    """Yield the numbers at the best rates of SCAFFOLD, FedDyn and FedProx, with functions that recompute them."""
    stored = json.loads((STORED / "following_rates.json").read_text(encoding="utf-8"))
    there = {(row["best"]["algorithm"], tuple(row["best"]["steps"])): row["best"] for row in stored}
    for table, text in re.findall(r"<!-- rates: (\w+) -->\n(.*?)\n<!-- end -->", page, re.DOTALL):
        head, _, *lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
        for words, *cells in lines:
            steps = [*map(int, words.split(","))]
            for name, cell in zip(head[1::2], cells[::2], strict=True):
                rate, number = cell.split(": ")
                eta_l, said = float(Fraction(rate)), f"rates, {name}, steps {words}, {cell}"
                if table == "factors":
                    algorithm = name.strip("`")
                    P = [[float(Fraction(c)) for c in line] for line in there[algorithm, tuple(steps)]["form"]]
                    how = (algorithm, steps, eta_l, P)
                    yield said, float(number), lambda how=how: factor(*how)
                else:
                    last = (steps, eta_l, float(Fraction(name.split(" = ")[1])), nova(steps), 1.0)
                    yield said, float(number), lambda last=last: distance(*last)


def of_rounds(table: Sequence[Sequence[str]]) -> Iterator[tuple[str, float, Callable[[], float]]]:
    """Yield the numbers of several rounds, with functions that recompute them: at once up to :data:`AT_ONCE` rounds,
    or by chains.
    """
    for zeta2, eta_l, R, *cells in table[2:]:
        for k, cell in enumerate(cells):
            head = table[0][3 + k - k % 2]
            steps = [*map(int, head.split("` ")[1].split(","))]
            w = nova(steps) if "fednova" in head else [1 / len(steps)] * len(steps)
            of = (steps, float(Fraction(eta_l)), float(Fraction(zeta2)), w)
            name = f"{head}, {R} rounds, {eta_l}, zeta^2 = {zeta2}, {'chain' if k % 2 else 'at once'}"
            if k % 2:
                yield name, float(cell), lambda of=of, R=R: chained(*of, int(R))
            elif int(R) <= AT_ONCE:
                yield name, float(cell), lambda of=of, R=R: distance(*of, rounds=int(R))


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
