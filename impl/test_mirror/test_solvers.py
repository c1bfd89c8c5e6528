"""Other local solvers under a server's name in the mirror: each run is the specification's, client after client."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_judge.support import inside
from test_mirror.federations import quadratic, schedule, specified
from test_mirror.ranked import apart, own
from test_mirror.support import resumed

from fedspec.catalogue import find
from fedspec.errors import ParameterError
from fedspec_torch import cohorts, population, simulate


@pytest.fixture(autouse=True)
def no_rows_join() -> Iterator[None]:
    with apart():
        yield


@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize(
    ("server", "solver", "numbers"),
    [
        ("fedadam", "yogi", {"v0_l": 0.25}),
        ("fedavgm", "adamw", {"wd_l": 0.25}),
        ("fedavg", "proximal-sgd", {"mu_l": 0.5}),
        ("fedyogi", "normalised-sgd", {}),
        ("trimmed-mean", "nesterov", {}),
    ],
)
def test_a_run_is_the_specification(
    server: str, solver: str, numbers: Any, recorded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for least in ("LEAST", "UNEQUAL"):
        monkeypatch.setattr(population, least, 0 if recorded else 2**62)
    federation, H, e = quadratic()
    run = simulate(server, federation, plan=schedule(find(server)), rounds=3, solver=solver, **numbers)
    assert all(np.isfinite(r.loss) for r in run) and run.algorithm.id == f"{server}-with-{solver}"
    want = specified(find(f"{server}-with-{solver}"), run, H, e)
    np.testing.assert_allclose(run.x.numpy(), want, rtol=1e-12, atol=1e-12)


def test_a_solver_of_ones_own(tmp_path: Path) -> None:
    row = own("solver", tmp_path)
    federation, H, e = quadratic()
    run = simulate("fedadam", federation, plan=cohorts(4, steps=3), rounds=3, solver=row, rho_l=0.25)
    list(run)
    assert run.algorithm.id == "fedadam-with-own-solver"
    np.testing.assert_allclose(run.x.numpy(), specified(run.algorithm, run, H, e), rtol=1e-12, atol=1e-12)


def test_a_saved_run_goes_on(tmp_path: Path) -> None:
    federation, *_ = quadratic(way="looped")
    begun = partial(simulate, "fedadam", federation, plan=cohorts(4, steps=3), rounds=4, solver="yogi")
    resumed(begun, tmp_path / "run.pt", federation, 2)


def test_a_solver_of_its_own_stays_an_option() -> None:
    federation, *_ = quadratic()
    run = simulate("fednova", federation, plan=cohorts(4, steps=3), rounds=1, solver="momentum")
    assert run.algorithm.id == "fednova"
    with pytest.raises(ParameterError, match="solver: the server of fednova"):
        simulate("fednova", federation, plan=cohorts(4, steps=3), rounds=1, solver="adam")


@pytest.mark.slow
def test_the_command_takes_a_solver(tmp_path: Path) -> None:
    told = ("--clients", "4", "--rounds", "1", "--steps", "2", "--out", str(tmp_path))
    ran = inside("simulate", "fedavg", "--compare", "fedadam", "--set", "fedavg:solver=adam", *told)
    assert ran.code == 0 and "fedavg-with-adam" in ran.out and "fedadam " in ran.out
    refused = inside("simulate", "scaffold", "--set", "solver=adam", *told)
    assert refused.code == 2 and "solver: scaffold has its clients and its server in one" in refused.out + refused.err
