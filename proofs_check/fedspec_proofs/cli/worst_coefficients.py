"""``fedspec worst-case ... --coefficients``: server weights for clients that take different numbers of steps."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from fedspec.entry import Algorithm
from fedspec.errors import ParameterError
from fedspec_proofs.cli.worst_case_lines import Words, in_words
from fedspec_suite.report import terminal

BEST = "best"


def refuse(
    row: Algorithm, numbers: dict[str, Fraction], rates: list[Fraction], rounds: int, lyapunov: bool, W: Words
) -> None:
    """Reject options that can't be combined with ``--coefficients``.

    Raises:
        ParameterError: the options ask for peers, another algorithm, several rounds, several rates, hyper-parameters,
            or a Lyapunov function.
    """
    from fedspec_proofs.fednova.claims.best_coefficients import OWN as own

    if W:
        raise ParameterError("--mixing: peers have no server, which --coefficients needs; leave one of the two out")
    if row.id not in own:
        raise ParameterError(f"--coefficients: they apply to {' and '.join(own)}, not to {row.id}; leave them out")
    if rounds > 1 or len(rates) > 1 or numbers or lyapunov:
        raise ParameterError("--coefficients: they need one round, one rate, no --set and no --lyapunov")


def report(
    row: Algorithm, steps: tuple[int, ...], eta_l: Fraction, text: str, mu: Fraction, zeta2: Fraction
) -> dict[str, Any]:
    """Bound for the given coefficients, or for the best ones: of any form, and of FedNova's form with any tau_eff."""
    from fedspec_proofs.fednova.claims import best_coefficients as rows
    from fedspec_proofs.worst_cases import coefficients
    from fedspec_proofs.worst_cases.search import coefficients as search

    r = coefficients.Weighed(steps, eta_l, zeta2, (), mu)
    kinds = [steps[kind[0]] for kind in r.kinds]

    def with_(which: str, w: tuple[Fraction, ...]) -> dict[str, Any]:
        bound, proof = search.proved(coefficients.Weighed(steps, eta_l, zeta2, w, mu))
        return _row(which, w, bound, proof)

    with terminal.spinner() as said:
        said(f"{row.id}: looking for coefficients")
        given = None if text == BEST else _given(text, kinds)
        found = [with_(row.id, rows.OWN[row.id](r))]
        if given:
            found.append(with_("given", given))
        else:
            for which, ways in (("best tau_eff", rows.WAYS["nova"]), ("best", rows.WAYS["free"])):
                best = search.best(r, ways(r))
                vectors = {n: [str(c) for c in v] for n, v in best.functions.vectors.items()}
                more = {"least": str(best.least), "functions": vectors}
                found.append(_row(which, best.round.w, best.bound, best.proof) | more)
                if which == "best tau_eff":
                    found[-1]["tau_eff"] = str(len(steps) * kinds[0] * best.round.w[0])
    about = {"algorithm": row.id, "steps": steps, "eta_l": str(eta_l), "mu": str(mu), "zeta2": str(zeta2)}
    return {**about, "of_steps": kinds, "coefficients": found}


def _row(which: str, w: tuple[Fraction, ...], bound: Fraction, proof: dict[str, Fraction]) -> dict[str, Any]:
    multipliers = in_words(proof)
    return {"which": which, "w": [str(c) for c in w], "bound": str(bound), "multipliers": multipliers}


def _given(text: str, kinds: list[int]) -> tuple[Fraction, ...]:
    try:
        w = tuple(Fraction(word.strip()) for word in text.split(","))
    except (ValueError, ZeroDivisionError):
        w = ()
    if len(w) != len(kinds):
        said = ", ".join(map(str, kinds))
        raise ParameterError(f"--coefficients {text}: expected {BEST}, or a fraction for each number of steps: {said}")
    return w


def lines(told: dict[str, Any]) -> list[str]:
    """Output lines of the report."""
    kinds, found = told["of_steps"], told["coefficients"]
    heads = ["", *(f"w of {tau} step{'s' * (tau > 1)}" for tau in kinds), "|x_+ - x*|^2 <=", "others at least"]
    table = [heads] + [[_label(row), *row["w"], _three(row["bound"]), _three(row.get("least"))] for row in found]
    wide = [max(len(line[k]) for line in table) for k in range(len(heads))]
    setting = f"eta_l = {told['eta_l']}; L = 1, mu = {told['mu']}, zeta^2 = {told['zeta2']}"
    return [
        f"{told['algorithm']}'s clients, steps {', '.join(map(str, told['steps']))}, {setting}",
        "x_+ = x + sum_i w_i (x_i - x), from |x - x*| <= 1",
        *("  ".join(cell.ljust(width) for cell, width in zip(line, wide, strict=True)).rstrip() for line in table),
        "proved: multipliers and functions, checked in fractions (in --json)",
    ]


def _label(row: dict[str, Any]) -> str:
    return f"{row['which']} = {row['tau_eff']}" if "tau_eff" in row else str(row["which"])


def _three(number: str | None) -> str:
    """Three digits rounded down, except for proved bounds, which are multiples of a thousandth."""
    return f"{math.floor(Fraction(number) * 1000) / 1000:.3f}" if number else ""
