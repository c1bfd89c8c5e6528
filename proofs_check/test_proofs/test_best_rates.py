"""Best local rates: numbers, functions that follow the rate by hand, and what is spoiled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, permutations
from math import comb
from typing import Any

import numpy as np
import pytest
from test_proofs.scripts import PAGE, script

from fedspec_proofs.engines.worst_case.falling import positive
from fedspec_proofs.engines.worst_case.open_rate import RATE
from fedspec_proofs.engines.worst_case.proof import flaw, semidefinite
from fedspec_proofs.engines.worst_case.rates import between
from fedspec_proofs.engines.worst_case.values import Value
from fedspec_proofs.fednova.claims.best_rates import ASKED, FOLLOWED, Best, averaged, best_of
from fedspec_proofs.worst_cases import following_rates
from fedspec_proofs.worst_cases.following_rates import Stretch, play_at, wrong_with_one
from fedspec_proofs.worst_cases.one_round import HELD, MU, Round, problem_of
from fedspec_proofs.worst_cases.parabolas import determinant, matrix, minors, nowhere_above, over, value

pytestmark = [pytest.mark.long, pytest.mark.table(1)]

ROWS = FOLLOWED.rows()
BESTS = [*map(best_of, ROWS), *averaged()]
PULLED = ("fedprox", "feddyn")
"""Algorithms whose clients are pulled to the model."""

Numbers = tuple[Fraction, ...]


def named(one: Best | Stretch) -> str:
    r = one.round
    place = f"-from-{one.low}" if isinstance(one, Stretch) else ""
    return f"{r.algorithm}-{'-'.join(map(str, r.steps))}-zeta2={r.zeta2}{place}".replace("/", "_")


def of(algorithm: str, steps: tuple[int, ...], zeta2: Fraction = Fraction(0)) -> Best:
    return next(one for one in BESTS if one.asked == Round(algorithm, steps, "", zeta2))


@pytest.mark.parametrize("one", BESTS, ids=named)
def test_the_best_rate_is_certified_and_no_other_is_better_by_more_than_a_hundredth(one: Best) -> None:
    assert one.wrong() == ""
    assert one.least <= one.bound <= one.least * Fraction(1011, 1000) + Fraction(1, 1000)
    # A hundredth further from each other, neither is shown.
    assert flaw(problem_of(one.round, one.bound * Fraction(98, 100)), one.proof) != ""
    assert following_rates.wrong_with(one.stretches, one.bound + Fraction(1, 100)) != ""


def test_all_cells_of_the_tables_are_there_and_near_what_the_program_attains() -> None:
    assert {one.asked for one in BESTS} == {r for some in ASKED.values() for r in some}
    assert len(BESTS) == sum(map(len, ASKED.values()))
    assert all(0 <= best_of(row).bound - Fraction(row["best"]["worst"]) <= Fraction(4, 1000) for row in ROWS)


def dot(a: Numbers, b: Numbers) -> Fraction:
    return sum((p * q for p, q in zip(a, b, strict=True)), Fraction(0))


def mixed(*terms: tuple[Any, Numbers]) -> Numbers:
    return tuple(sum((c * v[i] for c, v in terms), Fraction(0)) for i in range(len(terms[0][1])))


def by_hand(
    algorithm: str, steps: Sequence[int], eta: Fraction, x: Numbers, c: list[Numbers], ask: Any
) -> tuple[Numbers, list[Numbers]]:
    """A round, typed once more: where the model ends, and what clients keep."""
    n, ends, kept = len(steps), [], []
    mean = mixed(*((Fraction(1, n), v) for v in c)) if c else x
    for i, tau in enumerate(steps):
        y = x
        for k in range(tau):
            g = ask(i, k, y)
            if algorithm == "scaffold":
                y = mixed((1, y), (-eta, g), (eta, c[i]), (-eta, mean))
            elif algorithm in PULLED:
                y = mixed((1 - eta, y), (-eta, g), (eta, x), *([(eta, c[i])] if c else []))
            else:
                y = mixed((1, y), (-eta, g))
        ends.append(y)
        if algorithm == "scaffold":
            kept.append(mixed((1, c[i]), (-1, mean), (1 / (tau * eta), x), (-1 / (tau * eta), y)))
        elif c:
            kept.append(mixed((1, c[i]), (-1, y), (1, x)))
    if algorithm == "fednova":
        # The mean number of steps over the own one, shared by all.
        w = [Fraction(sum(steps), n * n * tau) for tau in steps]
        return mixed((1 - sum(w), x), *zip(w, ends, strict=True)), []
    end = mixed(*((Fraction(1, n), y) for y in ends))
    if algorithm == "feddyn":
        end = mixed((1, end), *((Fraction(-1, n), v) for v in kept))
    return end, kept


def minors_of(M: list[list[Fraction]]) -> list[Fraction]:
    """Every principal minor, by expansion along the first row."""

    def det(rows: list[list[Fraction]]) -> Fraction:
        if not rows:
            return Fraction(1)
        rest = ([[*row[:j], *row[j + 1 :]] for row in rows[1:]] for j in range(len(rows)))
        return sum(
            ((-1) ** j * c * det(less) for j, (c, less) in enumerate(zip(rows[0], rest, strict=True))), Fraction(0)
        )

    n = len(M)
    return [det([[M[i][j] for j in some] for i in some]) for k in range(1, n + 1) for some in combinations(range(n), k)]


FOLLOWING = [(one.least, some) for one in BESTS for some in one.stretches if some.functions]


@pytest.mark.table(10)
@pytest.mark.parametrize(("least", "some"), FOLLOWING, ids=[named(some) for _, some in FOLLOWING])
def test_a_loop_by_hand_goes_as_far_at_rates_of_the_interval(least: Fraction, some: Stretch) -> None:
    """In fractions: the answers that follow the rate, and each pair of points against the class, typed once more."""
    algorithm, steps, n = some.round.algorithm, some.round.steps, len(some.round.steps)
    assert some.functions and some.high
    low, high, pull = some.low, some.high, Fraction(algorithm in PULLED)
    at, f = some.functions.vectors, some.functions.values
    x, zero = at["x"], (Fraction(0),) * len(at["x"])
    for eta in (low, (low + 2 * high) / 3, high):
        t = low / eta
        kept = [mixed((t, at[f"c{i}"])) for i in range(n)] if algorithm in HELD else []
        slopes = [mixed((t * sign, at["s0"])) if "s0" in at else zero for sign in (1, -1)]
        points = [[(zero, s, t * f[f"F{i}.f0"] + (1 - t) * f[f"F{i}.e"])] for i, s in enumerate(slopes)]

        def ask(i: int, k: int, y: Numbers, t: Fraction = t, points: Any = points) -> Numbers:
            off = mixed((1, y), (-1, x))
            g = mixed((t, at[f"F{i}.g{k + 1}"]), (-(1 - t) * pull, off))
            points[i].append((y, g, t * f[f"F{i}.f{k + 1}"] - (1 - t) * pull / 2 * dot(off, off)))
            return g

        end, ends = by_hand(algorithm, steps, eta, x, kept, ask)
        for mine in points:
            for (x1, g1, f1), (x2, g2, f2) in permutations(mine, 2):
                # f - mu |x|^2 / 2 is convex with gradients that are Lipschitz with constant 1 - mu.
                h1, h2 = mixed((1, g1), (-MU, x1)), mixed((1, g2), (-MU, x2))
                apart = mixed((1, h1), (-1, h2))
                rise = f1 - MU * dot(x1, x1) / 2 - f2 + MU * dot(x2, x2) / 2
                assert rise >= dot(h2, mixed((1, x1), (-1, x2))) + dot(apart, apart) / (2 * (1 - MU))
        if algorithm not in HELD:
            assert dot(x, x) <= 1 and sum(dot(s, s) for s in slopes) / n <= some.round.zeta2
            assert dot(end, end) >= least
        else:
            before, after = [x, *kept], [end, *ends]
            W = [
                [dot(a, b) - least * dot(u, v) for b, v in zip(after, before, strict=True)]
                for a, u in zip(after, before, strict=True)
            ]
            assert any(x) and all(minor >= 0 for minor in minors_of(W))


@pytest.mark.parametrize("one", BESTS, ids=named)
def test_parabolas_are_rounds_by_hand_and_go_as_far(one: Best) -> None:
    """A coordinate: the matrix of a round typed once more, and its eigenvalues in floats."""
    r, n = one.asked, len(one.round.steps)
    algorithm, steps, kept = r.algorithm, r.steps, r.keeps
    for some in (some for some in one.stretches if some.curvatures):
        curves, low = [*some.curvatures], some.low
        high = some.high or low + 20
        made = matrix(r, curves)
        for eta in (low + (high - low) * Fraction(k, 12) for k in range(not low, 13)):
            columns = []
            for k in range(1 + n * kept):
                state = [(Fraction(j == k),) for j in range(1 + n)]
                end, ends = by_hand(
                    algorithm,
                    steps,
                    eta,
                    state[0],
                    state[1:] if kept else [],
                    lambda i, k, y, h=tuple(curves): mixed((h[i], y)),
                )
                columns.append([end, *ends])
            M = [[column[i][0] for column in columns] for i in range(len(columns))]
            assert [[value(p, eta) for p in line] for line in made] == M
            largest = np.abs(np.linalg.eigvals(np.array(M, float))).max() ** 2
            assert largest >= float(one.least) - 1e-9


def test_an_eigenvalue_is_seen_where_it_is() -> None:
    """Matrices of constants: roots 1/2, -3/4 and 2/5 +- i 3/5, of the modulus 0.721."""
    real = [[[Fraction(1, 2)], [Fraction(3)]], [[], [Fraction(-3, 4)]]]
    turned = [[[Fraction(2, 5)], [Fraction(3, 5)]], [[Fraction(-3, 5)], [Fraction(2, 5)]]]
    assert determinant(real) == [Fraction(-3, 8)] and [p[0] for p in minors(turned)] == [
        1,
        Fraction(4, 5),
        Fraction(13, 25),
    ]
    assert nowhere_above([[Fraction(0), Fraction(-1)]], Fraction(0), None)
    # 4 (s - 1/2)^2 - 1/25 is above zero at both ends and below between: no halves show it.
    assert not nowhere_above([[Fraction(24, 25), Fraction(-4), Fraction(4)]], Fraction(0), Fraction(1))
    # (s - 1/3) (s - 2/3) from 2/5 to 3/5 is, though s^2 - s bends.
    assert nowhere_above([[Fraction(2, 9), Fraction(-1), Fraction(1)]], Fraction(2, 5), Fraction(3, 5))


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["scaffold", "feddyn"])
def test_what_parabolas_do_not_reach_is_not_shown(algorithm: str) -> None:
    """At rates in fractions: one of the polynomials is at most zero only if an eigenvalue in floats is as large."""
    for steps in ((1, 1), (2, 2), (1, 3)):
        r = Round(algorithm, steps, "")
        for curves in ((MU, MU), (Fraction(1), Fraction(1)), (Fraction(1), MU)):
            M = matrix(r, curves)
            for eta in (Fraction(k, 8) for k in range(1, 20)):
                now = np.array([[value(p, eta) for p in line] for line in M], float)
                size = np.abs(np.linalg.eigvals(now)).max() ** 2
                for least in (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4), Fraction(99, 100)):
                    shown = any(value(p, eta) <= 0 for p in over(r, curves, least))
                    assert not shown or size >= float(least) - 1e-6


def spoiled(one: Best, k: int, **some: Any) -> Best:
    stretches = [*one.stretches]
    stretches[k] = replace(stretches[k], **some)
    return replace(one, stretches=stretches)


def off(one: Best, k: int) -> Fraction:
    best, some = one.round.rate, one.stretches[k]
    assert some.high
    return max(some.low - best, best - some.high)


def nearest(one: Best) -> int:
    """The interval with functions that is nearest to the best rate, on the side where nothing is left."""
    return min((k for k, some in enumerate(one.stretches) if some.functions), key=lambda k: off(one, k))


SPOILED = [
    of("feddyn", (1, 1)),
    of("scaffold", (1, 3)),
    of("fedprox", (2, 2), Fraction(1, 4)),
    of("fedavg", (2, 2), Fraction(1)),
    of("fednova", (1, 3), Fraction(1)),
]


@pytest.mark.parametrize("one", SPOILED, ids=named)
def test_what_is_spoiled_is_refused(one: Best) -> None:
    k, least, pulled = nearest(one), one.least, one.round.algorithm == "fedprox"
    some = one.stretches[k]
    found = some.functions
    assert found and some.high and one.wrong() == ""
    for name, v in found.vectors.items():
        moved = {**found.vectors, name: tuple(c * Fraction(6, 5) + Fraction(1, 10) for c in v)}
        assert spoiled(one, k, functions=replace(found, vectors=moved)).wrong()
        fewer = {n: v for n, v in found.vectors.items() if n != name}
        assert spoiled(one, k, functions=replace(found, vectors=fewer)).wrong() == f"there is no {name}"
    for name, c in found.values.items():
        others = {**found.values, name: c + Fraction(1, 2)}
        assert spoiled(one, k, functions=replace(found, values=others)).wrong()
    assert spoiled(one, k, high=Fraction(99, 100) if pulled else some.high * 2).wrong()
    assert "gap" in spoiled(one, k, high=(some.low + some.high) / 2).wrong()
    assert "they must satisfy 0 < low < high" in wrong_with_one(replace(some, high=some.low), least)
    flat, steep = (MU,) * 2, (Fraction(1),) * 2
    assert "do not show it" in spoiled(one, k, curvatures=flat, functions=None).wrong()
    assert "not of the class" in spoiled(one, 0, curvatures=(MU / 2,) * 2).wrong()
    assert "not of the class" in spoiled(one, 0, curvatures=flat[:1]).wrong()
    assert "do not show it" in spoiled(one, 0, curvatures=steep).wrong()
    assert "do not reach" in spoiled(one, 0, low=Fraction(1, 100)).wrong()
    assert "do not reach" in spoiled(one, -1, high=Fraction(7, 8)).wrong()
    assert "do not reach" in replace(one, stretches=[]).wrong()
    other = replace(one.stretches[1].round, zeta2=Fraction(1, 9))
    assert "several questions" in spoiled(one, 1, round=other).wrong()
    assert replace(one, least=least + Fraction(1, 50)).wrong()
    name = max(one.proof, key=lambda name: one.proof[name])
    for c in (Fraction(0), Fraction(-1), 2 * one.proof[name]):
        assert replace(one, proof={**one.proof, name: c}).wrong()
    assert replace(one, round=replace(one.round, eta_l="9/10")).wrong()
    if one.round.form:
        P = tuple(
            tuple(str(Fraction(c) - 1000 * (i == j)) for j, c in enumerate(line))
            for i, line in enumerate(one.round.form)
        )
        assert not positive(replace(one.round, form=P).P)
        assert "not positive definite" in replace(one, round=replace(one.round, form=P)).wrong()


def test_a_state_at_the_minimiser_shows_nothing() -> None:
    one = of("feddyn", (1, 1))
    some = next(some for some in one.stretches if some.functions)
    assert some.functions
    zeros = {name: (Fraction(0),) * some.functions.d for name in some.functions.vectors}
    nothing = replace(some.functions, vectors=zeros, values=dict.fromkeys(some.functions.values, Fraction(0)))
    assert "begins at x*" in wrong_with_one(replace(some, functions=nothing), one.least)


def test_the_rule_is_asked_where_it_was_at_another_rate() -> None:
    """With another pull in the answers than the rule's own, its points would move."""
    one = Stretch(Round("fedprox", (3, 3), "", Fraction(1)), Fraction(1, 4), Fraction(1, 2))
    first, last = play_at(one, Fraction(1)), play_at(one, Fraction(1, 2))
    assert first.ended == last.ended
    assert [[*f.points] for f in first.functions] == [[*f.points] for f in last.functions]
    fixed = {"fedprox": {"mu": 0}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(following_rates, "OTHERS", fixed)
        with pytest.raises(ValueError, match="evaluates gradients at other points"):
            play_at(one, Fraction(1, 2))


def test_the_page_prints_what_is_certified_and_another_program_is_asked_for_it() -> None:
    assert all(table in PAGE for table in script("worst_rates").tables(ROWS).values())
    asked = [number for name, number, _ in script("worst_cases_again").table_checks(PAGE) if name.startswith("rates: ")]
    assert sorted(asked) == sorted(float(best_of(row).bound) for row in ROWS)


NEAREST = [
    one for one in map(best_of, ROWS) if len({*one.round.steps}) == 1 and any(s.functions for s in one.stretches)
]


@pytest.mark.parametrize("n", [3, 5])
@pytest.mark.parametrize("best", NEAREST, ids=named)
def test_what_two_clients_show_more_of_them_show(best: Best, n: int) -> None:
    """In fractions, by the Gram matrix: means as of two, and what clients are off them at equal angles."""
    one = best.stretches[nearest(best)]
    assert one.functions
    two, f = one.functions.vectors, one.functions.values
    more = replace(one, round=replace(one.round, steps=one.round.steps[:1] * n), functions=None)

    def parts(name: str) -> tuple[int | None, Numbers, Numbers]:
        """Client of a vector, the mean of both clients' vectors, and half of their difference."""
        if name == "x":
            return None, two["x"], (Fraction(0),) * len(two["x"])
        whose, rest = name[0], name[1:]
        i, _, last = rest.partition(".")
        if whose == "s":
            return int(i), (Fraction(0),) * len(two["x"]), two["s0"]
        first, second = (two[f"{whose}{j}.{last}" if last else f"{whose}{j}"] for j in (0, 1))
        half = Fraction(1, 2)
        return int(i), mixed((half, first), (half, second)), mixed((half, first), (-half, second))

    def product(a: str, b: str) -> Fraction:
        (i, m, d), (j, p, e) = parts(a), parts(b)
        return dot(m, p) + dot(d, e) * (1 if i == j else Fraction(-1, n - 1))

    def number(q: Value) -> Fraction:
        values = ((c, name.partition(".")[2]) for name, c in q.values.items())
        total = q.constant + sum((c * (f[f"F0.{k}"] + f[f"F1.{k}"]) / 2 for c, k in values), Fraction(0))
        return total + sum((c * product(a, b) for (a, b), c in q.products.items()), Fraction(0))

    problem, state = following_rates.problem_of(more, best.least)
    assert all(number(q) <= 0 for q in problem.given.values())
    assert len(problem.given) > n and len(state) == 3 * more.round.keeps
    assert all(semidefinite([[number(c) for c in line] for line in matrix]) for matrix in state)
    assert more.round.keeps or number(problem.claimed) >= 0


def test_what_the_page_says_of_the_tables_holds() -> None:
    """FedAvg's best is below every rate of FedProx; equal parabolas do for SCAFFOLD, four steps are its best."""
    for found in (one for one in BESTS if one.round.algorithm == "fedprox"):
        assert of("fedavg", found.round.steps, Fraction(found.round.zeta2)).bound < found.least
    kept = {(one.round.algorithm, one.round.steps): one for one in BESTS if one.round.keeps}
    for steps in ((1, 1), (2, 2), (4, 4), (8, 8)):
        found, *of_curvature = kept["scaffold", steps], (MU, MU), (1, 1)
        below, *beyond = found.stretches
        assert below.curvatures == of_curvature[0] and below.high
        assert abs(below.high - found.round.rate) < Fraction(1, 50)
        assert all(some.curvatures == of_curvature[1] for some in beyond)
        assert Fraction(79, 100) < kept["feddyn", steps].least < kept["feddyn", steps].bound < Fraction(81, 100)
    assert kept["scaffold", (4, 4)].bound < kept["scaffold", (8, 8)].least
    assert kept["scaffold", (2, 2)].bound < kept["scaffold", (1, 3)].least
    assert max(sum(bool(some.functions) for some in one.stretches) for one in map(best_of, ROWS)) == 12


@pytest.mark.parametrize("least", [0, 3, 5])
def test_coefficients_between_two_rates_make_the_value_again(least: int) -> None:
    """Mixed by the probabilities of k heads among m, at five shares; at the ends they are the value itself."""
    low, high = Fraction(1, 2), Fraction(5, 4)
    v = Value({("a", "b"): RATE * RATE - 1}, {"f": 3 - 2 * RATE}, RATE * RATE * RATE)
    found = between(v, low, high, least)
    m = len(found) - 1
    assert m == max(3, least)
    for s in (Fraction(k, 4) for k in range(5)):
        t = low + s * (high - low)
        total = sum((comb(m, k) * s**k * (1 - s) ** (m - k) * c for k, c in enumerate(found)), Value())
        expected = Value({("a", "b"): t**2 - 1}, {"f": 3 - 2 * t}, t**3)
        left = total - expected
        assert not any(left.products.values()) and not any(left.values.values()) and not left.constant
