"""The catalogue's rules as torch optimisers: against torch's own, loops of scalars, and what a user does with one."""

from __future__ import annotations

import copy
import io
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from test_mirror.support import HYPER
from torch import Tensor, nn

from fedspec.catalogue import CATALOGUE, LocalSolver
from fedspec.errors import FedspecError, ParameterError, PlanError, ShapeError, UnknownNameError
from fedspec.facts import Fact
from fedspec_torch.compiling import missing_packages
from fedspec_use import rules
from fedspec_use.torch import Local, Server

SHAPES = ((300, 400), (7,), ())
MATRICES = ((300, 400), (7, 1), (1, 1))
ADAM = {"beta1": 0.9, "beta2": 0.99, "eps": 1e-8}
PAIRS: dict[str, tuple[dict[str, Any], Callable[[Any], torch.optim.Optimizer]]] = {
    "sgd": ({}, lambda p: torch.optim.SGD(p, lr=0.01)),
    "momentum": ({"rho": 0.9}, lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9)),
    "nesterov": ({"rho": 0.9}, lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9, nesterov=True)),
    "adagrad": (
        {"eps": 1e-8, "v0": 0.5},
        lambda p: torch.optim.Adagrad(p, lr=0.01, eps=1e-8, initial_accumulator_value=0.5),
    ),
    "adam": (ADAM, lambda p: torch.optim.Adam(p, lr=0.01, betas=(0.9, 0.99), eps=1e-8)),
    "adamw": (
        {**ADAM, "eps": 0.1, "wd": 0.2},
        lambda p: torch.optim.AdamW(p, lr=0.01, betas=(0.9, 0.99), eps=0.1, weight_decay=0.2),
    ),
    "amsgrad": (
        {**ADAM, "reading": "max-then-correct"},
        lambda p: torch.optim.Adam(p, lr=0.01, betas=(0.9, 0.99), eps=1e-8, amsgrad=True),
    ),
}
SOLVERS = [a.id for a in CATALOGUE.values() if isinstance(a.run, LocalSolver)]


def parameters(dtype: torch.dtype = torch.float64, of: str = "sgd") -> list[nn.Parameter]:
    drawn = torch.Generator().manual_seed(0)
    shapes = MATRICES if CATALOGUE[of].has(Fact.MATRICES) else SHAPES
    return [nn.Parameter(torch.randn(s, generator=drawn, dtype=torch.float64).to(dtype)) for s in shapes]


def trained(params: list[nn.Parameter], optimizer: torch.optim.Optimizer, steps: range = range(4)) -> Tensor:
    for k in steps:
        for p in params:
            p.grad = torch.sin(p.detach() * (k + 1))
        optimizer.step()
    return torch.cat([p.detach().reshape(-1).double() for p in params])


def made(name: str, params: Any, **more: Any) -> Local:
    row = CATALOGUE[name]
    known = row.numbers_under("client", row.resolve(row.readings[0].name, {}))
    return Local(params, name, lr=0.01, **{n: HYPER[n] for n in known if n != "eta_l"}, **more)


@pytest.mark.table(1)
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", PAIRS)
def test_it_is_torchs_own_where_that_has_the_same_algorithm(name: str, compiled: bool) -> None:
    numbers, theirs = PAIRS[name]
    ours, other = parameters(), parameters()
    got = trained(ours, Local(ours, name, lr=0.01, compiled=compiled, **numbers))
    want = trained(other, theirs(other))
    assert float((got - want).abs().max()) < 1e-14


@pytest.mark.table(3)
@pytest.mark.parametrize("name", SOLVERS)
def test_compiled_and_on_tensors_are_one_rule(name: str) -> None:
    one, other = parameters(of=name), parameters(of=name)
    got = trained(one, made(name, one, compiled=True))
    want = trained(other, made(name, other, compiled=False))
    assert float((got - want).abs().max()) < 1e-14
    assert not torch.equal(want, torch.cat([p.detach().reshape(-1) for p in parameters()]))


@pytest.mark.slow
@pytest.mark.skipif(bool(missing_packages()), reason="loops are compiled by numba, which is not there")
def test_elementwise_rules_are_compiled_and_others_are_not() -> None:
    for name, can in {"adam": True, "momentum": True, "proximal-sgd": True, "lamb": False, "sm3-ii": False}.items():
        params = parameters()
        optimizer = made(name, params, compiled=True)
        trained(params, optimizer)
        assert optimizer.passes.can is can, name


@pytest.mark.table(1)
@pytest.mark.parametrize("name", SOLVERS)
def test_saved_and_loaded_it_goes_on_as_if_nothing_had_been(name: str) -> None:
    straight, cut = parameters(of=name), parameters(of=name)
    want = trained(straight, made(name, straight))
    first = made(name, cut)
    trained(cut, first, range(2))
    file = io.BytesIO()
    torch.save(first.state_dict(), file)
    file.seek(0)
    second = made(name, cut)
    second.load_state_dict(torch.load(file))
    assert torch.equal(trained(cut, second, range(2, 4)), want)


