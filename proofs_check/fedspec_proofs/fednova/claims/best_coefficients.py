"""Best coefficients of a server, as in docs/worst-cases.md: upper bounds proved, lower bounds by examples."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from fedspec_proofs.claim import Dropped, Finding, Verdict, claim
from fedspec_proofs.engines.worst_case.certificates import attained_of
from fedspec_proofs.engines.worst_case.replay import Parabola, dropped
from fedspec_proofs.fednova.claims.strongly_convex import UNLIKE, flatter_or_steeper
from fedspec_proofs.worst_cases.coefficients import Ways, Weighed, free, least, nova, problem_of, same_on_forms
from fedspec_proofs.worst_cases.tabled import Table

TABLE: Table[Weighed] = Table("coefficients", "worst_cases", Weighed, (), problem_of)
"""Rounds with their best coefficients and the multipliers that prove each bound."""

WAYS: dict[str, Callable[[Weighed], Ways]] = {"free": free, "nova": nova}
"""Families of coefficients to optimise over: free, or FedNova's with any tau_eff."""


def _fedavg(r: Weighed) -> tuple[Fraction, ...]:
    """1/n."""
    return tuple(Fraction(1, len(r.steps)) for _ in r.kinds)


def _fednova(r: Weighed) -> tuple[Fraction, ...]:
    """tau_eff / (n tau_i), tau_eff the mean of the steps."""
    tau_eff, n = Fraction(sum(r.steps), len(r.steps)), len(r.steps)
    return tuple(tau_eff / (n * r.steps[kind[0]]) for kind in r.kinds)


OWN: dict[str, Callable[[Weighed], tuple[Fraction, ...]]] = {"fedavg": _fedavg, "fednova": _fednova}
"""Coefficients that FedAvg and FedNova use by default."""

WHICH = (*OWN, *WAYS)


def wrong_with(row: dict[str, Any]) -> str:
    """Reason why a row proves nothing; empty if its multipliers prove the bound.

    And where its coefficients are an algorithm's own, or functions show what no others are below.
    """
    r = TABLE.asked(row)
    if wrong := TABLE.wrong_with(row):
        return wrong
    if own := OWN.get(row["which"]):
        return "" if r.w == own(r) and same_on_forms(r, row["which"]) else f"its round is not that of {row['which']}"
    found = attained_of(row)
    if found is None:
        return "no functions show that others are no better"
    try:
        reached = least(r, found, WAYS[row["which"]](r))
    except ValueError as error:
        return str(error)
    return "" if reached >= Fraction(row["least"]) else f"its functions let some coefficients come to {float(reached)}"


def _without(row: dict[str, Any]) -> dict[str, Dropped]:
    """The instances that break a number where clients are less convex, steeper, or more unlike."""
    r = TABLE.asked(row)
    made, alike = problem_of(r, Fraction(row["bound"])), {f"s{i}": Fraction(0) for i in range(len(r.steps) - 1)}
    clients = [Parabola(Fraction(1, 10), Fraction(c)) for c in (-100, -100, 100, 100)]
    words = f"F_1, F_2 = (x + 100)^2/20, F_3, F_4 = (x - 100)^2/20, {r}, from x = 1"
    slopes = {"s0": Fraction(10), "s1": Fraction(10), "s2": Fraction(-10)}
    out = flatter_or_steeper(made, r, len(r.steps), **alike)
    return {**out, "zeta": dropped(made, clients, but="zeta", words=words, x=Fraction(1), **slopes)}


@claim(
    "fednova.best-coefficients",
    statement="With one coefficient for each number of steps, a round from |x - x*| <= 1 ends at |x_+ - x*|^2 at most "
    "the number of the table; with other coefficients it may end beyond the number below it, and FedNova with any "
    "tau_eff beyond its own",
    source="ours; the paper leaves tau_eff to who runs the server, and takes the mean of tau_i",
    verdict=Verdict.CERTIFIED,
    assumptions=UNLIKE,
    sizes="tau = (1, 1, 3, 3); eta_l = 1/8, 1/4, 1/2, 1; zeta^2 = 0, 1/4, 1",
)
def best_coefficients() -> Finding:
    found = TABLE.rows()
    for row in found:
        if wrong := wrong_with(row):
            return Finding(Verdict.UNKNOWN, f"{TABLE.asked(row)}: {wrong}; {TABLE.renew}")
    apart = [Fraction(row["bound"]) - Fraction(row["least"]) for row in found if "least" in row]
    evidence = (
        f"{len(found)} numbers by multipliers, {len(apart)} of them least by functions, both in fractions; at most "
        f"{float(max(apart)):.4f} apart"
    )
    row = next(row for row in found if (row["which"], row["zeta2"], row["eta_l"]) == ("free", "1", "1/4"))
    return Finding(Verdict.CERTIFIED, f"{evidence}; docs/worst-cases.md has them", _without(row))
