"""The table of docs/worst-cases.md about EF21: by which factor a form falls under any compressor of a kind."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from fedspec_proofs.claim import FEDNOVA, Dropped, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.engines import exact
from fedspec_proofs.engines.worst_case.falling import positive
from fedspec_proofs.engines.worst_case.proof import flaw
from fedspec_proofs.worst_cases import compressed, tabled
from fedspec_proofs.worst_cases.compressed import Compressed, among, problem_of

PATH = Path(compressed.__file__).with_suffix(".json")
"""Written by ``python scripts/worst_compressed.py``."""

RENEW = "python scripts/worst_compressed.py"


def rows() -> list[dict[str, Any]]:
    """The rounds of the table, the number of each, and multipliers that prove it."""
    return tabled.read(PATH)


def compressed_of(row: Mapping[str, Any]) -> Compressed:
    """The round of a row."""
    return Compressed(row["alpha"], row["eta"], form=tuple(map(tuple, row["form"])))


def wrong_with(row: Mapping[str, Any], *more: int) -> str:
    """Why a row proves nothing, of two clients or of more; empty where it does, by the rules as they stand."""
    r, bound, proof = compressed_of(row), Fraction(row["bound"]), tabled.proof_of(row)
    if wrong := tabled.wrong_with(row, r, problem_of):
        return wrong
    for n in more:
        one, divided = among(r, proof, n)
        if not positive(one.P):
            return f"its form of {n} clients is not positive definite"
        if wrong := flaw(problem_of(one, bound), divided):
            return f"of {n} clients: {wrong}"
    return ""


def grown(r: Compressed, curvature: Fraction, sent: Fraction) -> Fraction:
    """What the form becomes of 1 from w = 1, g_i = grad F_i(w); F_i = c x^2 / 2, and a part of each vector is sent."""
    known = [exact.vector(curvature)] * r.n
    x = exact.vector(1 - Fraction(r.eta) * curvature)
    _, ended = r.after(x, known, [lambda k, y: curvature * y] * r.n, lambda i, p: sent * p)
    u = [x[0], *(g[0] - curvature * x[0] for g in ended)]
    return tabled.value(r.P, u) / r.P[0][0]


_FOUND = rows()

MORE = (3, 5)
"""Of how many clients the multipliers are checked, divided among them; two come first."""


@claim(
    "fednova.compressed-factors",
    statement="In every round of EF21 after the first, of two clients or more, a positive definite quadratic form in "
    "w - x*, the mean of all g_i - grad F_i(w) and the mean square of what they are off it changes by at most the "
    "number of the table, however unlike they are; w is where the round's gradients were taken",
    source=Source(FEDNOVA, "ours; EF21 is external"),
    engine=Engine.WORST_CASE,
    verdict=Verdict.CERTIFIED,
    assumptions={
        "strong": "every F_i is mu-strongly convex, mu = L/10",
        "smooth": "every F_i has gradients that are Lipschitz with constant L = 1, in any dimension",
        "compressor": "|C(v) - v|^2 <= (1 - alpha) |v|^2 for every v",
    },
    sizes=f"checked for two clients, and for {' and '.join(map(str, MORE))} by their multipliers; for every n >= 2 by "
    "the argument in fedspec_proofs.worst_cases.more_clients; "
    f"alpha = {', '.join(dict.fromkeys(row['alpha'] for row in _FOUND))}; "
    f"eta = {', '.join(dict.fromkeys(row['eta'] for row in _FOUND))}",
)
def compressed_factors() -> Finding:
    for row in _FOUND:
        if wrong := wrong_with(row, *MORE):
            return Finding(Verdict.UNKNOWN, f"{compressed_of(row)}: {wrong}; {RENEW}")
    one, bound, without = compressed_of(_FOUND[0]), Fraction(_FOUND[0]["bound"]), {}
    for name, c, sent in (("strong", -1, 1), ("smooth", 100, 1), ("compressor", 1, -100)):
        ratio = grown(one, Fraction(c), Fraction(sent))
        words = f"F_i = {c} x^2/2, C(v) = {sent} v, {one}, from w = 1: the form grows by {float(ratio):.4g}"
        without[name] = Dropped(ratio > bound, f"{words}, and not {float(bound)}")
    return Finding(Verdict.CERTIFIED, tabled.evidence(_FOUND), without)
