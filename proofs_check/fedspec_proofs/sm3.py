"""SM3: its bounds on AdaGrad's accumulator, for any number of steps, by SMT induction over the rules themselves.

``accumulate_i`` and ``accumulate_ii`` of :mod:`fedspec.client.sm3` are run on z3 reals: one step from an arbitrary
state. The squared gradients are fresh variables g2 >= 0, which is all that a square of a real number is; that the
two steps ``sm3_i`` and ``sm3_ii`` feed g^2 to these rules is a proof of its own (:func:`squares`). What is known of the
state is an *inductive invariant*, printed with each proof: it holds at ``begin`` and one step preserves it. So a
claim holds after any number of steps, for any gradients.

The cover is fixed in each query. Proofs run over every cover of at most three coordinates (115 families of sets) and
over a list of larger ones. None of them needs a finite cover of a special shape; each docstring gives the argument for
any cover, in words. Notation: s(j) is the sum of g2(j) so far (AdaGrad's accumulator), peak(r) the largest g2 in S_r.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from fedspec.client.sm3 import Sm3, accumulate_i, accumulate_ii, sm3_i, sm3_ii
from fedspec.covers import Cover, named_cover
from fedspec.readings import CoverName
from fedspec_proofs.engines.reals import real, reals
from fedspec_proofs.engines.smt import Proof
from fedspec_proofs.record import FEDADA2, Finding, Source, Verdict, proof
from fedspec_proofs.sm3_inductions import (
    BOTH,
    Accumulate,
    Build,
    ceiling_induction,
    clock_induction,
    comparison_induction,
    covers,
    monotone_induction,
    one_set_induction,
    order_induction,
    refinement_induction,
    singleton_induction,
    upper_bound_induction,
)

ENGINE = "SMT induction (z3, linear real arithmetic)"
LOGIC = "QF_LRA"


@dataclass
class Tally:
    """Proofs of one statement over several covers and rules."""

    proofs: list[Proof] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def add(self, name: str, build: Build, over: dict[str, Cover]) -> None:
        """Run one induction for every cover."""
        last: tuple[Proof, Proof] | None = None
        for label, cover in over.items():
            last = build(cover).prove(logic=LOGIC)
            self.proofs.extend(last)
            self.failures.extend(f"{name}, cover {label}: {p}" for p in last if not p)
        assert last is not None
        base, step = last
        self.lines.append(f"{name}, {len(over)} covers: invariant {'; '.join(base.claims)}")
        self.lines.append(f"  step: from {'; '.join(step.assumptions)} follows {'; '.join(step.claims)}")

    def finding(self) -> Finding:
        """Proved if every query was."""
        slowest = max(p.seconds for p in self.proofs)
        counted = f"{len(self.proofs)} queries, slowest {slowest:.3f} s"
        verdict = Verdict.UNKNOWN if self.failures else Verdict.PROVED
        return Finding(verdict, "\n".join([counted, *self.lines, *self.failures]))


def over_both(build: Callable[[Accumulate], Build], over: dict[str, Cover]) -> Finding:
    """One statement for SM3-I and SM3-II over the given covers."""
    tally = Tally()
    for name, rule in BOTH.items():
        tally.add(name, build(rule), over)
    return tally.finding()


@proof(
    "fedada2.sm3-squares",
    statement="A step of SM3-I or SM3-II changes its accumulators as the accumulate rule does from the squares g^2",
    source=Source(FEDADA2, "Algs. 3 and 4 with z = 1 (L701, L717)"),
    engine="SMT (z3, identical terms)",
)
def squares() -> Finding:
    """The bridge between the steps and the accumulate rules: both give the very same z3 terms.

    So whatever is proved of the accumulate rules for all g2 >= 0 holds of the steps for all real g.
    """
    compared = 0
    pairs: tuple[tuple[Callable[..., Sm3], Accumulate], ...] = ((sm3_i, accumulate_i), (sm3_ii, accumulate_ii))
    for cover in covers().values():
        x, g = reals("x", cover.d), reals("g", cover.d)
        for step, accumulate in pairs:
            state = Sm3(x=x, mu=reals("mu", len(cover.sets)), nu=reals("nu", cover.d))
            after = step(state, g, cover, eta_l=real("eta_l"), eps=real("eps"))
            mu, nu = accumulate(state.mu, g**2, cover)
            for left, right in zip((*after.mu, *after.nu), (*mu, *nu), strict=True):
                if not left.term.eq(right.term):
                    return Finding(Verdict.UNKNOWN, f"{step.__name__}, cover {cover.sets}: {left} is not {right}")
                compared += 1
    return Finding(Verdict.PROVED, f"{compared} terms of mu and nu identical, over {len(covers())} covers")


@proof(
    "fedada2.sm3-upper-bound",
    statement="After any number of steps nu(j) of SM3-I and of SM3-II is at least AdaGrad's accumulator s(j)",
    source=Source(FEDADA2, "Algs. 3 and 4 with z = 1 (L701, L717); used in the proof of Lemma 15 (L752)"),
    engine=ENGINE,
)
def upper_bound() -> Finding:
    """s <= nu for both rules.

    For any cover: let s(j) <= mu(r) whenever j is in S_r. SM3-I: mu'(r) >= mu(r) + g2(j) >= s'(j) for every set that
    holds j, so the smallest of them, nu'(j), is too. SM3-II: nu'(j) = min mu(r) + g2(j) >= s'(j), and mu'(r) is at
    least nu'(j) for j in S_r.
    """
    return over_both(upper_bound_induction, covers())


@proof(
    "fedada2.sm3-order",
    statement="SM3-II is the tighter bound: s(j) <= nu(j) of SM3-II <= nu(j) of SM3-I after any number of steps",
    source=Source(FEDADA2, "in words, above Alg. 3 (L699)"),
    engine=ENGINE,
)
def order() -> Finding:
    """The two rules are run side by side on the same gradients.

    For any cover: let mu_II <= mu_I. Then nu_II'(j) = min mu_II(r) + g2(j) <= mu_I(r) + g2(j) <= mu_I'(r) for every
    set that holds j, so nu_II'(j) <= nu_I'(j); and mu_II'(r), the largest nu_II'(j) in S_r, is at most mu_I'(r).
    """
    tally = Tally()
    tally.add("SM3-I and SM3-II", order_induction, covers())
    return tally.finding()


@proof(
    "fedada2.sm3-monotone",
    statement="No mu(r) and no nu(j) of SM3-I or SM3-II ever falls",
    source=Source(FEDADA2, "ours, about Algs. 3 and 4 with z = 1 (L701, L717)"),
    engine=ENGINE,
)
def monotone() -> Finding:
    """Monotone in the number of steps.

    For any cover: SM3-I adds. SM3-II overwrites mu, and from an arbitrary mu it may fall. But where mu(r) came from a
    maximum, the coordinate j that attained it has mu(b) >= nu(j) = mu(r) in every set b that holds it; so
    nu'(j) >= mu(r), hence mu'(r) >= mu(r). All other nu'(j) = min mu(b) + g2(j) >= nu(j), since mu(b) >= nu(j).
    """
    return over_both(monotone_induction, covers())


@proof(
    "fedada2.sm3-ceiling",
    statement="mu(r), and nu(j) for j in S_r, is at most the sum over steps of the largest g^2 in S_r; mu(r) of SM3-I "
    "equals it",
    source=Source(FEDADA2, "ours, about Algs. 3 and 4 with z = 1 (L701, L717)"),
    engine=ENGINE,
)
def ceiling() -> Finding:
    """M(r) is the sum of peaks.

    For any cover: SM3-I adds peak(r) to mu(r) by definition. SM3-II: for j in S_r, nu'(j) <= mu(r) + g2(j)
    <= M(r) + peak(r) = M'(r), and mu'(r) is the largest of these.
    """
    return over_both(ceiling_induction, covers())


@proof(
    "fedada2.sm3-lemma17",
    statement="If |g(j)| <= G at every step then 0 <= mu(r), nu(j) <= k G^2 after k steps: Lemma 17 (z = 1, v_0 = 0) "
    "without its factor d",
    source=Source(FEDADA2, "Lemma 17 (L796)"),
    engine=ENGINE,
)
def lemma17() -> Finding:
    """The printed bound d k G^2 follows, since d >= 1.

    For any cover: a step adds at most G^2 to the accumulators that it takes its minimum or maximum of.
    """
    return over_both(clock_induction, covers())


@proof(
    "fedada2.sm3-singletons",
    statement="With one set for each coordinate SM3-I and SM3-II are AdaGrad: nu(j) = s(j) exactly",
    source=Source(FEDADA2, "ours, about Algs. 3 and 4 with z = 1 (L701, L717)"),
    engine=ENGINE,
)
def singletons() -> Finding:
    """For any d the minimum and the maximum run over one number, so that both rules add g2(j) to mu(j)."""
    return over_both(
        singleton_induction,
        {f"singletons of {d}": named_cover(CoverName.SINGLETONS, {"w": (d,)}) for d in range(1, 7)},
    )


@proof(
    "fedada2.sm3-one-set",
    statement="With one set for all coordinates mu is the sum of the largest squares; nu(j) of SM3-I equals it, "
    "nu(j) of SM3-II is its value one step ago plus g(j)^2",
    source=Source(FEDADA2, "ours, about Algs. 3 and 4 with z = 1 (L701, L717)"),
    engine=ENGINE,
)
def one_set() -> Finding:
    """For any d, with SM3-II: mu' = max of (mu + g2(j)) = mu + peak."""
    return over_both(
        one_set_induction, {f"one set of {d}": named_cover(CoverName.ONE, {"w": (d,)}) for d in range(1, 7)}
    )


