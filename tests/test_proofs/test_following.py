"""Best rates of FedProx, SCAFFOLD and FedDyn: numbers, functions that follow the rate by hand, and what is spoiled."""

from __future__ import annotations

import json
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
from fedspec_proofs.fednova.claims.followed_rates import ASKED, best_of, rows, wrong_with
from fedspec_proofs.fednova.claims.round_numbers import rows as numbers
from fedspec_proofs.worst_cases import following_rates
from fedspec_proofs.worst_cases.following_rates import Stretch, play_at, wrong_with_one
from fedspec_proofs.worst_cases.one_round import MU, Round, problem_of
from fedspec_proofs.worst_cases.parabolas import determinant, matrix, minors, nowhere_above, over, value

pytestmark = [pytest.mark.long, pytest.mark.table(1)]

ROWS = rows()
STRETCHES = [(row["best"], row["least"], some) for row in ROWS for some in row["stretches"] if some["vectors"]]

Numbers = tuple[Fraction, ...]


def named(row: dict[str, Any]) -> str:
    best = row["best"]
    return f"{best['algorithm']}-{'-'.join(map(str, best['steps']))}-zeta2={best['zeta2']}".replace("/", "_")


def of(*words: str | int) -> dict[str, Any]:
    return next(
        row for row in ROWS if [row["best"]["algorithm"], *row["best"]["steps"], row["best"]["zeta2"]] == [*words]
    )


@pytest.mark.parametrize("row", ROWS, ids=named)
def test_the_best_rate_is_certified_and_no_other_is_better_by_more_than_a_hundredth(row: dict[str, Any]) -> None:
    assert wrong_with(row) == ""
    found = best_of(row)
    assert found.least <= found.bound <= found.least * Fraction(1011, 1000) + Fraction(1, 1000)
    assert 0 <= found.bound - Fraction(row["best"]["worst"]) <= Fraction(4, 1000)
    # A hundredth further from each other, neither is shown.
    proof = {name: Fraction(c) for name, c in row["best"]["proof"].items()}
    assert flaw(problem_of(found.round, found.bound * Fraction(98, 100)), proof) != ""
    assert following_rates.wrong_with(found.stretches, found.bound + Fraction(1, 100)) != ""


def test_all_cells_of_the_tables_are_there() -> None:
    assert [replace(best_of(row).round, eta_l="", form=()) for row in ROWS] == ASKED


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
            else:
                y = mixed((1 - eta, y), (-eta, g), (eta, x), *([(eta, c[i])] if c else []))
        ends.append(y)
        if algorithm == "scaffold":
            kept.append(mixed((1, c[i]), (-1, mean), (1 / (tau * eta), x), (-1 / (tau * eta), y)))
        elif c:
            kept.append(mixed((1, c[i]), (-1, y), (1, x)))
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


@pytest.mark.parametrize(
    ("best", "least", "some"),
    STRETCHES,
    ids=[f"{named({'best': best})}-from-{some['low'].replace('/', '_')}" for best, _, some in STRETCHES],
)
def test_a_loop_by_hand_goes_as_far_at_rates_of_the_interval(
    best: dict[str, Any], least: str, some: dict[str, Any]
) -> None:
    """In fractions: the answers that follow the rate, and each pair of points against the class, typed once more."""
    algorithm, steps, n = best["algorithm"], best["steps"], len(best["steps"])
    low, high, pull = Fraction(some["low"]), Fraction(some["high"]), Fraction(best["algorithm"] != "scaffold")
    at = {name: tuple(map(Fraction, v)) for name, v in some["vectors"].items()}
    f = {name: Fraction(c) for name, c in some["values"].items()}
    x, zero = at["x"], (Fraction(0),) * len(at["x"])
    for eta in (low, (low + 2 * high) / 3, high):
        t = low / eta
        kept = [mixed((t, at[f"c{i}"])) for i in range(n)] if algorithm != "fedprox" else []
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
        if algorithm == "fedprox":
            assert dot(x, x) <= 1 and sum(dot(s, s) for s in slopes) / n <= Fraction(best["zeta2"])
            assert dot(end, end) >= Fraction(least)
        else:
            before, after = [x, *kept], [end, *ends]
            W = [
                [dot(a, b) - Fraction(least) * dot(u, v) for b, v in zip(after, before, strict=True)]
                for a, u in zip(after, before, strict=True)
            ]
            assert any(x) and all(minor >= 0 for minor in minors_of(W))


