"""The epsilon of a run, against closed forms and quadrature, and the mechanism that the accountant is told of."""

from __future__ import annotations

import builtins
import json
import re
from dataclasses import replace
from math import erf, exp, log, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from test_judge.support import inside
from test_mirror.federations import quadratic
from torch import Tensor, nn

from fedspec.errors import FedspecError, ParameterError, PlanError
from fedspec_torch import Federation, PrivacyError, cohorts, privacy, simulate
from fedspec_torch.run.privacy import epsilon

USUAL: dict[str, Any] = {"rounds": 30, "clients": 100, "cohort": 10, "sigma": 4.0, "delta": 0.006}
CASES = [
    {"rounds": 1},
    {"rounds": 100, "sigma": 2.0},
    {"cohort": 50, "sigma": 8.0},
    {"clients": 1000, "delta": 5e-4},
]


def below(z: float) -> float:
    """Share of a standard normal number below z."""
    return (1 + erf(z / sqrt(2))) / 2


@pytest.mark.parametrize(("rounds", "sigma", "delta"), [(1, 4.0, 0.01), (20, 8.0, 1e-3), (100, 3.0, 1e-5)])
def test_of_everybody_it_bounds_the_gaussian_mechanism(rounds: int, sigma: float, delta: float) -> None:
    """Balle and Wang (2018), Theorem 8: all rounds together are one Gaussian mechanism."""
    found, mu = epsilon(rounds, 10, 10, sigma, delta), 2 * sqrt(rounds) / sigma

    def least(e: float) -> float:
        return below(mu / 2 - e / mu) - exp(e) * below(-mu / 2 - e / mu)

    assert least(found) <= delta < least(0.75 * found)


def densities(q: float, sigma: float) -> tuple[Any, Any, float]:
    """Logarithms of the densities of a sum, in clip norms, whose other changes are 0, with a change of 1 and of -1."""
    z = np.linspace(-20 * sigma - 60, 20 * sigma + 60, 200_001)

    def log_density(mean: float) -> Any:
        return -((z - mean) ** 2) / (2 * sigma**2) - log(sigma * sqrt(2 * np.pi))

    one, other = (np.logaddexp(log(1 - q) + log_density(0), log(q) + log_density(m)) for m in (1, -1))
    return one, other, z[1] - z[0]


@pytest.mark.parametrize("change", CASES)
def test_of_a_cohort_it_is_not_below_that_of_two_opposite_changes(change: dict[str, Any]) -> None:
    """Rényi divergences of a pair of populations by quadrature, and in one round the least delta itself."""
    given = USUAL | change
    found, delta = epsilon(**given), given["delta"]
    p, q, width = densities(given["cohort"] / given["clients"], given["sigma"])

    def converted(order: float) -> float:
        renyi = log(np.exp(order * p + (1 - order) * q).sum() * width) / (order - 1)
        return given["rounds"] * renyi + log((order - 1) / order) - (log(delta) + log(order)) / (order - 1)

    pair = min(map(converted, (1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32)))
    assert pair <= found < 4 * pair and found <= epsilon(**{**given, "cohort": given["clients"]})
    if given["rounds"] == 1:
        assert np.maximum(np.exp(p) - exp(found) * np.exp(q), 0).sum() * width <= delta


def test_it_falls_with_noise_and_rises_with_rounds_cohort_and_certainty() -> None:
    base = epsilon(**USUAL)
    for name, value, sign in (("sigma", 5.0, -1), ("rounds", 31, 1), ("cohort", 11, 1), ("delta", 0.001, 1)):
        assert (epsilon(**{**USUAL, name: value}) - base) * sign > 0


def test_the_page_prints_the_epsilon_of_its_example() -> None:
    page = (Path(__file__).parents[2] / "docs/private-averages.md").read_text(encoding="utf-8")
    (printed,) = re.findall(r"epsilon <= (\d+) at delta = 0\.0025", page)
    assert int(printed) == round(epsilon(500, 400, 40, 1.0, 0.0025))


D, C = 4000, 0.5


def moved(sign: float, sigma: float) -> Tensor:
    """Model after a round of two of three clients, where the gradients of one have this sign; the others' are 0."""
    torch.manual_seed(0)
    line = torch.randn(1, D).double()
    model = nn.Linear(D, 1, bias=False).double()
    nn.init.zeros_(model.weight)
    data = [(sign * line * (i == 1), torch.zeros(1)) for i in range(3)]
    fed = Federation(model, lambda z, t: z.mean(), data)
    given: dict[str, Any] = {"eta_l": 1.0, "eta": 1.0, "clip_norm": C, "sigma": sigma}
    # Seed 1 draws client 1.
    run = simulate("dp-fedavg", fed, plan=cohorts(2, seed=1), rounds=1, **given)
    list(run)
    return run.x  # type: ignore[no-any-return]