def test_a_loaded_state_is_no_part_of_the_file_it_came_from() -> None:
    params = parameters()
    first = made("adam", params)
    trained(params, first, range(2))
    saved = first.state_dict()
    before = copy.deepcopy(saved)
    second = made("adam", params)
    second.load_state_dict(saved)
    trained(params, second)
    for number, held in before["state"].items():
        assert all(torch.equal(saved["state"][number][n], v) for n, v in held.items())


def test_groups_have_rates_of_their_own_and_schedulers_set_them() -> None:
    params = parameters()
    optimizer = Local([{"params": params[:1], "lr": 0.5}, {"params": params[1:]}], "sgd", lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
    before = [p.detach().clone() for p in params]
    for p in params:
        p.grad = torch.ones_like(p)
    optimizer.step()
    scheduler.step()
    optimizer.step()
    moved = [float((b - p.detach()).reshape(-1)[0]) for b, p in zip(before, params, strict=True)]
    assert moved == pytest.approx([0.75, 0.15, 0.15])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_narrow_parameters_have_wide_moments(dtype: torch.dtype) -> None:
    params = parameters(dtype)
    optimizer = made("adam", params)
    trained(params, optimizer, range(1))
    loaded = made("adam", params)
    loaded.load_state_dict(optimizer.state_dict())
    for one in (optimizer, loaded):
        assert {v.dtype for held in one.state.values() for v in held.values()} == {torch.float32}
    assert {p.dtype for p in params} == {dtype}
    # The first step of Adam is the rate's length, but for what the type rounds away.
    moved = (params[0].detach().float() - parameters(dtype)[0].detach().float()).abs()
    assert 0.005 < float(moved.median()) < 0.015


def test_a_proximal_step_is_pulled_to_where_the_round_began() -> None:
    p = nn.Parameter(torch.tensor([1.0], dtype=torch.float64))
    optimizer = Local([p], "proximal-sgd", lr=0.5, mu=0.5)
    for _ in range(2):
        p.grad = torch.tensor([2.0], dtype=torch.float64)
        optimizer.step()
    # x = 1 - 1 = 0, then 0 - 1 - (0 - 1)/4.
    assert float(p) == -0.75
    optimizer.begin()
    p.grad = torch.tensor([0.0], dtype=torch.float64)
    optimizer.step()
    assert float(p) == -0.75


def test_a_server_is_fed_minus_the_average_change() -> None:
    """FedAdam without a bias correction, in scalars."""
    p = nn.Parameter(torch.tensor([1.0], dtype=torch.float64))
    optimizer = Server([p], "fedadam", lr=0.5, beta1=0.5, beta2=0.75, tau=0.25)
    x, m, v = 1.0, 0.0, 0.0
    for change in (0.5, -1.0, 2.0):
        p.grad = torch.tensor([-change], dtype=torch.float64)
        optimizer.step()
        m, v = 0.5 * m + 0.5 * change, 0.75 * v + 0.25 * change**2
        x += 0.5 * m / (math.sqrt(v) + 0.25)
        assert float(p) == pytest.approx(x, rel=1e-14)


@pytest.mark.parametrize(("name", "nesterov"), [("fedavgm", False), ("diloco", True)])
def test_an_outer_loop_is_torchs_momentum(name: str, nesterov: bool) -> None:
    """SGD with momentum on the pseudo-gradient: FedAvgM's is heavy-ball, Hsu et al. (2019), DiLoCo's Nesterov's."""
    ours, other = parameters(), parameters()
    got = trained(ours, Server(ours, name, eta=0.7, beta=0.9))
    want = trained(other, torch.optim.SGD(other, lr=0.7, momentum=0.9, nesterov=nesterov))
    assert float((got - want).abs().max()) < 1e-13


@pytest.mark.parametrize(
    ("name", "read"),
    [
        (
            "fednova",
            r"\|\|a_i\|\|_1 of every client's solver; fedspec_use.flower.FedspecStrategy\('fednova'\) has it; ",
        ),
        ("median", "every change by itself; fedspec_use.flower"),
        ("trimmed-mean", "every change by itself; fedspec_use.flower"),
        ("fedexp", "every change by itself; fedspec_use.flower"),
        (
            "scaffold",
            r"what comes of what each client keeps from round to round; "
            r"fedspec_use.flower.FedspecStrategy\('scaffold'\) has it; fedspec_torch.simulate\('scaffold'\)",
        ),
    ],
)
def test_a_server_that_reads_more_than_the_average_is_refused_with_what_it_reads(name: str, read: str) -> None:
    numbers = {"tau_eff": 1.0, "trim": 0.1, "eta": 1.0, "eps": 0.1}
    row = CATALOGUE[name]
    given = {n: numbers[n] for n in row.numbers_under("server", row.resolve(row.readings[0].name, {})) if n in numbers}
    with pytest.raises(FedspecError, match=rf"^{name}: its server reads more than the average .*: it reads {read}"):
        Server(parameters(), name, **given)


def read_by(server: Any) -> list[str]:
    """Findings on a made-up server, which has the numbers of FedAvg."""
    row = CATALOGUE["fedavg"]
    run = rules.Alone(row.run.hyper, lambda h, x: x, server)  # type: ignore[union-attr]
    return rules.beside_the_average(rules.Server(row, run, {"weights": "examples"}, {"eta": 1.0}))


def test_what_a_server_reads_is_found_by_asking_it() -> None:
    mean = lambda sent: sum(m.delta for m in sent) / len(sent)  # noqa: E731
    assert read_by(lambda h, x, sent: (x + mean(sent), {})) == []
    assert read_by(lambda h, x, sent: (x + mean(sent) / len(sent), {})) == [
        "how many changes there are",
        "every change by itself",
        "every client's number of local steps",
        "||a_i||_1 of every client's solver",
    ]
    assert read_by(lambda h, x, sent: (x + mean(sent) * max(m.steps for m in sent), {}))[-1] == (
        "every client's number of local steps"
    )
    assert read_by(lambda h, x, sent: (x + max(m.delta.max() for m in sent), {})) == ["every change by itself"]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("fedada2", "its clients and its server cannot be taken apart, .*`fedspec simulate fedada2` runs them"),
        ("dsgd", "it has no server, clients mix their models with neighbours'; `fedspec simulate dsgd` runs them"),
        ("adam", "adam is a client's solver and has no server; train with it in the clients, beside fedavg"),
    ],
)
def test_what_has_no_server_alone_is_refused_with_the_reason(name: str, why: str) -> None:
    with pytest.raises(FedspecError, match=f"^{name}: it has no separate server: {why}"):
        Server(parameters(), name, lr=1.0)


