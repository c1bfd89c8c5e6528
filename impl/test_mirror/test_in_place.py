"""Local solvers in place, on layers in memory part by part: each is held to the specification's text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch
from test_mirror.support import HYPER, assert_close, begun, choices, tensors
from torch import nn

from fedspec.catalogue import Method, find
from fedspec.errors import ParameterError
from fedspec.plan import Plan
from fedspec.readings import Adaptivity, PrivateServer, Received, Solver
from fedspec_torch import Federation, population
from fedspec_torch.fast_paths.adaptive import length
from fedspec_torch.fast_paths.lamb import is_plain
from fedspec_torch.federation import training
from fedspec_torch.local.blocks import Block
from fedspec_torch.local.runs import run_in_place
from fedspec_torch.population import Batched
from fedspec_torch.run.rounds import run_round, run_step

N = 5
NUMBERS = {**HYPER, "m0_l": 0.0, "eps_s": 0.75, "clip_norm": 0.25}
FORMS: list[tuple[str, dict[str, Any]]] = [
    *(("fednova", {"solver": solver}) for solver in Solver),
    ("fedprox", {}),
    ("joint-local", {"client": "adagrad"}),
    ("joint-local", {"client": "adam"}),
    ("fedada2", {"z": 1, "eps_s": 0}),
    *(("fedada2", {"idle": idle, "eps_s": 0}) for idle in ("carried", "reset", "recomputed")),
    ("fedada2", {}),
    ("fed-lamb", {}),
    ("fed-lamb", {"beta2": 1e-5}),
    # Decays for two steps at once, so that some are done between.
    ("fed-lamb", {"beta2": 0.0625}),
    ("fed-lamb", {"lam": 0.0, "bias_correction": "none", "memory": "reset"}),
    ("fed-ams", {}),
    ("fed-ams", {"beta2": 1e-5, "bias_correction": "none"}),
    ("fed-sgd", {}),
    ("scaffold", {}),
    ("scaffold", {"control": "gradient-at-x", "weights": "examples"}),
    ("diloco", {}),
    ("diloco", {"inner": "reset"}),
    ("vrl-sgd", {}),
    ("vrl-sgd", {"divisor": "mean-steps"}),
    # With eta_l mu = 1/16, and with 3/4.
    ("feddyn", {}),
    ("feddyn", {"mu": 6.0}),
    *(("fednova-vr", {"solver": solver}) for solver in Solver),
    ("fednova-alg2", {}),
    ("fednova-alg2", {"stored": "corrected"}),
    ("fednova-sampled", {"solver": "nesterov"}),
    ("fednova-solvers", {}),
    ("joint-direct", {"client": "adagrad"}),
    *(("joint-direct", {"client": "adam", "received": received}) for received in Received),
    ("fedadaadagrad", {}),
    ("fedadaadagrad", {"z": 1, "eps_s": 0}),
    ("fedadaadam", {"m0_l": 0.25}),
    ("fedadaadam", {"eps_s": 0}),
    ("fedadaadam", {"z": 1, "eps_s": 0}),
    ("fedblended", {"eps_s": 0}),
    ("fedavg-normalised", {}),
    *(("dp-fedavg", {"server": server}) for server in PrivateServer),
    ("dp-joint", {}),
    *(("dp-joint", {"preconditioner": "sent", "client": client}) for client in Adaptivity),
]


def with_forms(*names: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every combination of options that contradict each other in nothing and have a form."""
    for name in names:
        for options in choices(find(name)):
            with suppress(ParameterError):
                if not name.startswith("fed-") or is_plain(hyper(name, options)):
                    yield name, options


def federation(way: str, dtype: torch.dtype, seed: int = 3) -> Federation:
    """Clients of a chain in which one layer has no bias, and one output."""
    torch.manual_seed(seed)
    module = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2, bias=False), nn.ReLU(), nn.Linear(2, 1))
    data = [(torch.randn(6, 3, dtype=dtype), torch.randn(6, 1, dtype=dtype)) for _ in range(N)]
    return Federation(module.to(dtype), nn.functional.mse_loss, data, batch_size=2, way=way)


def hyper(name: str, more: dict[str, Any]) -> Any:
    row: Any = find(name)
    options = {**row.defaults(), **{n: str(v) for n, v in more.items() if n in row.options}}
    numbers = {n: more.get(n, NUMBERS[n]) for n in row.numbers_under("round", options)}
    return row.run.hyper(**numbers, **options)


