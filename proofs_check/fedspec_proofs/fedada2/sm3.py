"""SM3: its bounds on AdaGrad's accumulator, for any number of steps, by SMT induction over the rules themselves.

``accumulate_i`` and ``accumulate_ii`` of :mod:`fedspec.client.sm3` are run on z3 reals: one step from an arbitrary
state. The squared gradients are fresh variables g2 >= 0, which is all that a square of a real number is; that the
two steps ``sm3_i`` and ``sm3_ii`` feed g^2 to these rules is a claim of its own (:func:`squares`). What is known of the
state is an *inductive invariant*, printed with each proof: it holds at ``begin`` and one step preserves it. So a
claim holds after any number of steps, for any gradients.

The cover is fixed in each query. Proofs run over every cover of at most three coordinates (115 families of sets) and
over a list of larger ones. None of them needs a finite cover of a special shape; each docstring gives the argument for
any cover, in words. Notation: s(j) is the sum of g2(j) so far (AdaGrad's accumulator), peak(r) the largest g2 in S_r.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from fedspec.client.sm3 import Sm3, accumulate_i, accumulate_ii, sm3_i, sm3_ii
from fedspec.covers import Cover, named_cover
from fedspec.readings import CoverName
from fedspec_proofs.claim import FEDADA2, Dropped, Engine, Finding, Second, Source, Verdict, claim
from fedspec_proofs.engines import exact
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.exact import generator
from fedspec_proofs.engines.reals import real, reals
from fedspec_proofs.fedada2.inductive import Build as Sized
from fedspec_proofs.fedada2.inductive import inductive
from fedspec_proofs.fedada2.sm3_inductions import (
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

LOGIC = "QF_LRA"
BOXES = Source(FEDADA2, "Algs. 3 and 4 with z = 1 (L701, L717)")
OURS = Source(FEDADA2, "ours, about Algs. 3 and 4 with z = 1 (L701, L717)")
SIZES = "any number of steps; every cover of at most three coordinates and eight of four to six"
SQUARES = {"g2(j) >= 0": "the accumulators are fed squares"}


def _at(build: Build, cover: Cover) -> Sized:
    def sized(draw: Draw) -> object:
        return build(cover, draw)

    return sized  # type: ignore[return-value]


def _over(builds: Mapping[str, Build], over: Mapping[str, Cover], kept: tuple[str, ...] = ()) -> Finding:
    sizes = {f"{name}, {label}": _at(build, cover) for name, build in builds.items() for label, cover in over.items()}
    chain = next((s for s in sizes if "(0, 1), (1, 2)" in s), "")
    return inductive(sizes, kept=kept, ablate=chain, logic=LOGIC, runs=len(sizes), steps=3)


def over_both(build: Callable[[Accumulate], Build], over: Mapping[str, Cover], kept: tuple[str, ...] = ()) -> Finding:
    """One statement for SM3-I and SM3-II over the given covers."""
    return _over({name: build(rule) for name, rule in BOTH.items()}, over, kept)


def _also(finding: Finding, name: str, words: str, broken: bool) -> Finding:
    """A finding with an assumption of its structure dropped by an instance made by hand."""
    return replace(finding, dropped={**finding.dropped, name: Dropped(broken, words)})


@claim(
    "fedada2.sm3-squares",
    statement="A step of SM3-I or SM3-II changes its accumulators as the accumulate rule does from the squares g^2",
    source=BOXES,
    engine=Engine.SMT,
    verdict=Verdict.PROVED_AT_SIZES,
    sizes="123 covers: every one of at most three coordinates and eight of four to six",
)
def squares() -> Finding:
    """The bridge between the steps and the accumulate rules: both give the very same z3 terms.

    So whatever is proved of the accumulate rules for all g2 >= 0 holds of the steps for all real g. The same is then
    run on fractions, with a perfect square for every bound, so that the steps have exact roots.
    """
    pairs: tuple[tuple[Callable[..., Sm3], Accumulate], ...] = ((sm3_i, accumulate_i), (sm3_ii, accumulate_ii))
    compared = again = 0
    rng = generator()
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
            h = exact.vector(*[3 * int(rng.integers(1, 9))] * cover.d)
            begun = Sm3(x=h * 0, mu=exact.vector(*[0] * len(cover.sets)), nu=h * 0)
            moved = step(begun, h, cover, eta_l=exact.number(1), eps=exact.number(1))
            mu, nu = accumulate(begun.mu, h**2, cover)
            if (moved.mu != mu).any() or (moved.nu != nu).any():
                return Finding(Verdict.REFUTED, f"{step.__name__}, cover {cover.sets}, g = {h.tolist()}")
            again += 1
    words = f"{compared} terms of mu and nu identical, over {len(covers())} covers"
    return Finding(Verdict.PROVED, words, {}, Second(Engine.EXACT, again, "first steps on whole numbers"))


@claim(
    "fedada2.sm3-upper-bound",
    statement="nu(j) of SM3-I and of SM3-II is at least AdaGrad's accumulator s(j)",
    source=Source(FEDADA2, "Algs. 3 and 4 with z = 1 (L701, L717); used in the proof of Lemma 15 (L752)"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED_AT_SIZES,
    sizes=SIZES,
    assumptions={**SQUARES, "carried": "each step starts from the accumulators that the last one left"},
)
def upper_bound() -> Finding:
    """s <= nu for both rules.

    For any cover: let s(j) <= mu(r) whenever j is in S_r. SM3-I: mu'(r) >= mu(r) + g2(j) >= s'(j) for every set that
    holds j, so the smallest of them, nu'(j), is too. SM3-II: nu'(j) = min mu(r) + g2(j) >= s'(j), and mu'(r) is at
    least nu'(j) for j in S_r.
    """
    one, rows = Cover(((0,),), 1), (exact.vector(1), exact.vector(0))
    nu = [rule(rows[0] * 0, rows[1], one)[1][0] for rule in BOTH.values()]
    words = f"g^2 = 1, then 0 from accumulators set to 0 again: s = 1, nu = {nu[0]} and {nu[1]}"
    return _also(over_both(upper_bound_induction, covers()), "carried", words, max(nu) < 1)


@claim(
    "fedada2.sm3-order",
    statement="SM3-II is the tighter bound: s(j) <= nu(j) of SM3-II <= nu(j) of SM3-I",
    source=Source(FEDADA2, "in words, above Alg. 3 (L699)"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED_AT_SIZES,
    sizes=SIZES,
    assumptions=SQUARES,
)
def order() -> Finding:
    """The two rules are run side by side on the same gradients.

    For any cover: let mu_II <= mu_I. Then nu_II'(j) = min mu_II(r) + g2(j) <= mu_I(r) + g2(j) <= mu_I'(r) for every
    set that holds j, so nu_II'(j) <= nu_I'(j); and mu_II'(r), the largest nu_II'(j) in S_r, is at most mu_I'(r).
    """
    return _over({"SM3-I and SM3-II": order_induction}, covers())


@claim(
    "fedada2.sm3-monotone",
    statement="No mu(r) and no nu(j) of SM3-I or SM3-II ever falls",
    source=OURS,
    engine=Engine.SMT,
    verdict=Verdict.PROVED_AT_SIZES,
    sizes=SIZES,
    assumptions=SQUARES,
)
def monotone() -> Finding:
    """Monotone in the number of steps.

    For any cover: SM3-I adds. SM3-II overwrites mu, and from an arbitrary mu it may fall. But where mu(r) came from a
    maximum, the coordinate j that attained it has mu(b) >= nu(j) = mu(r) in every set b that holds it; so
    nu'(j) >= mu(r), hence mu'(r) >= mu(r). All other nu'(j) = min mu(b) + g2(j) >= nu(j), since mu(b) >= nu(j).
    """
    return over_both(monotone_induction, covers())


@claim(
    "fedada2.sm3-ceiling",
    statement="mu(r), and nu(j) for j in S_r, is at most the sum over steps of the largest g^2 in S_r; mu(r) of SM3-I "
    "equals it",
    source=OURS,
    engine=Engine.SMT,
    verdict=Verdict.PROVED_AT_SIZES,
    sizes=SIZES,
    assumptions=SQUARES,
)
def ceiling() -> Finding:
    """M(r) is the sum of peaks.

    For any cover: SM3-I adds peak(r) to mu(r) by definition. SM3-II: for j in S_r, nu'(j) <= mu(r) + g2(j)
    <= M(r) + peak(r) = M'(r), and mu'(r) is the largest of these.
    """
    return over_both(ceiling_induction, covers())


@claim(
    "fedada2.sm3-lemma17",
    statement="If |g(j)| <= G at every step then 0 <= mu(r), nu(j) <= k G^2 after k steps: Lemma 17 (z = 1, v_0 = 0) "
    "without its factor d",
    source=Source(FEDADA2, "Lemma 17 (L796)"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED_AT_SIZES,
    sizes=SIZES,
    assumptions={**SQUARES, "g2(j) <= G2": "|g(j)| <= G: Assumption 2"},
)
def lemma17() -> Finding:
    """The printed bound d k G^2 follows, since d >= 1.

    For any cover: a step adds at most G^2 to the accumulators that it takes its minimum or maximum of.
    """
    return over_both(clock_induction, covers(), kept=("G2",))


@claim(
    "fedada2.sm3-singletons",
    statement="With one set for each coordinate SM3-I and SM3-II are AdaGrad: nu(j) = s(j) exactly",
    source=OURS,
    engine=Engine.SMT,
    verdict=Verdict.PROVED_AT_SIZES,
    sizes="d <= 6, any number of steps",
    assumptions={**SQUARES, "singletons": "every set of the cover holds one coordinate"},
)
def singletons() -> Finding:
    """For any d the minimum and the maximum run over one number, so that both rules add g2(j) to mu(j)."""
    sizes = {f"singletons of {d}": named_cover(CoverName.SINGLETONS, {"w": (d,)}) for d in range(1, 7)}
    _, nu = accumulate_i(exact.vector(0), exact.vector(1, 0), Cover(((0, 1),), 2))
    words = f"one set of two coordinates, g^2 = (1, 0): nu = ({nu[0]}, {nu[1]}) of SM3-I, s = (1, 0)"
    return _also(over_both(singleton_induction, sizes), "singletons", words, nu[1] != 0)


@claim(
    "fedada2.sm3-one-set",
    statement="With one set for all coordinates mu is the sum of the largest squares; nu(j) of SM3-I equals it, "
    "nu(j) of SM3-II is its value one step ago plus g(j)^2",
    source=OURS,
    engine=Engine.SMT,
    verdict=Verdict.PROVED_AT_SIZES,
    sizes="d <= 6, any number of steps",
    assumptions={**SQUARES, "one set": "the cover is one set of all coordinates"},
)
def one_set() -> Finding:
    """For any d, with SM3-II: mu' = max of (mu + g2(j)) = mu + peak."""
    sizes = {f"one set of {d}": named_cover(CoverName.ONE, {"w": (d,)}) for d in range(1, 7)}
    mu, nu = accumulate_i(exact.vector(0, 0), exact.vector(1, 4), Cover(((0,), (1,)), 2))
    words = f"two singletons, g^2 = (1, 4): nu = ({nu[0]}, {nu[1]}), mu = ({mu[0]}, {mu[1]}), the largest square 4"
    return _also(over_both(one_set_induction, sizes), "one set", words, nu[0] != 4)


@claim(
    "fedada2.sm3-refinement",
    statement="One more set in the cover never raises any nu(j), for SM3-I and SM3-II",
    source=OURS,
    engine=Engine.SMT,
    verdict=Verdict.PROVED_AT_SIZES,
    sizes=SIZES,
    assumptions=SQUARES,
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


@claim(
    "fedada2.sm3-comparison",
    statement="Gradients of larger absolute value in every coordinate and step give mu and nu that are no smaller, for "
    "SM3-I and SM3-II",
    source=OURS,
    engine=Engine.SMT,
    verdict=Verdict.PROVED_AT_SIZES,
    sizes=SIZES,
    assumptions={**SQUARES, "g2(j) <= h2(j)": "the other gradients are larger in absolute value: |g_j| <= |h_j|"},
)
def comparison() -> Finding:
    """For any cover: sums, minima and maxima of larger numbers are larger. Signed ones need not: -1 above -2."""
    return over_both(comparison_induction, covers())