@pytest.mark.parametrize("row", ROWS, ids=named)
def test_parabolas_are_rounds_by_hand_and_go_as_far(row: dict[str, Any]) -> None:
    """Of one coordinate: the matrix of a round typed once more, and its eigenvalues in floats."""
    algorithm, steps, n = row["best"]["algorithm"], row["best"]["steps"], len(row["best"]["steps"])
    r, kept = Round(algorithm, tuple(steps), ""), algorithm != "fedprox"
    for some in (some for some in row["stretches"] if some["curvatures"]):
        curves, low = [*map(Fraction, some["curvatures"])], Fraction(some["low"])
        high = Fraction(some["high"]) if some["high"] else low + 20
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
            assert largest >= float(Fraction(row["least"])) - 1e-9


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


def spoiled(row: dict[str, Any], k: int, **some: Any) -> dict[str, Any]:
    out: dict[str, Any] = json.loads(json.dumps(row))
    out["stretches"][k] |= some
    return out


def off(row: dict[str, Any], k: int) -> Fraction:
    best, some = Fraction(row["best"]["eta_l"]), row["stretches"][k]
    return max(Fraction(some["low"]) - best, best - Fraction(some["high"]))


SPOILED = [("feddyn", 1, 1, "0"), ("scaffold", 1, 3, "0"), ("fedprox", 2, 2, "1/4")]


@pytest.mark.parametrize("words", SPOILED, ids=lambda words: words[0])
def test_what_is_spoiled_is_refused(words: tuple[str | int, ...]) -> None:
    row = of(*words)
    # Near the best rate, on the side where nothing is left.
    near = range(len(row["stretches"]))
    k = min((k for k in near if row["stretches"][k]["vectors"]), key=lambda k: off(row, k))
    some, least = row["stretches"][k], Fraction(row["least"])
    assert wrong_with(row) == ""
    for name in some["vectors"]:
        moved = [str(Fraction(c) * Fraction(6, 5) + Fraction(1, 10)) for c in some["vectors"][name]]
        assert wrong_with(spoiled(row, k, vectors={**some["vectors"], name: moved}))
        fewer = {n: v for n, v in some["vectors"].items() if n != name}
        assert wrong_with(spoiled(row, k, vectors=fewer)) == f"there is no {name}"
    for name, f in some["values"].items():
        assert wrong_with(spoiled(row, k, values={**some["values"], name: str(Fraction(f) + Fraction(1, 2))}))
    wider = str(Fraction(some["high"]) * 2) if words[0] != "fedprox" else "99/100"
    assert wrong_with(spoiled(row, k, high=wider)) != ""
    middle = str((Fraction(some["low"]) + Fraction(some["high"])) / 2)
    assert "gap" in wrong_with(spoiled(row, k, high=middle))
    assert "no functions follow" in wrong_with_one(best_of(spoiled(row, k, high=some["low"])).stretches[k], least)
    assert "do not show it" in wrong_with(spoiled(row, k, curvatures=["1/10"] * 2, vectors={}, values={}))
    assert "not of the class" in wrong_with(spoiled(row, 0, curvatures=["1/20"] * 2))
    assert "not of the class" in wrong_with(spoiled(row, 0, curvatures=["1/10"]))
    assert "do not show it" in wrong_with(spoiled(row, 0, curvatures=["1", "1"]))
    assert "do not reach" in wrong_with(spoiled(row, 0, low="1/100"))
    assert "do not reach" in wrong_with(spoiled(row, -1, high="7/8"))
    assert "do not reach" in wrong_with({**row, "stretches": []})
    stretches = best_of(row).stretches
    other = replace(stretches[1], round=replace(stretches[1].round, zeta2=Fraction(1, 9)))
    assert "several questions" in following_rates.wrong_with([stretches[0], other, *stretches[2:]], least)
    assert wrong_with({**row, "least": str(least + Fraction(1, 100))})
    name = max(row["best"]["proof"], key=lambda name: Fraction(row["best"]["proof"][name]))
    for c in (0, -1, 2 * Fraction(row["best"]["proof"][name])):
        assert wrong_with({**row, "best": {**row["best"], "proof": {**row["best"]["proof"], name: str(c)}}})
    assert wrong_with({**row, "best": {**row["best"], "eta_l": "9/10"}})
    if row["best"]["form"]:
        P = [
            [str(Fraction(c) - 1000 * (i == j)) for j, c in enumerate(line)]
            for i, line in enumerate(row["best"]["form"])
        ]
        assert not positive(best_of({**row, "best": {**row["best"], "form": P}}).round.P)
        assert "not positive definite" in wrong_with({**row, "best": {**row["best"], "form": P}})