def plans(name: str, d: int) -> list[Plan]:
    """Two rounds; in the second some have come again, if not all of them must."""
    takes, found = find(name).takes, []
    second = ((1, 0, 2, 3, 4), (2, 4, 1, 1, 2)) if "everyone" in takes else ((2, 0), (2, 4))
    for who, steps in (((3, 0, 4, 1, 2), (3, 1, 3, 2, 3)), second):
        more: dict[str, Any] = {}
        if "strategies" in takes:
            known = find(name).run.strategies  # type: ignore[union-attr]
            more["strategies"] = tuple(known[i % len(known)] for i in who)
        if "scales" in takes:
            more["scales"] = tuple(0.5 + i for i in who)
        if "noise" in takes:
            more["noise"] = tuple(0.125 * (j % 5 - 2) for j in range(d))
        found.append(Plan(who, steps, tuple(1.0 + i for i in who), **more))
    return found


OPTIONS = [("diloco", {"inner": "averaged"}), *with_forms("fedada2", "joint-local", "fed-lamb", "fed-ams")]


@pytest.mark.table(2)
@pytest.mark.parametrize("dtype", [torch.float64, pytest.param(torch.float32, marks=pytest.mark.long)], ids=str)
@pytest.mark.parametrize(("name", "more"), [*FORMS, *OPTIONS], ids=str)
def test_on_layers_and_by_gradients_as_the_text_has_it(
    name: str, more: dict[str, Any], dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    run: Any = find(name).run
    h, ends = hyper(name, more), []
    for way, by_text in (("looped", True), ("looped", False), ("layered", False)):
        # Small blocks are recorded too, unless the text is to run on tensors.
        for least in ("LEAST", "UNEQUAL"):
            monkeypatch.setattr(population, least, 2**62 if by_text else 0)
        fed = federation(way, dtype)
        begin, setup = fed.x0.clone(), fed.setup
        state = run.begin(h, begin, setup.shapes) if isinstance(run, Method) else run.init(h, begin, setup)
        shown: dict[str, Any] = {}
        # Blocks of three and two, those of unequal steps in one.
        for number, plan in enumerate(plans(name, len(begin))):
            clients = fed.in_round(number)
            held = [(part, part.clone()) for part in tensors(getattr(state, "server", state)).values()]
            if isinstance(run, Method):
                method = replace(run, local=partial(run.local)) if by_text else run
                state = run_round(method, h, state, clients, plan, block=3).state
            elif by_text:
                state, shown = run.step(h, state, Batched(clients, 3), plan)
            else:
                state, shown = run_step(run, h, state, clients, plan, block=3)
            assert all(torch.equal(part, was) for part, was in held)
        assert torch.equal(begin, federation(way, dtype).x0)
        found = {"x": state} if isinstance(state, torch.Tensor) else tensors(getattr(state, "server", state))
        ends.append({**found, **shown})
    assert not torch.allclose(ends[0]["x"], begin, rtol=1e-2)
    for got in ends[1:]:
        for part, want in ends[0].items():
            assert_close(got[part], want.numpy(), 4 * float(want.abs().max()), part, ulps=256)


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("fedada2", {"z": 1}),
        ("fed-lamb", {}),
        ("fed-ams", {}),
        ("fedavg", {}),
        ("fednova", {"solver": "momentum"}),
        ("scaffold", {}),
        ("feddyn", {}),
        ("dp-joint", {}),
        ("joint-direct", {}),
    ],
)
def test_who_trains_in_place_has_no_stack_of_gradients(
    name: str, more: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    fed, run, h = federation("layered", torch.float32), find(name).run, hyper(name, more)
    monkeypatch.setattr(training.Trained, "_at", None)
    monkeypatch.setattr(population, "LEAST", 0)
    noise = (0.0,) * len(fed.x0) if "noise" in find(name).takes else ()
    plan, clients = Plan((1, 3), (2, 2), (1, 1), noise=noise), fed.in_round(0)
    (run_round if isinstance(run, Method) else run_step)(run, h, begun(run, h, fed.x0, fed.setup), clients, plan)


@pytest.mark.parametrize("tau", [0, (2, 0)])
def test_no_steps_are_refused(tau: Any) -> None:
    with pytest.raises(ValueError, match="steps: got 0"):
        run_in_place(None, torch.zeros(2, 3), lambda k, x: x, tau)  # type: ignore[arg-type]


@pytest.mark.parametrize("scale", [0.0, 1e-30, 1.0, 1e30])
def test_lengths_of_vectors_whose_squares_vanish_or_overflow(scale: float) -> None:
    rows = scale * torch.tensor([[3.0, 0.0, 4.0], [0.0, 5.0, 12.0]])
    block = Block(2, 2, ((slice(0, 2), (2,)), (slice(2, 3), (1,))), layerwise=False, memory=lambda name: rows)
    assert torch.allclose(length(block, rows), scale * torch.tensor([[5.0], [13.0]]), rtol=1e-6, atol=0)
