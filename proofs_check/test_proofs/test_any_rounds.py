"""The worst case of rounds of any linear algorithm: held to closed forms, to other algorithms, and to the tables."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from fedspec.catalogue import CATALOGUE, find
from fedspec.entry import LocalSolver
from fedspec.errors import MixingError, ParameterError
from fedspec_proofs.engines.worst_case.proof import flaw
from fedspec_proofs.fednova.claims.round_numbers import TABLE, by_round
from fedspec_proofs.worst_cases.any_rounds import NotLinearError, Rounds, problem_of
from fedspec_proofs.worst_cases.exchanges import circulant
from fedspec_proofs.worst_cases.search.any_rounds import worst_case

pytestmark = [pytest.mark.long, pytest.mark.table(1)]

HALF, TENTH = Fraction(1, 2), Fraction(1, 10)


def asked(algorithm: str, steps: tuple[int, ...] = (2, 2), **more: Any) -> Rounds:
    numbers = {"eta_l": Fraction(1, 4), **more.pop("numbers", {})}
    return Rounds(find(algorithm), steps, numbers, **more)


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.parametrize("mu", [TENTH, HALF])
def test_with_one_minimiser_fedavg_contracts_by_each_step(rounds: int, mu: Fraction) -> None:
    found = worst_case(asked("fedavg", mu=mu, rounds=rounds))
    known = (1 - Fraction(1, 4) * mu) ** (2 * 2 * rounds)
    assert known <= found.bound <= known * Fraction(101, 100)
    assert found.reached is not None and found.reached >= known * Fraction(999, 1000)
    assert flaw(problem_of(found.asked, found.bound * Fraction(98, 100)), found.proof) != ""


@pytest.mark.parametrize(("algorithm", "steps"), [("fedavg", (2, 2)), ("fedprox", (1, 3)), ("fednova", (1, 3))])
def test_a_round_is_that_of_the_tables(algorithm: str, steps: tuple[int, ...]) -> None:
    row = by_round(TABLE.rows())[algorithm, steps, "1/4", Fraction(1)]
    numbers = {"mu": Fraction(1)} if algorithm == "fedprox" else {}
    found = worst_case(asked(algorithm, steps, zeta2=Fraction(1), numbers=numbers))
    assert abs(found.bound - Fraction(row["bound"])) <= Fraction(1, 100)
    assert found.worst == pytest.approx(row["worst"], abs=1e-4)


@pytest.mark.slow
def test_momentum_of_nothing_is_fedavg_and_a_first_round_has_none() -> None:
    one, two = ({"eta": Fraction(1), "beta": beta} for beta in (Fraction(0), HALF))
    plain = worst_case(asked("fedavg", zeta2=Fraction(1), rounds=2)).worst
    assert worst_case(asked("fedavgm", zeta2=Fraction(1), rounds=2, numbers=one)).worst == pytest.approx(
        plain, abs=1e-5
    )
    first = worst_case(asked("fedavg", zeta2=Fraction(1))).worst
    assert worst_case(asked("fedavgm", zeta2=Fraction(1), numbers=two)).worst == pytest.approx(first, abs=1e-5)
    assert worst_case(asked("fedavgm", zeta2=Fraction(1), rounds=2, numbers=two)).worst < plain - 0.01


REFUSED = {
    "fedadam": ("server/adam.py", {"eta": 1, "beta1": 0, "beta2": HALF, "tau": TENTH, "v0": 1}),
    "fedexp": ("mixing/extrapolated.py", {"eps": TENTH}),
    "median": ("mixing/order.py", {}),
    "fedavg-normalised": ("client/normalised.py", {"eps": TENTH}),
}


@pytest.mark.parametrize("algorithm", REFUSED)
def test_what_is_not_linear_is_refused_with_its_statement(algorithm: str) -> None:
    file, numbers = REFUSED[algorithm]
    with pytest.raises(NotLinearError, match=rf"{algorithm}: its rounds are not linear .*{file}, line \d+: \w+"):
        problem_of(asked(algorithm, numbers=numbers))


def test_what_has_no_rounds_of_a_server_is_refused_and_numbers_that_lack_are_named() -> None:
    for row in CATALOGUE.values():
        if isinstance(row.run, LocalSolver) or getattr(row.run, "event", "round") != "round":
            with pytest.raises(ParameterError, match=f"{row.id} is (a local solver|run by exchanges|run by arrivals)"):
                problem_of(Rounds(row, (1, 1), {}))
    with pytest.raises(ParameterError, match="mu: not given"):
        problem_of(asked("fedprox"))
    with pytest.raises(ParameterError, match="got mu = 1; it is in units of L"):
        problem_of(asked("fedavg", mu=Fraction(1)))


W = circulant("3/4", "1/4")


def test_peers_that_hear_of_all_are_a_server_and_those_who_hear_of_none_are_alone() -> None:
    """K-GT's first round is FedAvg's where W = J; with W = I the mean over peers is that of each by itself."""
    J, one = circulant("1/2", "1/2"), {"eta": Fraction(1)}
    everyone = worst_case(asked("k-gt", zeta2=Fraction(1), mixing=J, numbers=one))
    assert everyone.worst == pytest.approx(worst_case(asked("fedavg", zeta2=Fraction(1))).worst, abs=1e-5)
    alone = worst_case(asked("dsgd", (1, 1), zeta2=Fraction(1), mixing=circulant("1", "0")))
    # In one coordinate F_i = h_i x^2 / 2 + s_i x with s_1 = -s_2 = 1 and x = 1 are among them.
    ends = [(1 - Fraction(1, 4) * h - Fraction(s, 4)) ** 2 for h, s in ((TENTH, 1), (TENTH, -1))]
    assert sum(ends) / 2 <= alone.bound and alone.reached is not None
    assert alone.reached > alone.bound * Fraction(99, 100)


def test_what_peers_certify_is_refused_for_another_matrix() -> None:
    found = worst_case(asked("led", zeta2=Fraction(1), mixing=W))
    assert flaw(problem_of(found.asked, found.bound), found.proof) == ""
    other = replace(found.asked, mixing=circulant("19/20", "1/20"))
    assert flaw(problem_of(other, found.bound), found.proof) != ""
    assert flaw(problem_of(found.asked, found.bound * Fraction(98, 100)), found.proof) != ""


def test_what_is_no_matrix_of_peers_is_refused() -> None:
    with pytest.raises(ParameterError, match="has a server and no mixing matrix"):
        problem_of(asked("fedavg", mixing=W))
    with pytest.raises(ParameterError, match="all must be equal"):
        problem_of(asked("led", (1, 2), mixing=W))
    with pytest.raises(MixingError, match="doubly stochastic"):
        problem_of(asked("led", mixing=circulant("1/2", "1/4")))
    with pytest.raises(ParameterError, match="sends the largest entries"):
        problem_of(asked("choco", mixing=W))
