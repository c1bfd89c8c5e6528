"""Running statistics: what becomes of them is a named reading, and the gradients do not know of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from test_mirror.support import ended, resumed
from torch import Tensor, nn
from torch.nn import functional as F

from fedspec.errors import PlanError
from fedspec_torch import Federation, ModuleError, cohorts, exchanges, resume, simulate
from fedspec_torch.federation.modes import evaluating

SIZES = (7, 9, 6, 8)
"""Numbers of examples of the clients."""

RUNNING = ("1.running_mean", "1.running_var", "1.num_batches_tracked")
"""Buffers of the norm."""


def normed() -> nn.Module:
    """A module with a norm that tracks statistics, the same at every call."""
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(5, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 3)).double()


def data() -> list[tuple[Tensor, Tensor]]:
    """Data of four unlike clients."""
    torch.manual_seed(5)
    return [(i + torch.randn(n, 5).double(), torch.randint(3, (n,))) for i, n in enumerate(SIZES)]


def federation(**more: Any) -> Federation:
    """The clients with minibatches of three, in the order of the data."""
    return Federation(normed(), F.cross_entropy, data(), batch_size=3, shuffled=False, **more)


def local(start: dict[str, Tensor], i: int, steps: int, eta_l: float) -> dict[str, Tensor]:
    """A client's state after a plain loop of torch, which moves the statistics as torch does."""
    module = normed()
    module.load_state_dict(start)
    inputs, targets = data()[i]
    for k in range(steps):
        which = [(3 * k + e) % SIZES[i] for e in range(3)]
        module.zero_grad()
        F.cross_entropy(module(inputs[which]), targets[which]).backward()  # type: ignore[no-untyped-call]
        with torch.no_grad():
            for p in module.parameters():
                assert p.grad is not None
                p.sub_(eta_l * p.grad)
    return {name: value.clone() for name, value in module.state_dict().items()}


def by_hand(reading: str, rounds: int, steps: int = 2, eta_l: float = 0.2) -> tuple[dict[str, Tensor], list[Any]]:
    """FedAvg of everything that a state holds, but for the statistics, where the reading has it otherwise."""
    x = normed().state_dict()
    own: list[dict[str, Tensor]] = [{name: x[name].clone() for name in RUNNING} for _ in SIZES]
    for _ in range(rounds):
        found = [local({**x, **(own[i] if reading == "kept" else {})}, i, steps, eta_l) for i in range(len(SIZES))]
        own = [{name: one[name] for name in RUNNING} for one in found]
        x = {name: sum(n * one[name] for n, one in zip(SIZES, found, strict=True)) / sum(SIZES) for name in x}
        if reading == "last":
            x |= own[-1]
    return x, own


@pytest.mark.parametrize("reading", ["averaged", "last", "kept"])
@pytest.mark.parametrize("way", [None, "looped", "stacked", "vmapped"])
def test_a_run_has_the_statistics_of_plain_loops(reading: str, way: str | None) -> None:
    fed = federation(statistics=reading, way=way)
    run = ended("fedavg", fed, plan=cohorts(4, steps=2), rounds=3, eta_l=0.2, eta=1.0)
    want, own = by_hand(reading, 3)
    found = run.module().state_dict()
    for name, value in want.items():
        # Where they are kept, the common model is shown with their mean.
        torch.testing.assert_close(found[name].double(), value.double(), rtol=1e-10, atol=1e-12)
    if reading == "kept":
        for i, theirs in enumerate(own):
            found = run.module(i).state_dict()
            for name, value in theirs.items():
                torch.testing.assert_close(found[name], value, rtol=1e-10, atol=1e-12)


def test_of_two_gradients_at_one_step_the_first_moves_them() -> None:
    fed = federation(way="looped")
    clients = fed.in_round(0)
    oracle, x = clients.oracle([1, 3]), fed.x0.expand(2, -1)
    for asked in ([0, 0, 1], [0, 1, 1, 0]):
        for k in asked:
            oracle(k, x)
        assert clients.moving is not None
        assert [int(clients.moving.now[i][-1]) for i in (1, 3)] == [2, 2]


