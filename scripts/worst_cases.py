"""Certify exact worst cases of one round: ``python scripts/worst_cases.py``; needs the extra ``certify``.

Writes one_round.json of the ledger (what is certified, with multipliers), the tables and picture of the page.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

from fedspec_proofs.fednova.claims import best_coefficients, best_rates, round_numbers
from fedspec_proofs.fednova.claims.round_numbers import by_round
from fedspec_proofs.worst_cases.coefficients import Weighed
from fedspec_proofs.worst_cases.one_round import HELD, Round
from fedspec_proofs.worst_cases.search.coefficients import best, proved
from fedspec_proofs.worst_cases.search.following_rates import PART, cover, refined
from fedspec_proofs.worst_cases.search.one_round import certified
from fedspec_proofs.worst_cases.tabled import Row, markdown, three, write_sections
from fedspec_suite.report import line_labels
from fedspec_suite.report.styles import style_of

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "pictures" / "worst-cases.svg"

RATES = ("1/8", "1/4", "1/2", "1")
STEPS = ((1, 1), (2, 2), (4, 4), (1, 3), (1, 1, 3, 3))
UNEQUAL = (1, 1, 3, 3)
"""Steps for which the best server coefficients are certified; APART lists the values of zeta^2."""

APART = (Fraction(0), Fraction(1, 4), Fraction(1))

MARKERS = {(1, 1): "o", (2, 2): "s", (4, 4): "^", (1, 3): "D"}
"""Plot marker by the clients' steps."""


def table_rounds() -> Iterator[Round]:
    """Yield every round of the tables; for FedNova only those in which it differs from FedAvg."""
    for steps in STEPS:
        for eta_l in RATES:
            for algorithm in ("fedavg", "fedprox", *(["fednova"] if len(set(steps)) > 1 else [])):
                yield from (Round(algorithm, steps, eta_l, zeta2) for zeta2 in (0, 1))
            yield from (Round(algorithm, steps, eta_l) for algorithm in HELD)


def best_of(asked: Round) -> tuple[Row, list[Row]]:
    """Return the worst case at the best rate, and the proof that every other rate is hardly better."""
    row = row_of(refined(asked))
    plain = asked.steps == (1, 1) or not asked.zeta2
    part = Fraction(row["worst"]) if plain else PART * Fraction(row["bound"])
    least = Fraction(math.floor(part * 1000), 1000)
    about = {"steps": asked.steps, "zeta2": str(asked.zeta2), "least": str(least)}
    return row, [about | best_rates.row_of(some) for some in cover(asked, least)]


def row_of(r: Round) -> Row:
    """Certify the worst case of a round, and return its row for the ledger."""
    row = round_numbers.TABLE.kept(certified(r))
    if isinstance(r.zeta2, Fraction) and r.zeta2.denominator == 1:
        row["zeta2"] = int(r.zeta2)
    return row


def weighed(asked: tuple[str, Fraction, str]) -> Row:
    """Certify a round with an algorithm's coefficients, or the best of a family, and return its row for the ledger."""
    eta_l, zeta2, which = asked
    r = Weighed(UNEQUAL, Fraction(eta_l), zeta2, ())
    shown = {"steps": UNEQUAL, "eta_l": eta_l, "zeta2": str(zeta2), "which": which}
    if which in best_coefficients.OWN:
        one = replace(r, w=best_coefficients.OWN[which](r))
        bound, proof = proved(one)
        more: dict[str, Any] = {}
    else:
        found = best(r, best_coefficients.WAYS[which](r))
        one, bound, proof = found.round, found.bound, found.proof
        more = {
            "least": str(Fraction(math.floor(found.least * 1000), 1000)),
            "vectors": {name: [str(c) for c in v] for name, v in found.functions.vectors.items()},
            "values": {name: str(c) for name, c in found.functions.values.items()},
        }
    numbers = {"w": [str(w) for w in one.w], "bound": str(bound), "proof": {name: str(c) for name, c in proof.items()}}
    return {**shown, **numbers, **more}


