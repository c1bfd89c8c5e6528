"""The inductions behind :mod:`fedspec_proofs.fedada2.sm3`: covers, states of z3 reals, invariants and claims.

Each function of this module gives, for a cover, a system whose step is the rule itself; an invariant that is preserved
by every step; and a claim that follows from it. Variables come from a draw: z3 reals for a proof, fractions for a run
of the same lines. Notation: s(j) is the sum of g2(j) so far, peak(r) the largest g2 in
S_r, M(r) the sum of the peaks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import combinations
from typing import Protocol, TypeAlias

import z3

from fedspec.arith import Array, Vector, array, greatest
from fedspec.client.sm3 import accumulate_i, accumulate_ii, begin
from fedspec.covers import Cover, named_cover
from fedspec.readings import CoverName
from fedspec_proofs.engines.algebra import variables
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.smt import Formulas, Induction, every

Accumulate: TypeAlias = Callable[[Array, Vector, Cover], tuple[Array, Vector]]
State: TypeAlias = dict[str, Vector]
Grows: TypeAlias = Callable[[Cover, Vector, Draw], Vector]
Known: TypeAlias = Callable[[Cover, State], Formulas]
Claimed: TypeAlias = Callable[[Cover, Vector, State, State], Formulas]
Limits: TypeAlias = Callable[[Vector, Draw], Formulas]


class Build(Protocol):
    """An induction for a cover."""

    def __call__(self, cover: Cover, draw: Draw = variables) -> Induction[State]:
        """Over the variables of the draw; z3 reals if not given."""
        ...


BOTH: dict[str, Accumulate] = {"SM3-I": accumulate_i, "SM3-II": accumulate_ii}


def families(d: int) -> Iterator[Cover]:
    """Every cover of d coordinates by different non-empty sets."""
    sets = [s for n in range(1, d + 1) for s in combinations(range(d), n)]
    for n in range(1, len(sets) + 1):
        for chosen in combinations(sets, n):
            if {j for s in chosen for j in s} == set(range(d)):
                yield Cover(chosen, d)


@cache
def small_covers() -> dict[str, Cover]:
    """Every cover of one, two or three coordinates."""
    return {str(c.sets): c for d in (1, 2, 3) for c in families(d)}


@cache
def larger_covers() -> dict[str, Cover]:
    """Covers of four to six coordinates, by name."""
    return {
        "singletons of 4": named_cover(CoverName.SINGLETONS, {"w": (4,)}),
        "one set of 4": named_cover(CoverName.ONE, {"w": (4,)}),
        "axes of 2x2": named_cover(CoverName.AXES, {"W": (2, 2)}),
        "axes of 2x3": named_cover(CoverName.AXES, {"W": (2, 3)}),
        "axes of 2x2 and a bias of 2": named_cover(CoverName.AXES, {"W": (2, 2), "b": (2,)}),
        "chain of 4": Cover(((0, 1), (1, 2), (2, 3)), 4),
        "ring of 4": Cover(((0, 1), (1, 2), (2, 3), (3, 0)), 4),
        "two triples of 4": Cover(((0, 1, 2), (1, 2, 3)), 4),
    }


def covers() -> dict[str, Cover]:
    """All covers that the proofs run over."""
    return {**small_covers(), **larger_covers()}


def _begin(cover: Cover, draw: Draw) -> State:
    start = begin(draw("x", cover.d), cover)
    return {"mu": start.mu, "nu": start.nu}


def _squares(cover: Cover, draw: Draw) -> tuple[Vector, Formulas]:
    g2 = draw("g2", cover.d)
    return g2, {"g2(j) >= 0": every(*(g >= 0 for g in g2))}


def _pairs(cover: Cover) -> list[tuple[int, int]]:
    return [(r, j) for r, S_r in enumerate(cover.sets) for j in S_r]


def _nonnegative(name: str, values: Vector) -> Formulas:
    return {f"{name} >= 0": every(*(v >= 0 for v in values))}


def _at_most(words: str, smaller: Vector, larger: Vector) -> Formulas:
    return {words: every(*(a <= b for a, b in zip(smaller, larger, strict=True)))}


def _equal(words: str, left: Vector, right: Vector) -> Formulas:
    return {words: every(*(a == b for a, b in zip(left, right, strict=True)))}


def _within(words: str, cover: Cover, by_coordinate: Vector, by_set: Vector) -> Formulas:
    return {words: every(*(by_coordinate[j] <= by_set[r] for r, j in _pairs(cover)))}


def _running(
    rule: Accumulate, total: str, grows: Grows, invariant: Known, claim: Claimed, limits: Limits | None = None
) -> Build:
    """Steps of a rule beside a running total, to which ``grows`` is added at each step."""

    def build(cover: Cover, draw: Draw = variables) -> Induction[State]:
        g2, squares = _squares(cover, draw)
        more = grows(cover, g2, draw)

        def step(state: State) -> State:
            mu, nu = rule(state["mu"], g2, cover)
            return {"mu": mu, "nu": nu, total: state[total] + more}

        start = _begin(cover, draw)
        initial = {**start, total: array([start["nu"][0]] * len(more), g2)}
        arbitrary = {"mu": draw("mu", len(cover.sets)), total: draw(total, len(more))}
        inputs = {**squares, **(limits(g2, draw) if limits else {})}
        return Induction(
            initial, arbitrary, step, inputs, partial(invariant, cover), lambda *states: claim(cover, g2, *states)
        )

    return build


def _sum(cover: Cover, g2: Vector, draw: Draw) -> Vector:
    return g2


def _peaks(cover: Cover, g2: Vector, draw: Draw) -> Vector:
    return array([greatest(g2[j] for j in S_r) for S_r in cover.sets], g2)


def upper_bound_induction(rule: Accumulate) -> Build:
    """s(j) <= nu(j), from the invariant s(j) <= mu(r) for j in S_r."""

    def invariant(cover: Cover, now: State) -> Formulas:
        below = _within("s(j) <= mu(r) for j in S_r", cover, now["s"], now["mu"])
        return {**_nonnegative("s(j)", now["s"]), **below}

    def claim(cover: Cover, g2: Vector, before: State, after: State) -> Formulas:
        return _at_most("s(j) <= nu(j)", after["s"], after["nu"])

    return _running(rule, "s", _sum, invariant, claim)


def order_induction(cover: Cover, draw: Draw = variables) -> Induction[State]:
    """s <= nu of SM3-II <= nu of SM3-I, from the invariants s(j) <= mu_II(r) for j in S_r and mu_II <= mu_I."""
    g2, inputs = _squares(cover, draw)

    def step(state: State) -> State:
        mu_i, nu_i = accumulate_i(state["mu_i"], g2, cover)
        mu_ii, nu_ii = accumulate_ii(state["mu_ii"], g2, cover)
        return {"mu_i": mu_i, "nu_i": nu_i, "mu_ii": mu_ii, "nu_ii": nu_ii, "s": state["s"] + g2}

    def invariant(state: State) -> Formulas:
        return {
            **_within("s(j) <= mu_II(r) for j in S_r", cover, state["s"], state["mu_ii"]),
            **_at_most("mu_II(r) <= mu_I(r)", state["mu_ii"], state["mu_i"]),
        }

    def claim(_: State, after: State) -> Formulas:
        return {
            **_at_most("s(j) <= nu_II(j)", after["s"], after["nu_ii"]),
            **_at_most("nu_II(j) <= nu_I(j)", after["nu_ii"], after["nu_i"]),
        }

    start, q = _begin(cover, draw), len(cover.sets)
    initial = {"mu_i": start["mu"], "mu_ii": start["mu"], "s": start["nu"]}
    arbitrary = {"mu_i": draw("mu_i", q), "mu_ii": draw("mu_ii", q), "s": draw("s", cover.d)}
    return Induction(initial, arbitrary, step, inputs, invariant, claim)


def monotone_induction(rule: Accumulate, *, witness: bool = True) -> Build:
    """No accumulator and no bound ever falls.

    SM3-II overwrites mu, so that this needs more than the state's order: each set has a coordinate j, a *witness*,
    that no set holds with a smaller mu. Without it (``witness=False``) the step is refuted.
    """

    overwrites = rule is accumulate_ii

    def build(cover: Cover, draw: Draw = variables) -> Induction[State]:
        g2, inputs = _squares(cover, draw)

        def step(state: State) -> State:
            mu, nu = rule(state["mu"], g2, cover)
            return {"mu": mu, "nu": nu}

        def invariant(state: State) -> Formulas:
            known = _within("nu(j) <= mu(r) for j in S_r", cover, state["nu"], state["mu"])
            return {**known, **_witnesses(cover, state["mu"])} if overwrites and witness else known

        def claim(before: State, after: State) -> Formulas:
            return {
                **_at_most("mu(r) never falls", before["mu"], after["mu"]),
                **_at_most("nu(j) never falls", before["nu"], after["nu"]),
            }

        arbitrary = {"mu": draw("mu", len(cover.sets)), "nu": draw("nu", cover.d)}
        return Induction(_begin(cover, draw), arbitrary, step, inputs, invariant, claim)

    return build


def _witnesses(cover: Cover, mu: Vector) -> Formulas:
    found = [
        z3.Or(*(every(*(mu[r] <= mu[b] for b in cover.holding(j))) for j in S_r)) for r, S_r in enumerate(cover.sets)
    ]
    return {"some j in S_r has mu(r) <= mu(b) for every S_b with j in it": every(*found)}


def ceiling_induction(rule: Accumulate) -> Build:
    """mu(r) <= M(r), the sum over steps of the largest square in S_r, and nu(j) <= M(r) for j in S_r."""

    def invariant(cover: Cover, now: State) -> Formulas:
        if rule is accumulate_i:
            return _equal("mu(r) = M(r)", now["mu"], now["M"])
        return _at_most("mu(r) <= M(r)", now["mu"], now["M"])

    def claim(cover: Cover, g2: Vector, before: State, after: State) -> Formulas:
        return _within("nu(j) <= M(r) for j in S_r", cover, after["nu"], after["M"])

    return _running(rule, "M", _peaks, invariant, claim)


def clock_induction(rule: Accumulate) -> Build:
    """0 <= mu, nu <= k G^2 after k steps, where g(j)^2 <= G^2."""

    def between(name: str, values: Vector, now: State) -> Formulas:
        return {**_nonnegative(name, values), f"{name} <= k G2": every(*(v <= now["kG2"][0] for v in values))}

    return _running(
        rule,
        "kG2",
        lambda cover, g2, draw: array([draw("G2")], g2),
        lambda cover, now: between("mu(r)", now["mu"], now),
        lambda cover, g2, before, after: between("nu(j)", after["nu"], after),
        lambda g2, draw: {"g2(j) <= G2": every(*(g <= draw("G2") for g in g2))},
    )


def singleton_induction(rule: Accumulate) -> Build:
    """nu = mu = s where every set is a singleton."""

    def invariant(cover: Cover, now: State) -> Formulas:
        return {"mu(r) = s(j) for S_r = {j}": every(*(now["mu"][r] == now["s"][j] for r, j in _pairs(cover)))}

    def claim(cover: Cover, g2: Vector, before: State, after: State) -> Formulas:
        return _equal("nu(j) = s(j)", after["nu"], after["s"])

    return _running(rule, "s", _sum, invariant, claim)


def one_set_induction(rule: Accumulate) -> Build:
    """With one set, mu = M; nu = M for SM3-I; nu(j) = (M one step ago) + g2(j) for SM3-II."""

    def claim(cover: Cover, g2: Vector, before: State, after: State) -> Formulas:
        if rule is accumulate_i:
            return {"nu(j) = M": every(*(n == after["M"][0] for n in after["nu"]))}
        return _equal("nu(j) = M before the step + g2(j)", after["nu"], before["M"][0] + g2)

    return _running(rule, "M", _peaks, lambda cover, now: _equal("mu = M", now["mu"], now["M"]), claim)


def _two_runs(
    rule: Accumulate, other: str, cover: Cover, alone: Cover, draw: Draw, more: Vector, inputs: Formulas, words: str
) -> Induction[State]:
    """The rule beside itself over another cover, or on other squares, where mu and nu are never smaller."""
    g2, q = draw("g2", cover.d), len(alone.sets)

    def step(state: State) -> State:
        mu, nu = rule(state["mu"], g2, cover)
        other_mu, other_nu = rule(state[f"{other}_mu"], more, alone)
        return {"mu": mu, "nu": nu, f"{other}_mu": other_mu, f"{other}_nu": other_nu}

    def invariant(state: State) -> Formulas:
        return _at_most(f"mu(r) <= mu(r) of {words}", state["mu"][:q], state[f"{other}_mu"])

    def claim(_: State, after: State) -> Formulas:
        return _at_most(f"nu(j) <= nu(j) of {words}", after["nu"], after[f"{other}_nu"])

    initial = {"mu": _begin(cover, draw)["mu"], f"{other}_mu": _begin(alone, draw)["mu"]}
    arbitrary = {"mu": draw("mu", len(cover.sets)), f"{other}_mu": draw(f"{other}_mu", q)}
    return Induction(initial, arbitrary, step, inputs, invariant, claim)


def refinement_induction(rule: Accumulate) -> Build:
    """One more set in the cover (its last) never raises nu, nor the mu of the sets that were there."""

    def build(cover: Cover, draw: Draw = variables) -> Induction[State]:
        g2, squares = _squares(cover, draw)
        coarse = Cover(cover.sets[:-1], cover.d)
        return _two_runs(rule, "coarse", cover, coarse, draw, g2, squares, "the coarser cover")

    return build


def comparison_induction(rule: Accumulate) -> Build:
    """Larger gradients never lower an accumulator or a bound."""

    def build(cover: Cover, draw: Draw = variables) -> Induction[State]:
        g2, squares = _squares(cover, draw)
        larger = draw("h2", cover.d)
        inputs = {**squares, **_at_most("g2(j) <= h2(j)", g2, larger)}
        return _two_runs(rule, "large", cover, cover, draw, larger, inputs, "the larger gradients")

    return build