def test_a_state_at_the_minimiser_shows_nothing() -> None:
    row = of("feddyn", 1, 1, "0")
    some = next(some for some in best_of(row).stretches if some.functions)
    assert some.functions
    zeros = {name: (Fraction(0),) * some.functions.d for name in some.functions.vectors}
    nothing = replace(some.functions, vectors=zeros, values=dict.fromkeys(some.functions.values, Fraction(0)))
    assert "begins at x*" in wrong_with_one(replace(some, functions=nothing), Fraction(row["least"]))


def test_the_rule_is_asked_where_it_was_at_another_rate() -> None:
    """With another pull in the answers than the rule's own, its points would move."""
    one = Stretch(Round("fedprox", (3, 3), "", Fraction(1)), Fraction(1, 4), Fraction(1, 2))
    first, last = play_at(one, Fraction(1)), play_at(one, Fraction(1, 2))
    assert first.ended == last.ended
    assert [[*f.points] for f in first.functions] == [[*f.points] for f in last.functions]
    fixed = {"fedprox": {"mu": 0}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(following_rates, "OTHERS", fixed)
        with pytest.raises(ValueError, match="elsewhere"):
            play_at(one, Fraction(1, 2))


def test_the_page_prints_what_is_certified_and_another_program_is_asked_for_it() -> None:
    assert all(table in PAGE for table in script("worst_rates").tables(ROWS).values())
    asked = [number for name, number, _ in script("worst_cases_again").asked(PAGE) if name.startswith("rates, ")]
    assert sorted(asked) == sorted(float(best_of(row).bound) for row in ROWS)


NEAREST = [
    (row, min((k for k, some in enumerate(row["stretches"]) if some["vectors"]), key=lambda k: off(row, k)))
    for row in ROWS
    if len({*row["best"]["steps"]}) == 1 and any(some["vectors"] for some in row["stretches"])
]


@pytest.mark.parametrize("n", [3, 5])
@pytest.mark.parametrize(("row", "k"), NEAREST, ids=[named(row) for row, _ in NEAREST])
def test_what_two_clients_show_more_of_them_show(row: dict[str, Any], k: int, n: int) -> None:
    """In fractions, by the Gram matrix: means as of two, and what clients are off them at equal angles."""
    one = best_of(row).stretches[k]
    assert one.functions
    two, f = one.functions.vectors, one.functions.values
    more = replace(one, round=replace(one.round, steps=one.round.steps[:1] * n), functions=None)

    def parts(name: str) -> tuple[int | None, Numbers, Numbers]:
        """Whose a vector is, the mean of both clients' and half of what they differ by."""
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

    problem, state = following_rates.problem_of(more, Fraction(row["least"]))
    assert all(number(q) <= 0 for q in problem.given.values())
    assert len(problem.given) > n and len(state) == 3 * more.round.keeps
    assert all(semidefinite([[number(c) for c in line] for line in matrix]) for matrix in state)
    assert more.round.keeps or number(problem.claimed) >= 0


def test_what_the_page_says_of_the_tables_holds() -> None:
    """FedAvg's best is below every rate of FedProx; equal parabolas do for SCAFFOLD, four steps are its best."""
    averages = [row for row in numbers() if row["algorithm"] == "fedavg"]
    for row in (row for row in ROWS if row["best"]["algorithm"] == "fedprox"):
        found = best_of(row)
        same = [
            a for a in averages if (tuple(a["steps"]), Fraction(a["zeta2"])) == (found.round.steps, found.round.zeta2)
        ]
        assert min(Fraction(a["bound"]) for a in same) < found.least
    kept = {(best_of(row).round.algorithm, best_of(row).round.steps): best_of(row) for row in ROWS}
    for steps in ((1, 1), (2, 2), (4, 4), (8, 8)):
        found, *of_curvature = kept["scaffold", steps], (MU, MU), (1, 1)
        below, *beyond = found.stretches
        assert below.curvatures == of_curvature[0] and below.high
        assert abs(below.high - found.round.rate) < Fraction(1, 50)
        assert all(some.curvatures == of_curvature[1] for some in beyond)
        assert Fraction(79, 100) < kept["feddyn", steps].least < kept["feddyn", steps].bound < Fraction(81, 100)
    assert kept["scaffold", (4, 4)].bound < kept["scaffold", (8, 8)].least
    assert kept["scaffold", (2, 2)].bound < kept["scaffold", (1, 3)].least
    assert max(sum(bool(some.functions) for some in best_of(row).stretches) for row in ROWS) == 12


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