def test_recomputed_ones_are_those_of_all_examples_together() -> None:
    fed = federation(statistics="recomputed")
    run = ended("fedavg", fed, plan=cohorts(4, steps=2), test=data()[2], eta_l=0.2, eta=1.0)
    module, done = run.module(), run.history[-1]
    found = module.state_dict()
    inputs = torch.cat([inputs for inputs, _ in data()])
    hidden = inputs @ found["0.weight"].T + found["0.bias"]
    torch.testing.assert_close(found["1.running_mean"], hidden.mean(0), rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(found["1.running_var"], hidden.var(0), rtol=1e-10, atol=1e-12)
    assert module[1].momentum == 0.1  # type: ignore[index]
    with evaluating(module), torch.no_grad():
        want = F.cross_entropy(module(data()[2][0]), data()[2][1]).item()
    assert done.test_loss == pytest.approx(want, rel=1e-12)


@pytest.mark.parametrize("reading", ["averaged", "kept", "recomputed"])
def test_a_resumed_run_goes_on_with_them(reading: str, tmp_path: Path) -> None:
    def begun() -> Any:
        more: dict[str, Any] = dict(plan=cohorts(2, steps=2, seed=1), rounds=5, eta_l=0.2, eta=1.0)
        return simulate("fedavg", federation(statistics=reading), **more)

    whole, again = resumed(begun, tmp_path / "run.pt", federation(statistics=reading), 3)
    one, other = (run.module().state_dict() for run in (whole, again))
    assert all(torch.equal(one[name], other[name]) for name in one)
    if reading == "kept":
        assert whole.own_b.keys() == again.own_b.keys()
        assert all(torch.equal(whole.own_b[i], again.own_b[i]) for i in whole.own_b)
    with pytest.raises(Exception, match=r"another federation: statistics was"):
        resume(tmp_path / "run.pt", federation(statistics="last"))


def test_what_is_sent_is_counted() -> None:
    def sent(**more: Any) -> int:
        run = ended("fedavg", federation(**more), plan=cohorts(2), rounds=1, eta_l=0.2, eta=1.0)
        return int(run.history[-1].floats_sent)

    # Six means, six variances and a counter, to and from two clients.
    assert sent(statistics="averaged") - sent(statistics="kept") == 2 * 2 * 13


def test_who_has_no_server_keeps_them() -> None:
    plan = exchanges(steps=1, graph="complete")
    with pytest.raises(PlanError, match=r"statistics: dsgd has no server.*statistics='kept'"):
        simulate("dsgd", federation(), plan=plan, rounds=1, eta_l=0.2)
    run = ended("dsgd", federation(statistics="kept"), plan=plan, eta_l=0.2)
    assert {int(rows[-1]) for rows in run.own_b.values()} == {2}


def test_the_module_is_left_as_it_was() -> None:
    fed = federation()
    before = {name: value.clone() for name, value in fed.model.state_dict().items()}
    ended("fedavg", fed, plan=cohorts(2, steps=2), test=data()[0], eta_l=0.2, eta=1.0)
    assert all(torch.equal(value, before[name]) for name, value in fed.model.state_dict().items())
    assert fed.model.training


def test_statistics_that_a_module_computes_with_are_refused() -> None:
    class Centred(nn.BatchNorm1d):
        def forward(self, input: Tensor) -> Tensor:
            out = super().forward(input)
            assert self.running_mean is not None
            return out - self.running_mean

    module = nn.Sequential(nn.Linear(5, 6), Centred(6), nn.Linear(6, 3)).double()
    fed = Federation(module, F.cross_entropy, data(), batch_size=3)
    with pytest.raises(ModuleError, match=r"running statistics that it computes with"):
        ended("fedavg", fed, plan=cohorts(2), rounds=1, eta_l=0.2, eta=1.0)


def test_other_readings_are_refused_by_name() -> None:
    with pytest.raises(PlanError, match=r"statistics: got 'mean'; known: averaged, kept, last, recomputed"):
        federation(statistics="mean")
