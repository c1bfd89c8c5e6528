"""Exact worst cases of one round, certified: ``python scripts/worst_cases.py``; needs the extra ``certify``.

Writes contraction.json of the ledger (what is certified, with multipliers), the tables and picture of the page.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

from fedspec_proofs.contraction import HELD, Round, problem_of, state_of
from fedspec_proofs.engines.worst_case.falling import fitted, positive, rounded, without
from fedspec_proofs.engines.worst_case.forms import form
from fedspec_proofs.engines.worst_case.proof import Problem, flaw
from fedspec_proofs.engines.worst_case.solving import prove, worst
from fedspec_proofs.fednova import round_numbers
from fedspec_suite.report import labels
from fedspec_suite.report.styles import style_of

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE, PICTURE = DOCS / "worst-cases.md", DOCS / "pictures" / "worst-cases.svg"
PLACE = re.compile(r"(<!-- worst: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)

RATES = ("1/8", "1/4", "1/2", "1")
STEPS = ((1, 1), (2, 2), (4, 4), (1, 3), (2, 2, 2))
DIGITS = 1000
MOST = 4
"""The largest factor that a form is looked for with."""
ROOM = 1e-6
"""What a linear matrix inequality must leave, so that its solution may be rounded."""
MARKERS = {(1, 1): "o", (2, 2): "s", (4, 4): "^", (1, 3): "D"}
"""Of the steps that are drawn."""


def asked() -> Iterator[Round]:
    """Every round of the tables; of FedNova those in which it is not FedAvg."""
    for steps in STEPS:
        for eta_l in RATES:
            for algorithm in ("fedavg", "fedprox", *(["fednova"] if len(set(steps)) > 1 else [])):
                yield from (Round(algorithm, steps, eta_l, zeta2) for zeta2 in (0, 1))
            yield from (Round(algorithm, steps, eta_l) for algorithm in HELD)


def stilled(problem: Problem, r: Round) -> Problem:
    """The same with clients whose gradients at x* are zero, where they keep a vector.

    Such methods do not see a linear function that is added to an F_i if its vector moves with it, which a test shows
    on forms. So the program has directions in which nothing changes, and no room in them. What is found is checked
    without this.
    """
    if not r.keeps:
        return problem
    slopes = [f"s{i}" for i in range(len(r.steps) - 1)]
    given = {name: without(q, slopes) for name, q in problem.given.items()}
    return Problem(without(problem.claimed, slopes), given, without(problem.right, slopes))


def largest(r: Round) -> float:
    """The worst case, in floating point."""
    problem = stilled(problem_of(r), r)
    before = problem.claimed - stilled(problem_of(r, Fraction(1)), r).claimed
    given = {**problem.given, **({"start": before - 1} if r.keeps else {})}
    return worst(Problem(problem.claimed, given)).value


def falling(r: Round) -> Iterator[Round]:
    """The round with forms of its own, those with the least factor first; rounding costs each of them something."""
    before, after, given, _ = state_of(r)
    slopes = [f"s{i}" for i in range(len(r.steps) - 1)]
    before, after = ([form({n: c for n, c in y.parts if n not in slopes}) for y in u] for u in (before, after))
    given = {name: without(q, slopes) for name, q in given.items()}
    alike = [[0], *([i + 1 for i, s in enumerate(r.steps) if s == tau] for tau in sorted({*r.steps}))]
    low, high = 0, MOST * DIGITS
    while high - low > 1:
        middle = (low + high) // 2
        has_room = fitted(before, after, given, middle / DIGITS)[0] > ROOM
        low, high = (low, middle) if has_room else (middle, high)
    for factor, denominator in product(range(high, high + 4), (10**3, 10**5)):
        _, P = fitted(before, after, given, factor / DIGITS)
        if len(P) and positive(found := rounded(P, alike, denominator)):
            yield replace(r, form=tuple(tuple(map(str, row)) for row in found))


def certified(r: Round) -> dict[str, Any]:
    """The worst case of a round, rounded up to the next thousandth for which there is a certificate.

    Raises:
        ValueError: none was found.
    """
    ones = [*falling(r)] if r.keeps else [r]
    for value, one in sorted(((largest(one), one) for one in ones), key=lambda found: found[0]):
        first = math.ceil(value * DIGITS)
        for more in range(4):
            bound = Fraction(first + more, DIGITS)
            proof = prove(stilled(problem_of(one, bound), one))
            if proof and not flaw(problem_of(one, bound), proof):
                return {
                    **asdict(one),
                    "worst": round(value, 6),
                    "bound": str(bound),
                    "proof": {n: str(c) for n, c in proof.items()},
                }
    raise ValueError(f"worst cases: no certificate for {r} near {value}")


def by_round(rows: list[dict[str, Any]]) -> dict[tuple[Any, ...], dict[str, Any]]:
    """The rows by algorithm, steps, rate and zeta^2."""
    return {(row["algorithm"], tuple(row["steps"]), row["eta_l"], row["zeta2"]): row for row in rows}


def tables(rows: list[dict[str, Any]]) -> dict[str, str]:
    """The tables of the page, by name."""
    certain = by_round(rows)
    kinds = {"distance": [("fedavg", 0), ("fedavg", 1), ("fedprox", 0), ("fedprox", 1), ("fednova", 0), ("fednova", 1)]}
    kinds["factor"] = [(algorithm, 0) for algorithm in HELD]
    out = {}
    for name, columns in kinds.items():
        said = [f"`{a}`, zeta^2 = {z}" if name == "distance" else f"`{a}`" for a, z in columns]
        lines = [f"| steps | eta_l | {' | '.join(said)} |", f"| --- | --- |{' --- |' * len(columns)}"]
        for steps in STEPS:
            for eta_l in RATES:
                cells = []
                for algorithm, zeta2 in columns:
                    row = certain.get((algorithm, steps, eta_l, zeta2))
                    cells.append(f"{float(Fraction(row['bound'])):.3f}" if row else "as `fedavg`")
                lines.append(f"| {', '.join(map(str, steps))} | {eta_l} | {' | '.join(cells)} |")
        out[name] = "\n".join(lines)
    return out


def draw(rows: list[dict[str, Any]]) -> None:
    """The picture: the certified numbers against the rate; a line of each algorithm's own, a marker for the steps."""
    import matplotlib
    from matplotlib.figure import Figure

    certain = by_round(rows)
    figure = Figure(figsize=(11, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    ends: dict[Any, list[labels.End]] = {left: [], right: []}

    def line(axes: Any, algorithm: str, steps: tuple[int, ...], zeta2: int) -> None:
        heights = [float(Fraction(certain[algorithm, steps, eta_l, zeta2]["bound"])) for eta_l in RATES]
        style = style_of(algorithm)
        axes.plot([float(Fraction(eta_l)) for eta_l in RATES], heights, **style.line | {"marker": MARKERS[steps]})
        ends[axes].append(labels.End(1, heights[-1], f"{algorithm}, steps {', '.join(map(str, steps))}", style))

    for steps in MARKERS:
        line(left, "fedavg", steps, 1)
        line(right, "scaffold", steps, 0)
        line(right, "feddyn", steps, 0)
    line(left, "fednova", (1, 3), 1)
    for axes, title in (
        (left, "|x - x*|^2 after a round from distance 1, zeta = 1"),
        (right, "factor of the form that falls"),
    ):
        axes.axhline(1, color="grey", lw=0.8)
        axes.set(xlabel="eta_l L", ylim=(0, 3), xscale="log")
        # Names stand right of the panel, and the title goes on above them.
        axes.set_title(title, loc="left", size=11)
        axes.set_xticks([float(Fraction(r)) for r in RATES], RATES, minor=False)
        axes.minorticks_off()
    if not labels.label(figure, ends, 9.5):
        raise ValueError("worst cases: the picture has no room for its names; make it larger")
    with matplotlib.rc_context({"svg.hashsalt": "worst cases"}):
        figure.savefig(PICTURE, metadata={"Date": None, "Creator": None})


def main() -> None:
    """Find, write, draw."""
    with ProcessPoolExecutor(2) as pool:
        rows = list(pool.map(certified, asked()))
    round_numbers.PATH.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n", encoding="utf-8")
    written(rows)


def written(rows: list[dict[str, Any]]) -> None:
    """The page and its picture from what is certified."""
    made = tables(rows)
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(PLACE.sub(lambda m: f"{m[1]}{made[m[2]]}\n{m[3]}", page), encoding="utf-8")
    draw(rows)


if __name__ == "__main__":
    main()