@proof(
    "fedada2.sm3-refinement",
    statement="One more set in the cover never raises any nu(j), for SM3-I and SM3-II",
    source=Source(FEDADA2, "ours, about Algs. 3 and 4 with z = 1 (L701, L717)"),
    engine=ENGINE,
)
def refinement() -> Finding:
    """Each cover is compared with what is left of it without one of its sets, where that is still a cover.

    For any cover: every minimum runs over one set more, and the mu of the old sets are maxima of smaller numbers.
    """
    return over_both(refinement_induction, dict(_refinable(covers())))


def _refinable(over: dict[str, Cover]) -> Iterator[tuple[str, Cover]]:
    for label, cover in over.items():
        for r, extra in enumerate(cover.sets):
            rest = cover.sets[:r] + cover.sets[r + 1 :]
            if {j for s in rest for j in s} == set(range(cover.d)):
                yield f"{label}, of which {extra} is new", Cover((*rest, extra), cover.d)


@proof(
    "fedada2.sm3-comparison",
    statement="Gradients larger in every coordinate and step give larger mu and nu, for SM3-I and SM3-II",
    source=Source(FEDADA2, "ours, about Algs. 3 and 4 with z = 1 (L701, L717)"),
    engine=ENGINE,
)
def comparison() -> Finding:
    """For any cover: sums, minima and maxima of larger numbers are larger."""
    return over_both(comparison_induction, covers())