def test_the_mechanism_is_that_of_the_accountant() -> None:
    """A replaced client moves the sum of two changes by 2 c; its noise has the standard deviation sigma c."""
    sensitivity = 2 * (moved(1.0, 0.5) - moved(-1.0, 0.5)).norm()
    assert float(sensitivity) == pytest.approx(2 * C, rel=1e-9)
    noise = 2 * (moved(1.0, 3.0) - moved(1.0, 0.0))
    assert float(noise.std()) == pytest.approx(3.0 * C, rel=0.05)
    assert abs(float(noise.mean())) < 0.1 * 3.0 * C


def run_of(name: str = "dp-fedavg", plan: Any = None, fed: Any = None, **more: Any) -> Any:
    """A run of three rounds, of which none is done."""
    given = {"eta_l": 0.1, "sigma": 4.0, "clip_norm": 0.5, **more}
    given = given if name == "dp-fedavg" else {"eta_l": 0.1}
    return simulate(name, fed or quadratic()[0], plan=plan or cohorts(2), rounds=3, **given)


def test_a_run_has_the_epsilon_of_its_rounds_cohort_and_noise() -> None:
    run = run_of()
    n, found = len(run.federation), privacy(run, 0.01)
    assert found.epsilon == epsilon(3, n, 2, 4.0, 0.01) and found.delta == 0.01
    assert privacy(run).delta == pytest.approx(n**-1.1)
    run.step()
    # When a run ends may depend on the data.
    assert privacy(run, 0.01) == found
    assert privacy(run_of(plan=cohorts(None)), 0.01).cohort == n
    assert privacy(run_of(rates={"eta": lambda r: 0.5**r}), 0.01) == found
    for words in ("replacing one client", "without replacement", "seed is secret", "doesn't count tuning"):
        assert words in str(found)


class Others:
    """A schedule of a user's own."""

    def events(self, *given: Any) -> Any:
        """Yield the events of cohorts of two."""
        return cohorts(2).events(*given)


def normed() -> Federation:
    """A module with running statistics."""
    data = [(torch.randn(6, 4), torch.randint(2, (6,))) for _ in range(3)]
    return Federation(nn.Sequential(nn.BatchNorm1d(4), nn.Linear(4, 2)), nn.functional.cross_entropy, data)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"name": "fedavg"}, "fedavg adds no noise; choose dp-fedavg"),
        ({"reading": "gradient-clip"}, "not the change that a client sends, .*a reading with clipped=change"),
        ({"sigma": 0.0}, "sigma is 0, .*choose sigma > 0"),
        ({"plan": Others()}, "those of Others, of which no sampling is known; take cohorts"),
        ({"fed": normed()}, r"running statistics \(averaged\), .*statistics='kept'"),
    ],
)
def test_what_has_no_known_epsilon_is_refused_with_the_reason(given: dict[str, Any], words: str) -> None:
    with pytest.raises(PrivacyError, match=words):
        privacy(run_of(**given))
    if "fed" in given:
        assert privacy(run_of(fed=replace(given["fed"], statistics="kept"))).epsilon > 0


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"sigma": 0.0}, ParameterError, "sigma: got 0"),
        ({"delta": 1.0}, ParameterError, "delta: got 1"),
        ({"cohort": 101}, ParameterError, "cohort: got 101 of 100 clients"),
        ({"rounds": 0}, PlanError, "rounds: got 0"),
    ],
)
def test_numbers_of_no_mechanism_are_refused(change: dict[str, Any], error: type[FedspecError], words: str) -> None:
    with pytest.raises(error, match=words):
        epsilon(**USUAL | change)


def test_the_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    found = builtins.__import__

    def without(name: str, *more: Any, **options: Any) -> Any:
        if name.startswith("dp_accounting"):
            raise ModuleNotFoundError(name)
        return found(name, *more, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(FedspecError, match=r"pip install '\./impl\[privacy\]'"):
        epsilon(**USUAL)


@pytest.mark.slow
@pytest.mark.usefixtures("calm")
def test_the_command_prints_it_once(tmp_path: Path) -> None:
    words = ("--clients", "20", "--cohort", "5", "--rounds", "2", "--out", str(tmp_path / "x"))
    told = inside("simulate", "dp-fedavg", *words, "--set", "sigma=4", "--set", "clip_norm=0.5")
    want = f"dp-fedavg: epsilon <= {epsilon(2, 20, 5, 4.0, 20**-1.1):.4g} at delta = {20**-1.1:.3g} for replacing one"
    assert told.out.count(want) == 1
    record = json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))
    assert record["runs"][0]["privacy"] in told.out
    again = inside("simulate", "fedavg", *words)
    assert "epsilon <=" not in again.out
