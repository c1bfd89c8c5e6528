"""The fused kernel: what Triton's interpreter makes of it is held to plain autograd; what it refuses is said.

No GPU is needed, and none runs here: impl/test_gpu holds what a GPU makes of it to the same numbers.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from test_mirror import fused_cases
from test_mirror.fused_cases import CASES, RUNS, SPOILS, Case
from test_mirror.support import assert_close, momentum
from torch import nn

from fedspec.errors import UnknownNameError
from fedspec_torch import Federation
from fedspec_torch.federation.autotune import Choice, choose_run
from fedspec_torch.local.runs import run_in_place
from fedspec_torch.local.solvers import InPlace, along
from fedspec_torch.refusals import LayersError
from fedspec_torch.ways import fused

needs_triton = pytest.mark.skipif(
    find_spec("triton") is None, reason="triton is not installed here (it takes 1.1 GB): make fused"
)


@pytest.fixture(scope="module")
def interpreted(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Results of the kernel for every case, by name."""
    file = tmp_path_factory.mktemp("fused") / "found.npz"
    said = subprocess.run(
        [sys.executable, fused_cases.__file__, str(file)],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 0, said.stderr[-3000:]
    return np.load(file)


@needs_triton
@pytest.mark.parametrize("name", CASES)
def test_as_the_same_steps_by_plain_autograd(interpreted: Any, name: str) -> None:
    models, losses = CASES[name].trained("looped", torch.float64)
    assert_close(interpreted[f"models {name}"], models.astype(np.float32), float(np.abs(models).max()), name, ulps=32)
    np.testing.assert_allclose(interpreted[f"losses {name}"], losses, rtol=1e-5)


@needs_triton
@pytest.mark.parametrize("algorithm", RUNS)
def test_whole_runs(interpreted: Any, algorithm: str) -> None:
    x, losses = fused_cases.simulated(algorithm, "looped", torch.float64)
    assert_close(interpreted[f"run {algorithm}"], x.astype(np.float32), float(np.abs(x).max()), ulps=64)
    np.testing.assert_allclose(interpreted[f"told {algorithm}"], losses, rtol=1e-5)


@needs_triton
@pytest.mark.parametrize("words", SPOILS)
def test_a_spoiled_kernel_is_noticed(interpreted: Any, words: str) -> None:
    """Some case's models are further off by far than the bound of the tests above."""
    apart = []
    for name in CASES:
        right, wrong = interpreted[f"models {name}"], interpreted[f"spoiled {words}: {name}"]
        apart.append(np.nan_to_num(np.abs(wrong - right), nan=np.inf).max() / np.abs(right).max())
    assert max(apart) > 1e-3


@needs_triton
def test_a_class_that_the_model_does_not_have_makes_its_client_no_number(interpreted: Any) -> None:
    finite = np.isfinite(interpreted["poisoned"]).all(1)
    assert finite.tolist() == [True, True, False, True]


@needs_triton
def test_which_run_was_taken_and_why_is_said(interpreted: Any) -> None:
    name, run, why = interpreted["chosen"].tolist()
    assert name == "layered" and run in ("compiled", "fused", "in place")
    assert why.startswith("first; a run of 3 steps: ") and "fused " in why and "in place " in why and " ms" in why


@needs_triton
@pytest.mark.parametrize("capability", [80, 90])
def test_it_compiles_for_a_gpu_that_is_not_there(capability: int) -> None:
    """To machine code: the interpreter takes what the compiler does not."""
    command = [sys.executable, "-m", "test_mirror.fused_compiled", str(capability)]
    said = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr[-3000:]
    # Of 99 KiB that any GPU since Ampere gives a program.
    assert all(0 < int(shared) <= 99 * 1024 for shared in said.stdout.split())


def walk(federation: Federation) -> Any:
    return federation.oracle(range(len(federation))).batches.walk  # type: ignore[attr-defined]


def refused(case: Case, **more: Any) -> str:
    federation = case.federation("fused", **more)
    return fused.refusal(federation.network, federation.x0[None], walk(federation))


def other(module: nn.Module, loss: Any = nn.functional.cross_entropy, **more: Any) -> str:
    data = [(torch.ones(2, 3), more.get("targets", torch.zeros(2).long()))]
    federation = Federation(module, loss, data)
    return fused.refusal(federation.network, federation.x0[None], walk(federation))


def test_what_it_does_not_take_is_refused_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    assert refused(CASES["lr"]) == "tensors on cpu, not on a GPU"
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    monkeypatch.setattr(fused, "find_spec", lambda name: None)
    assert refused(CASES["lr"]) == "triton is not installed"
    monkeypatch.setattr(fused, "find_spec", lambda name: name)
    assert [refused(case) for case in CASES.values()] == [""] * len(CASES)
    assert "torch.float64" in refused(CASES["lr"], dtype=torch.float64)
    assert "18432 weights" in refused(Case((128, 100, 10), 4, 1))
    assert "minibatches of 8192 numbers" in refused(Case((64, 128, 10), 33, 1))
    three = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
    for module in (three, nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)), nn.Sequential(*three[:4])):
        assert "linear, ReLU, linear" in other(module)
    assert "linear, ReLU, linear" in other(nn.Sequential(nn.ReLU(), nn.Linear(3, 2)))
    assert "other than cross-entropy" in other(nn.Linear(3, 2), nn.functional.mse_loss, targets=torch.ones(2, 2))


def test_asked_for_by_name_it_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    with pytest.raises(LayersError, match="fused: tensors on cpu, not on a GPU; leave way out"):
        CASES["odd"].trained("fused")
    with pytest.raises(
        UnknownNameError, match="known: compiled, layered, stacked, vmapped, looped, channels_last, fused"
    ):
        CASES["odd"].federation("fast")


def test_its_gradients_and_other_solvers_are_those_that_are_written_out() -> None:
    found = []
    for way in ("fused", "layered"):
        federation = CASES["odd"].federation(way)
        x = federation.x0.expand(4, -1)
        clients = federation.oracle(fused_cases.CLIENTS)
        found.append((clients(1, x).clone(), run_in_place(momentum(0.25, 0.5), x, clients, 3)[0].clone()))
    for one, two in zip(*found, strict=True):
        assert torch.equal(one, two)


def test_it_is_for_plain_sgd_alone() -> None:
    def rate(k: int) -> float:
        return 0.5

    assert along(rate).is_plain
    for solver in (momentum(0.5, 0.5), InPlace(rate=rate, kept=("m",))):
        assert not solver.is_plain


def taken(fused: Any, *, off: float = 0.0, slow: float = 0.0) -> Choice:
    x = torch.zeros(2, 3)

    def in_place(tau: Any) -> Any:
        return (x + 1,), torch.ones(2)

    def kernel(tau: Any) -> Any:
        if slow:
            torch.randn(10**6).sort()
        return (x + 1 + off,), torch.ones(2)

    return choose_run(Choice("layered", "measured"), x, [7, 3], in_place, {"fused": fused or kernel})


def test_a_kernel_that_comes_to_other_models_is_not_taken() -> None:
    assert taken("").why.startswith("measured; a run of 4 steps: ")
    assert taken("", slow=1).run == "in place"
    for off in (0.01, float("nan")):
        choice = taken("", off=off)
        assert choice.run == "in place" and "fused refused (its models are " in choice.why
    assert taken("no triton") == Choice("layered", "measured; fused refused (no triton)", "in place")

    def broken(tau: Any) -> Any:
        raise RuntimeError("out of resource\nmore")

    assert taken(broken).why.endswith("measured; fused refused (RuntimeError: out of resource)")
