"""Errata: misprinted lines of the papers, each with numbers at which it fails as printed and holds as corrected.

A slip needs no row of its own. A paper's ``errata.toml`` has its lines, and one claim a paper runs them all. Formulas
are sympy's, over fractions; what is no arithmetic has words alone.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from fedspec.papers import Paper
from fedspec_proofs.claim import Claim, Finding, Severity, Verdict, claim
from fedspec_proofs.words import both

SIGNS = (" <= ", " >= ", " < ", " = ")


@dataclass(frozen=True, kw_only=True)
class Erratum:
    """A misprinted line of a paper.

    Attributes:
        place: place of the line in the paper.
        printed: the printed line.
        mended: the corrected line.
        severity: a slip, or a wrong constant.
        at: numbers at which the line is evaluated, by name.
        fails: the printed line as a formula that is false at these numbers; empty if it isn't arithmetic.
        holds: the corrected line as a formula that is true at these numbers; empty if it isn't arithmetic.
        words: description of the numbers; or the reason why there are none.
    """

    place: str
    printed: str
    mended: str
    severity: Severity
    at: Mapping[str, str] = field(default_factory=dict)
    fails: str = ""
    holds: str = ""
    words: str = ""


@cache
def errata(package: str) -> tuple[Erratum, ...]:
    """Errata of a paper, read from the ``errata.toml`` of its package."""
    text = (files(f"fedspec_proofs.{package}") / "errata.toml").read_text(encoding="utf-8")
    rows = tomllib.loads(text)["line"]
    return tuple(Erratum(**{**row, "severity": Severity(row["severity"])}) for row in rows)


def true_at(formula: str, at: Mapping[str, str]) -> tuple[bool, str]:
    """Evaluate a formula exactly at these numbers: True if it holds, and both of its sides as text."""
    import sympy

    numbers = {name: sympy.sympify(value) for name, value in at.items()}
    sign = next(sign for sign in SIGNS if sign in formula)
    left, right = (_number(side, numbers) for side in formula.split(sign))
    difference = sympy.simplify(left - right)
    holds = {
        " <= ": difference <= 0,
        " >= ": difference >= 0,
        " < ": difference < 0,
        " = ": sympy.Eq(difference, 0),
    }[sign]
    return bool(holds), f"{both(left)}{sign}{both(right)}"


def _number(side: str, numbers: Mapping[str, Any]) -> Any:
    import sympy

    value = sympy.sympify(side, locals=dict(numbers)).doit()
    if not value.is_real or value.free_symbols or value.has(sympy.Float):
        raise ValueError(f"errata: {side} is {value}; it must be an exact real number, without symbols")
    return value


def judged(rows: tuple[Erratum, ...]) -> Finding:
    """Refuted if every printed line fails and every corrected one holds; else unknown, with the first line at fault."""
    told = []
    for row in rows:
        if not row.fails:
            told.append(f"{row.place}: {row.words}")
            continue
        (stands, printed), (mended, sides) = (true_at(formula, row.at) for formula in (row.fails, row.holds))
        if stands or not mended:
            which = f"{row.fails} holds" if stands else f"{row.holds} fails"
            return Finding(Verdict.UNKNOWN, f"{row.place}: {which} at {dict(row.at)}")
        told.append(f"{row.place}: printed {printed}, which is false; mended {sides}")
    return Finding(Verdict.REFUTED, "\n".join(told))


def filed(paper: Paper) -> Claim:
    """Claim that checks all errata of a paper."""
    rows = errata(paper.package)
    decorate = claim(
        f"{paper.key}.errata",
        statement=f"The {len(rows)} lines of the table of errata hold as printed; of each, numbers at which it fails "
        "and holds as mended, where it is arithmetic",
        source="ours: the misprints of single lines",
        verdict=Verdict.REFUTED,
    )
    return decorate(lambda: judged(rows))
