"""False statements about SM3 and mutants of its rules: each is refuted by a run from the first state.

z3 looks for squared gradients, of one or two steps, that break the claim; what it finds is replayed on fractions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from fedspec.arith import Array, Vector, greatest
from fedspec.client.sm3 import accumulate_i, accumulate_ii, begin
from fedspec.covers import Cover
from fedspec_proofs.claim import Claim, Engine, Finding, Verdict, false
from fedspec_proofs.engines import exact
from fedspec_proofs.engines.mutation import GreatestOfHolders, LeastOfSets, over
from fedspec_proofs.engines.reals import constants, reals
from fedspec_proofs.engines.smt import Outcome, Proof, every, prove
from fedspec_proofs.fedada2 import sm3
from fedspec_proofs.fedada2.sm3_inductions import Accumulate

LOGIC = "QF_LRA"


@dataclass(frozen=True)
class Refutation:
    """A run of a rule that breaks a claim.

    Attributes:
        proof: the query that found it.
        g2: the squared gradients of each step.
        mu: the accumulators at the end, recomputed on fractions.
        nu: the bounds at the end, recomputed on fractions.
        breaks: whether the claim is false of these fractions.
    """

    proof: Proof
    g2: tuple[tuple[Fraction, ...], ...]
    mu: tuple[Fraction, ...]
    nu: tuple[Fraction, ...]
    breaks: bool

    def __str__(self) -> str:
        def said(xs: Iterable[Fraction]) -> str:
            return "(" + ", ".join(map(str, xs)) + ")"

        return f"g^2 = {', then '.join(map(said, self.g2))} gives mu = {said(self.mu)}, nu = {said(self.nu)}"


Formula: TypeAlias = Callable[[Cover, list[Any], Any, Any], Any]
"""From the cover, the squared gradients of all steps, mu and nu: a truth value, symbolic or not."""


def refute(rule: Accumulate, cover: Cover, steps: int, claim: Formula) -> Refutation | Proof:
    """Look for gradients that break the claim after that many steps; replay what is found on fractions."""
    g2 = [reals(f"g2_{t}", cover.d) for t in range(steps)]
    mu, nu = _run(rule, cover, begin(reals("x", cover.d), cover).mu, g2)
    known = {f"g2_{t}(j) >= 0": every(g >= 0 for g in row) for t, row in enumerate(g2)}
    answer = prove({"the claim": claim(cover, g2, mu, nu)}, known, logic=LOGIC)
    if answer.outcome is not Outcome.COUNTEREXAMPLE:
        return answer
    rows = [exact.vector(*(answer.model.get(str(g), Fraction(0)) for g in row)) for row in g2]
    start = begin(exact.vector(*[0] * cover.d), cover).mu
    mu, nu = _run(rule, cover, start, rows)
    broken = prove({"the claim": claim(cover, [constants(r) for r in rows], constants(mu), constants(nu))})
    return Refutation(
        answer, tuple(tuple(r) for r in rows), tuple(mu), tuple(nu), broken.outcome is Outcome.COUNTEREXAMPLE
    )


def _run(rule: Accumulate, cover: Cover, mu: Array, g2: list[Vector]) -> tuple[Array, Vector]:
    nu = mu
    for row in g2:
        mu, nu = rule(mu, row, cover)
    return mu, nu


def forgetful(rule: Accumulate) -> Accumulate:
    """The rule begun anew at every step: mu = 0, as Algs. 2 and 4 literally say of steps without an update."""
    return lambda mu, g2, cover: rule(mu * 0, g2, cover)


def bound_holds(cover: Cover, g2: list[Any], mu: Any, nu: Any) -> Any:
    """s(j) <= nu(j)."""
    return every(s <= n for s, n in zip(sum(g2), nu, strict=True))


def equals_adagrad(cover: Cover, g2: list[Any], mu: Any, nu: Any) -> Any:
    """nu(j) <= s(j)."""
    return every(n <= s for s, n in zip(sum(g2), nu, strict=True))


def ceiling_holds(cover: Cover, g2: list[Any], mu: Any, nu: Any) -> Any:
    """mu(r) <= the sum of the largest squares."""
    return every(m <= sum(greatest(row[j] for j in S) for row in g2) for m, S in zip(mu, cover.sets, strict=True))


CHAIN = Cover(((0, 1), (1, 2)), 3)


def _refuted(rule: Accumulate, steps: int, claim: Formula) -> Finding:
    found = refute(rule, CHAIN, steps, claim)
    if isinstance(found, Proof):
        return Finding(Verdict.UNKNOWN, str(found))
    return Finding(Verdict.REFUTED if found.breaks else Verdict.UNKNOWN, str(found))


def _false(id: str, of: Claim, statement: str) -> Callable[[Callable[[], Finding]], Claim]:
    return false(f"fedada2.{id}", of=of, statement=statement, engine=Engine.SMT)


@_false("sm3-i-is-not-adagrad", sm3.singletons, "SM3-I over {0,1}, {1,2} has nu(j) <= s(j)")
def i_is_not_adagrad() -> Finding:
    """A set counts the largest of its squares for all of its coordinates."""
    return _refuted(accumulate_i, 1, equals_adagrad)


@_false("sm3-ii-is-not-adagrad", sm3.singletons, "SM3-II over {0,1}, {1,2} has nu(j) <= s(j)")
def ii_is_not_adagrad() -> Finding:
    """It shows at the second step."""
    return _refuted(accumulate_ii, 2, equals_adagrad)


@_false("sm3-ii-least-of-set", sm3.upper_bound, "SM3-II whose sets take their smallest bound still has s(j) <= nu(j)")
def ii_least_of_set() -> Finding:
    """A mutant: least in place of greatest."""
    return _refuted(over(LeastOfSets, accumulate_ii), 2, bound_holds)


@_false("sm3-i-least-of-set", sm3.upper_bound, "SM3-I whose sets add their smallest square still has s(j) <= nu(j)")
def i_least_of_set() -> Finding:
    """A mutant: least in place of greatest."""
    return _refuted(over(LeastOfSets, accumulate_i), 1, bound_holds)


@_false(
    "sm3-ii-greatest-accumulator",
    sm3.ceiling,
    "SM3-II whose coordinates take the largest mu(r) still has mu(r) <= sum of the largest squares",
)
def ii_greatest_accumulator() -> Finding:
    """A mutant: greatest in place of least."""
    return _refuted(over(GreatestOfHolders, accumulate_ii), 2, ceiling_holds)


@_false("sm3-i-forgetful", sm3.upper_bound, "SM3-I that does not carry mu still has s(j) <= nu(j)")
def i_forgetful() -> Finding:
    """Every step starts from nothing."""
    return _refuted(forgetful(accumulate_i), 2, bound_holds)


@_false("sm3-ii-forgetful", sm3.upper_bound, "SM3-II that does not carry mu still has s(j) <= nu(j)")
def ii_forgetful() -> Finding:
    """Every step starts from nothing."""
    return _refuted(forgetful(accumulate_ii), 2, bound_holds)
