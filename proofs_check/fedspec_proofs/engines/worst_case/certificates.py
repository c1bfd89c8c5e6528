"""Stored multipliers, found once by a solver, and the check in fractions that they still prove their claims.

A certificate holds multipliers and nothing that the check believes. To check it the rules are run on linear forms
again, as they stand: what a changed rule makes false no multipliers prove.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from fedspec.errors import FedspecError
from fedspec_proofs.claim import Dropped, Finding, Sharpness, Verdict, refutation
from fedspec_proofs.engines.worst_case.attained import Attained, replayed, share, unfit
from fedspec_proofs.engines.worst_case.forms import basis
from fedspec_proofs.engines.worst_case.open_rate import RATE
from fedspec_proofs.engines.worst_case.proof import Problem, flaw
from fedspec_proofs.engines.worst_case.rates import flaw_between
from fedspec_proofs.engines.worst_case.values import square
from fedspec_proofs.words import as_text

PATH = Path(__file__).with_name("certificates.json")

RENEW = "fedspec claims certify {}"
"""Command that recomputes the certificates of a claim; it needs the extra ``certify``."""


@dataclass(frozen=True)
class Case:
    """A case to certify at every rate from low to high or, if ``holds`` is False, to refute at ``high``.

    Attributes:
        make: function that makes the claim at a rate: a fraction, or
            :data:`~fedspec_proofs.engines.worst_case.open_rate.RATE`.
        low: the smallest rate.
        high: the largest rate.
        holds: True if the case is true; False: find and store functions that break it.
        drop: True if each term of the right side is left out in turn, at the largest rate.
    """

    make: Callable[[Any], Problem]
    low: Fraction
    high: Fraction
    holds: bool = True
    drop: bool = False


Cases = Mapping[str, Case]
"""Cases of a claim, by their sizes in words."""

CERTIFIED: dict[str, Cases] = {}
"""Cases of every claim that rests on certificates, by claim id; filled when the ledger is imported."""


@dataclass(frozen=True)
class Needs:
    """Lower and upper estimate of the part of the right side that a case needs at the largest rate.

    Attributes:
        most: a part of the right side that suffices.
        multipliers: multipliers that prove that this part suffices; empty if it is the whole right side.
        attained: functions that need almost as much; None if the given inequalities don't describe such functions
            completely.
    """

    most: Fraction
    multipliers: Mapping[str, Fraction]
    attained: Attained | None


@dataclass(frozen=True)
class Certificate:
    """Certificate of one case: multipliers at some rates, and how much of the right side is needed.

    Attributes:
        multipliers: multipliers of the inequalities, at some rates, from the smallest to the largest.
        needs: the needed part of the right side; None if the claim has no right side.
        lacking: for each omitted term, functions that then break the claim, or multipliers that still prove it; None if
            the search found neither.
    """

    multipliers: Mapping[Fraction, Mapping[str, Fraction]]
    needs: Needs | None = None
    lacking: Mapping[str, Attained | Mapping[str, Fraction] | None] = field(default_factory=dict)


@cache
def _stored() -> dict[str, dict[str, Any]]:
    body: dict[str, dict[str, Any]] = json.loads(PATH.read_text(encoding="utf-8")) if PATH.exists() else {}
    return body


def load(id: str, case: str) -> Certificate:
    """Load the stored certificate of one case.

    Raises:
        FedspecError: the case has no stored certificate.
    """
    try:
        row = _stored()[id][case]
    except KeyError:
        raise FedspecError(f"certificates: none for {case!r} of {id}; {RENEW.format(id)}") from None
    at = {Fraction(rate): _fractions(m) for rate, m in row["multipliers"].items()}
    lacking = {
        term: attained_of(one) or _fractions(one.get("multipliers", {})) or None
        for term, one in row.get("lacking", {}).items()
    }
    if "needs" not in row:
        return Certificate(at, lacking=lacking)
    needs = row["needs"]
    most, multipliers = Fraction(needs["most"]), _fractions(needs["multipliers"])
    return Certificate(at, Needs(most, multipliers, attained_of(needs)), lacking)


def attained_of(row: Mapping[str, Any]) -> Attained | None:
    """Read functions from a stored row; None if the row has none."""
    vectors = {n: tuple(map(Fraction, v)) for n, v in row.get("vectors", {}).items()}
    return Attained(vectors, _fractions(row["values"])) if vectors else None


def numbers_of(found: Attained | None) -> dict[str, Any]:
    """Write functions as JSON values; empty mappings if there are no functions."""
    vectors = {name: [*map(str, v)] for name, v in found.vectors.items()} if found else {}
    return {"vectors": vectors, "values": _words(found.values) if found else {}}


def _fractions(of: Mapping[str, str]) -> dict[str, Fraction]:
    return {name: Fraction(c) for name, c in of.items()}


def save(found: Mapping[str, Mapping[str, Certificate]]) -> None:
    """Write the certificates of some claims to disk; stored certificates of other claims stay."""
    # Another process may have written since the file was read.
    _stored.cache_clear()
    body = {**_stored(), **{id: {case: _row(c) for case, c in cases.items()} for id, cases in found.items()}}
    lines = [
        f"{json.dumps(id)}: {{\n"
        + ",\n".join(f"  {json.dumps(case)}: {json.dumps(row)}" for case, row in body[id].items())
        + "\n}"
        for id in sorted(body)
    ]
    whole = PATH.with_suffix(".new")
    whole.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    whole.replace(PATH)
    _stored.cache_clear()


def _row(c: Certificate) -> dict[str, Any]:
    row: dict[str, Any] = {"multipliers": {str(rate): _words(proof) for rate, proof in c.multipliers.items()}}
    if c.needs:
        row["needs"] = {"most": str(c.needs.most), "multipliers": _words(c.needs.multipliers)}
        if c.needs.attained:
            row["needs"] |= numbers_of(c.needs.attained)
    if c.lacking:
        row["lacking"] = {
            term: numbers_of(one) if isinstance(one, Attained) else {"multipliers": _words(one)} if one else {}
            for term, one in c.lacking.items()
        }
    return row


def _words(of: Mapping[str, Fraction]) -> dict[str, str]:
    return {name: str(c) for name, c in of.items()}


def fault(case: Case, certificate: Certificate) -> str:
    """Reason why a certificate does not prove its case; empty if it does."""
    rates = list(certificate.multipliers)
    if (rates[0], rates[-1]) != (case.low, case.high) or rates != sorted(rates):
        return f"it is about the rates {rates[0]} to {rates[-1]}"
    problem, at = case.make(case.high), certificate.multipliers
    wrong = flaw_between(case.make(RATE), at) if len(at) > 1 else flaw(problem, at[case.high])
    return wrong or (misjudged(problem, certificate.needs) if certificate.needs else "")


def lenient(problem: Problem, proof: Mapping[str, Fraction]) -> str:
    """Description of a deliberately wrong proof that the check accepts; empty if the check rejects all of them."""
    first, more = next(iter(proof)), 10**6 * square(basis("F0.g1"))
    spoiled = {
        "a multiplier twice": (problem, {**proof, first: 2 * proof[first]}),
        "10^6 |g|^2 more on the left side": (replace(problem, claimed=problem.claimed + more), proof),
    }
    return next((words for words, (claimed, by) in spoiled.items() if not flaw(claimed, by)), "")


def misjudged(problem: Problem, needs: Needs) -> str:
    """Reason why the stated part of the right side is wrong; empty if it is right."""
    enough = flaw(problem.within(needs.most), needs.multipliers) if needs.multipliers else ""
    if enough or not (needs.multipliers or needs.most == 1):
        return f"{needs.most} of the right side is not shown to be enough: {enough or 'no multipliers'}"
    if needs.attained is None:
        return ""
    wrong = unfit(problem, needs.attained) or (problem.play and replayed(problem.play, needs.attained))
    return f"the functions that attain it are none of the class: {wrong}" if wrong else ""


def noticeable(problem: Problem, one: Attained | Mapping[str, Fraction] | None) -> tuple[bool, str]:
    """True if dropping a term of the bound breaks the claim, with the evidence in words."""
    if isinstance(one, Attained):
        wrong = unfit(problem, one)
        ratio = share(problem, one)
        broken = not wrong and ratio > 1
        return (
            broken,
            f"broken by functions of {one.d} coordinates, {float(ratio):.4g}" if broken else f"unclear: {wrong}",
        )
    wrong = flaw(problem, one) if one else "neither functions nor multipliers were found"
    return False, f"unclear: {wrong}" if wrong else "certified all the same, it is not needed"


TIGHT = Fraction(999, 1000)
"""Part of its right side that a claim must need at least to be called tight."""


def certified(id: str, cases: Cases, without: Callable[[], Mapping[str, Dropped]]) -> Callable[[], Finding]:
    """Evidence of a claim by certificates: certified if every stored certificate still proves its case.

    Tight, if in every case functions of the class need all but a thousandth of the right side at the largest rate.

    Args:
        id: id of the claim.
        cases: the claimed cases, by their sizes.
        without: the outcomes after each assumption is dropped.
    """
    CERTIFIED[id] = cases

    def found() -> Finding:
        told, largest, shares = [], 0, []
        noticed: dict[str, bool] = {}
        for name, case in cases.items():
            certificate = load(id, name)
            wrong = fault(case, certificate)
            if wrong:
                return Finding(
                    Verdict.UNKNOWN, f"the certificate for {name} proves nothing: {wrong}; {RENEW.format(id)}"
                )
            proofs, problem = certificate.multipliers.values(), case.make(case.high)
            if passed := lenient(problem, certificate.multipliers[case.high]):
                return Finding(Verdict.UNKNOWN, f"the check is blind: {passed} proves {name} as well")
            words = f"{name}: {len(problem.given)} inequalities, order {len(problem.basis)}, {len(proofs)} rates"
            if certificate.needs:
                words += f"; of its right side {float(certificate.needs.most):.4g} is enough"
            if certificate.needs and certificate.needs.attained:
                shares.append(share(problem, certificate.needs.attained))
                words += (
                    f" and {float(shares[-1]):.4g} needed (functions of {certificate.needs.attained.d} coordinates)"
                )
            told.append(words)
            for term, one in certificate.lacking.items():
                seen = noticeable(problem.lacking(term), one)
                told += [f"without its term {term!r}: {seen[1]}"]
                noticed |= {term: noticed.get(term, False) or seen[0]} if one else {}
            largest = max(largest, *(c.denominator for proof in proofs for c in proof.values()))
        words = f"{len(cases)} certificates check in fractions, denominators up to {largest}\n" + "\n".join(told)
        sharpness = Sharpness(float(max(shares)), noticed) if shares else None
        tight = len(shares) == len(cases) and min(shares) >= TIGHT
        return Finding(Verdict.TIGHT if tight else Verdict.CERTIFIED, words, without(), sharpness=sharpness)

    return found


def refuted(case: Case, found: Attained, part: Fraction = Fraction(1)) -> Finding:
    """Refute a case, with a part of its right side, by functions of the class on which the rule is replayed.

    Args:
        case: the case, at its largest rate.
        found: the functions that break the case.
        part: the remaining factor of the right side.
    """
    problem = case.make(case.high).within(part)
    conditions = {f"{name} <= 0": found.of(q) <= 0 for name, q in problem.given.items()}
    if problem.play:
        wrong = replayed(problem.play, found)
        conditions[f"the rule, run on the functions that are built, ends there {wrong}".strip()] = not wrong
    vectors = "; ".join(f"{name} = {as_text(v)}" for name, v in found.vectors.items())
    right = found.of(problem.right)
    return refutation(
        instance=f"functions through the points of {vectors}; {found.d} coordinates",
        conditions=conditions,
        left=found.of(problem.claimed) + right,
        right=right,
    )


def with_less(id: str, part: Fraction) -> Finding:
    """Refute a claim's first case with a smaller right side, by stored functions that need nearly all of it."""
    name, case = next(iter(CERTIFIED[id].items()))
    needs = load(id, name).needs
    if needs is None or needs.attained is None:
        return Finding(Verdict.UNKNOWN, f"no functions are stored for {name} of {id}")
    return refuted(case, needs.attained, part)
