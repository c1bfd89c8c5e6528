"""Combining proofs: checks that proof steps add up to a bound, and that none of them and no term can be spared.

Beside what :func:`~fedspec_proofs.engines.certificate.added` asks, every term of the right side is halved in turn. What
is to spare may still cover that; the evidence then says that half of the term would do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from fedspec_proofs.claim import Dropped, Engine, Finding, Second, Verdict
from fedspec_proofs.engines import Draw, Sum, added, adds_up, identities, symbolic
from fedspec_proofs.solvers import sympy


def summed(make: Callable[[Draw], Sum], names: Mapping[str, str]) -> Finding:
    """Proved if the steps add up, no step can be left out, and halving at least one term of the bound breaks the sum.

    Args:
        make: function that makes the links and the bound that is their sum; each of its terms is halved in turn.
        names: description of each link, by its name.
    """
    found = added(make, names)
    if found.verdict is not Verdict.PROVED:
        return found
    whole = make(symbolic)
    noticed: list[str] = []
    enough: list[str] = []
    for name, term in whole.right.items():
        if name:
            (enough if _never_negative(whole.spare - term / 2) else noticed).append(name)
    words = [f"from these links half of it is too little: {', '.join(noticed)}"] if noticed else []
    words += [f"half of it would do: {', '.join(enough)}"] if enough else []
    lost = [name for name, one in found.dropped.items() if not one.matters]
    words += [f"not needed: {', '.join(lost)}"] if lost else []
    verdict = Verdict.PROVED if noticed and not lost else Verdict.UNKNOWN
    return replace(found, verdict=verdict, evidence="\n".join([found.evidence, *words]))


def _never_negative(value: Any) -> bool:
    """True if a rational function of positive variables has no minus sign in it."""
    above, below = sympy.fraction(sympy.cancel(sympy.together(sympy.sympify(value))))
    return bool(sympy.expand(above).is_nonnegative and sympy.expand(below).is_positive)


def spoiled(make: Callable[[Draw], Sum], term: str = "") -> Finding:
    """Finding on whether the proof steps of a false variant add up: to the bound with half of a term."""
    return identities({"all sizes and constants": adds_up(make, halved=term)})


def followed(proof: Finding, looked: Finding, instances: int) -> Finding:
    """Finding of a proof that adds up the steps of other claims, with its own second engine, confirmed by a search."""
    found = confirmed((proof,), looked, instances)
    if found.verdict is not Verdict.PROVED:
        return found
    return replace(found, evidence=f"{proof.evidence}\n{looked.evidence}", second=proof.second)


def in_setting(found: Finding, *settings: Mapping[str, str]) -> Finding:
    """Mark assumptions as never dropped in a finding, since every instance of its search meets them by construction."""
    kept = Dropped(False, "part of the setting: every instance that is looked at has it, and none without it was made")
    names = {name for setting in settings for name in setting} - set(found.dropped)
    return replace(found, dropped={**found.dropped, **dict.fromkeys(sorted(names), kept)})


def confirmed(parts: Iterable[Finding], looked: Finding, instances: int) -> Finding:
    """Finding of several proofs together, confirmed by a search, which also drops the assumptions.

    Args:
        parts: the findings of the proofs.
        looked: the finding of the search.
        instances: number of instances of the search.
    """
    shown = list(parts)
    for part in (*shown, looked):
        if part.verdict not in (Verdict.PROVED, Verdict.CHECKED):
            return part
    evidence = "\n".join(part.evidence for part in shown)
    return Finding(Verdict.PROVED, evidence, looked.dropped, Second(Engine.SEARCH, instances, looked.evidence))
