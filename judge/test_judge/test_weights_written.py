"""Weights of a mean that no list has are written out, from servers and rounds that compute them in NumPy."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import pytest
from test_judge.by_hand import Clients, adaptive
from test_judge.diagnosing import benched, diagnosed, offer_of, server, written

from fedspec.arith import Array
from fedspec.contract import Case
from fedspec_suite.diagnosis.written.plays import Play, played
from fedspec_suite.diagnosis.written.weights import observed, weighted
from fedspec_suite.measure.setting import Setting

Weights = Callable[[Array, Array], Array]

YOURS: dict[str, Weights] = {
    "sqrt(n_i) / sum(sqrt(n_j))": lambda n, tau: np.sqrt(n) / np.sqrt(n).sum(),
    "n_i / max(n_j)": lambda n, tau: n / n.max(),
    "log(1 + n_i) / sum(log(1 + n_j))": lambda n, tau: np.log1p(n) / np.log1p(n).sum(),
    "n_i^0.75 / sum(n_j^0.75)": lambda n, tau: n**0.75 / (n**0.75).sum(),
    "min(n_i, 3) / sum(min(n_j, 3))": lambda n, tau: np.minimum(n, 3) / np.minimum(n, 3).sum(),
    "(n_i + 2.5) / sum(n_j + 2.5)": lambda n, tau: (n + 2.5) / (n + 2.5).sum(),
    "n_i tau_i / sum(n_j tau_j)": lambda n, tau: n * tau / (n @ tau),
    "n_i / tau_i / sum(n_j / tau_j)": lambda n, tau: n / tau / (n / tau).sum(),
    "n_i / (1 + sum(n_j))": lambda n, tau: n / (n.sum() + 1),
    "n_i": lambda n, tau: n,
    "floor(n_i / sum(n_j))": lambda n, tau: n // n.sum(),
    "(n_i / sum(n_j)) [i = M]": lambda n, tau: np.where(np.arange(len(n)) == len(n) - 1, n / n.sum(), 0),
    "(n_i / sum(n_j)) [i < M]": lambda n, tau: np.where(np.arange(len(n)) < len(n) - 1, n / n.sum(), 0),
    "(n_i / sum(n_j)) [n_i > 1]": lambda n, tau: np.where(n > 1, n / n.sum(), 0),
}


def own(weights: Weights) -> Callable[[Case, Any, str], Array]:
    def move(case: Case, messages: Any, name: str) -> Array:
        n, tau = (np.array([getattr(m, what) for m in messages], float) for what in ("weight", "steps"))
        total: Array = sum(b * m.delta[name] for b, m in zip(weights(n, tau), messages, strict=True))  # type: ignore[assignment]
        return total

    return move


def plays_of(subject: Any) -> tuple[list[Play], Setting]:
    bench, setting = benched(subject)
    with np.errstate(all="ignore"):
        return played(bench, setting), setting


def yours(subject: Any) -> list[str]:
    """The smallest formula."""
    with np.errstate(all="ignore"):
        return [v.names[0]["yours"] for v in islice(weighted(*plays_of(subject)), 1)]


@pytest.mark.table(2)
@pytest.mark.parametrize("formula", YOURS)
def test_weights_of_a_server(formula: str) -> None:
    found = yours(server("fedavg", own(YOURS[formula])))
    assert [f.partition(";")[0] for f in found] == [f"p_i = {formula}"]


def test_weights_of_a_server_in_float32_are_sought() -> None:
    subject = server("fedavg", own(lambda n, tau: (n**3 + 1) / (n**3 + 2).sum()))
    (claim,) = subject.info.offers
    subject.info = replace(subject.info, claims=(replace(claim, dtypes=("float32",)),))
    plays, _ = plays_of(subject)
    # Its numbers are too coarse for weights to be told; what the search replays has the case's type.
    assert plays[0].s.case.dtype == "float32" and not observed(plays)


def test_the_rule_of_the_server_may_be_any() -> None:
    it = adaptive("fedadam", "reddi-2021", weights="examples", p=lambda s: np.sqrt(s.n) / np.sqrt(s.n).sum())
    assert yours(it) == ["p_i = sqrt(n_i) / sum(sqrt(n_j))"]


class Weighing(Clients):
    """FedAvg's rounds by hand, with other weights."""

    def __init__(self, case: Case, weights: Any) -> None:
        super().__init__(case)
        self.weights = weights

    def round(self, S: list[int], T: list[int]) -> None:
        by = self.weights(np.array(self.n[S], float), np.array(T, float), self.n)
        ends = [self.local(i, tau) - self.x for i, tau in zip(S, T, strict=True)]
        self.x = self.x + self.h["eta"] * (by @ np.stack(ends))


@pytest.mark.parametrize(
    ("formula", "weights"),
    [
        ("p_i = n_i / n; n = the examples of all clients", lambda n, tau, every: n / every.sum()),
        ("p_i = n_i tau_i / sum(n_j tau_j)", lambda n, tau, every: n * tau / (n @ tau)),
    ],
)
def test_weights_of_a_round(formula: str, weights: Any) -> None:
    offer = offer_of("fedavg", "round", "mcmahan-2017", dtypes=("float64",), intermediates=())
    assert yours(written(offer, lambda case: Weighing(case, weights))) == [formula]


@pytest.mark.slow
def test_they_are_named_in_a_diagnosis() -> None:
    d = diagnosed(server("fedavg", own(YOURS["sqrt(n_i) / sum(sqrt(n_j))"])), further=False)
    assert [f.words for f in d.found] == ["yours: p_i = sqrt(n_i) / sum(sqrt(n_j)), wanted: p_i = n_i / sum(n_j)"]


def test_a_mean_that_is_none_has_no_weights() -> None:
    def cubic(case: Case, messages: Any, n: str) -> Array:
        total: Array = sum(m.delta[n] ** 3 + m.delta[n] for m in messages)  # type: ignore[assignment]
        return total

    plays, setting = plays_of(server("fedavg", cubic))
    assert not [*weighted(plays, setting)]
    assert not observed(plays)


def test_weights_of_no_formula_are_printed_as_numbers() -> None:
    plays, _ = plays_of(server("fedavg", own(lambda n, tau: np.cos(n))))
    n, b = (
        [float(v) for v in part.split(", ")]
        for part in re.findall(r"clients with (.*) examples weigh (.*), not", observed(plays))[0]
    )
    assert np.allclose(np.cos(n), b, atol=1e-3)