def of_coefficients(rows: list[Row]) -> str:
    """Format the table of a server's coefficients, times n: for clients with one and with three steps, or tau_eff."""
    heads = (
        "zeta^2",
        "eta_l",
        "`fedavg`: 1; 1",
        "`fednova`: 2; 2/3",
        "best tau_eff",
        "at least",
        "best two",
        "at least",
    )
    lines = []
    there = {(row["zeta2"], row["eta_l"], row["which"]): row for row in rows}
    for zeta2, eta_l in product(map(str, APART), RATES):
        four = [there[zeta2, eta_l, which] for which in ("fedavg", "fednova", "nova", "free")]
        cells = []
        for row in four:
            said = "; ".join(
                f"{float(len(UNEQUAL) * Fraction(w)):.5g}" for w in row["w"][: 2 - (row["which"] == "nova")]
            )
            number = three(row["bound"])
            cells += [f"{said}: {number}", three(row["least"])] if "least" in row else [number]
        lines.append([zeta2, eta_l, *cells])
    return markdown(heads, lines)


def tables(rows: list[Row]) -> dict[str, str]:
    """Return the page's tables, by name."""
    certain = by_round(rows)
    kinds = {"distance": [("fedavg", 0), ("fedavg", 1), ("fedprox", 0), ("fedprox", 1), ("fednova", 0), ("fednova", 1)]}
    kinds["factor"] = [(algorithm, 0) for algorithm in HELD]
    out = {}
    for name, columns in kinds.items():
        lines = []
        for steps, eta_l in product(STEPS, RATES):
            found = [certain.get((algorithm, steps, eta_l, Fraction(zeta2))) for algorithm, zeta2 in columns]
            cells = [three(row["bound"]) if row else "as `fedavg`" for row in found]
            lines.append([", ".join(map(str, steps)), eta_l, *cells])
        said = [f"`{a}`, zeta^2 = {z}" if name == "distance" else f"`{a}`" for a, z in columns]
        out[name] = markdown(["steps", "eta_l", *said], lines)
    out["best"] = best_rates.table("averaged", best_rates.averaged(numbers=rows))
    out["coefficients"] = of_coefficients(best_coefficients.TABLE.rows())
    return out


def draw(rows: list[Row]) -> None:
    """Plot the certified numbers over the rate: a line style for each algorithm, a marker for the steps."""
    import matplotlib
    from matplotlib.figure import Figure

    certain = by_round(rows)
    figure = Figure(figsize=(11, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    ends: dict[Any, list[line_labels.End]] = {left: [], right: []}

    def line(axes: Any, algorithm: str, steps: tuple[int, ...], zeta2: int) -> None:
        heights = [float(Fraction(certain[algorithm, steps, eta_l, zeta2]["bound"])) for eta_l in RATES]
        style = style_of(algorithm)
        axes.plot([float(Fraction(eta_l)) for eta_l in RATES], heights, **style.line | {"marker": MARKERS[steps]})
        ends[axes].append(line_labels.End(1, heights[-1], f"{algorithm}, steps {', '.join(map(str, steps))}", style))

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
    if not line_labels.label(figure, ends, 9.5):
        raise ValueError("worst cases: the picture has no room for the lines' names; make it larger")
    with matplotlib.rc_context({"svg.hashsalt": "worst cases"}):
        figure.savefig(PICTURE, metadata={"Date": None, "Creator": None})


def main() -> None:
    """Certify all rounds, and write the ledger, the tables and the plot."""
    with ProcessPoolExecutor(2) as pool:
        rows = list(pool.map(row_of, table_rounds()))
        there = by_round(rows)
        best = list(pool.map(best_of, best_rates.ASKED["averaged"]))
        rows += [row for row, _ in best if next(iter(by_round([row]))) not in there]
        some = list(pool.map(weighed, product(RATES, APART, best_coefficients.WHICH)))
    round_numbers.TABLE.write(rows)
    best_coefficients.TABLE.write(some)
    best_rates.AVERAGED.write(piece for _, pieces in best for piece in pieces)
    write_sections({f"worst: {name}": f"{text}\n" for name, text in tables(rows).items()})
    draw(rows)


if __name__ == "__main__":
    main()