def refused(kind: type[Exception], text: str, made: Callable[[], object]) -> None:
    with pytest.raises(kind, match=text):
        made()


def test_what_is_wrong_is_said() -> None:
    p = parameters()
    refused(
        ParameterError,
        "momentum: hyper-parameter rho is missing; momentum needs eta_l, rho",
        lambda: Local(p, "momentum", lr=0.1),
    )
    refused(ParameterError, "rho: got 2", lambda: Local(p, "momentum", lr=0.1, rho=2))
    refused(UnknownNameError, "no hyper-parameter or option 'beta'", lambda: Local(p, "sgd", lr=0.1, beta=1))
    refused(UnknownNameError, "fedadam: it isn't a local solver", lambda: Local(p, "fedadam", lr=0.1))
    refused(UnknownNameError, "adam: it has no separate server", lambda: Server(p, "adam", lr=0.1))
    refused(ParameterError, "lr: given together with eta_l", lambda: Local(p, "sgd", lr=0.1, eta_l=0.1))
    refused(
        ParameterError,
        "weights: the average that you pass is weighted already",
        lambda: Server(p, "fedavg", lr=1.0, weights="uniform"),
    )


def test_a_state_of_another_optimiser_or_model_is_refused() -> None:
    ours, adam = parameters(), Local(parameters(), "adam", lr=0.1, beta1=0.9, beta2=0.99, eps=1e-8)
    momentum = Local(ours, "momentum", lr=0.1, rho=0.9)
    for p in ours:
        p.grad = torch.ones_like(p)
    momentum.step()
    refused(
        ParameterError,
        "group 0 belongs to another optimiser: .* rho",
        lambda: momentum.load_state_dict(adam.state_dict()),
    )
    others = [torch.nn.Parameter(torch.zeros(*p.shape, 2, dtype=p.dtype)) for p in ours]
    wide = Local(others, "momentum", lr=0.1, rho=0.9)
    refused(
        ShapeError, "of parameter 0 has the shape .* another model", lambda: wide.load_state_dict(momentum.state_dict())
    )


def test_a_gradient_that_comes_or_goes_is_refused() -> None:
    params = parameters()
    optimizer = made("adam", params)
    for p in params[:2]:
        p.grad = torch.ones_like(p)
    optimizer.step()
    params[2].grad = torch.ones_like(params[2])
    refused(PlanError, "parameter 2 of group 0 has one, and had none", optimizer.step)
    params[2].grad = params[0].grad = None
    refused(PlanError, "parameter 0 of group 0 has none, and had one", optimizer.step)


def test_no_gradient_at_all_is_no_step() -> None:
    params = parameters()
    before = [p.detach().clone() for p in params]
    made("adam", params).step()
    assert all(torch.equal(p.detach(), b) for p, b in zip(params, before, strict=True))


def test_the_page_runs_as_it_is_printed() -> None:
    page = (Path(__file__).parents[2] / "docs" / "optimisers.md").read_text(encoding="utf-8")
    space: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", page, re.S):
        exec(block, space)
    assert not torch.equal(space["outer"].state[next(space["model"].parameters())]["v"], torch.zeros(3, 8))
