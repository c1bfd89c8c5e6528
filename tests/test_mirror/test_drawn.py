"""Modules that draw: every client's draws are a function of seed, round, client and local step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from fedspec_torch import Federation, cohorts, exchanges, resume, simulate
from fedspec_torch.federation.modes import evaluating
from fedspec_torch.gradients.beside import seed_of
from fedspec_torch.layers.chains import LayersError

SIZES = (7, 9, 6, 8)
"""Of the clients."""


def dropped() -> nn.Module:
    """A module with dropout, the same at every call."""
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(5, 6), nn.ReLU(), nn.Dropout(0.4), nn.Linear(6, 3)).double()


def attending() -> nn.Module:
    """Torch's own transformer layer, which drops a tenth at three places."""
    torch.manual_seed(3)
    layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
    return nn.Sequential(nn.Unflatten(1, (1, 5)), nn.Linear(5, 4), layer, nn.Flatten(), nn.Linear(4, 3)).double()


def data() -> list[tuple[Tensor, Tensor]]:
    """Of four clients."""
    torch.manual_seed(5)
    return [(torch.randn(n, 5).double(), torch.randint(3, (n,))) for n in SIZES]


def federation(module: nn.Module, **more: Any) -> Federation:
    """The clients with minibatches of three, in the order of the data."""
    return Federation(module, F.cross_entropy, data(), batch_size=3, shuffled=False, seed=17, **more)


def by_hand(module: nn.Module, i: int, round: int, steps: int, eta_l: float) -> list[Tensor]:
    """What a client's parameters are after a plain loop of torch, whose generator is seeded before each step."""
    inputs, targets = data()[i]
    for k in range(steps):
        which = [(3 * k + e) % SIZES[i] for e in range(3)]
        torch.manual_seed(seed_of(17, round, i, k))
        loss = F.cross_entropy(module(inputs[which]), targets[which])
        module.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        with torch.no_grad():
            for p in module.parameters():
                p -= eta_l * (0 if p.grad is None else p.grad)
    return [p.detach().clone() for p in module.parameters()]


def averaged(make: Any, plans: list[list[int]], steps: int, eta_l: float) -> Tensor:
    """FedAvg by hand, over all who take part in each round, weighted by their sizes."""
    x = make()
    for round, who in enumerate(plans):
        models = []
        for i in who:
            local = make()
            local.load_state_dict(x.state_dict())
            models.append(by_hand(local, i, round, steps, eta_l))
        total = sum(SIZES[i] for i in who)
        with torch.no_grad():
            for p, *each in zip(x.parameters(), *models, strict=True):
                p.copy_(sum(SIZES[i] / total * y for i, y in zip(who, each, strict=True)))
    return torch.cat([p.detach().reshape(-1) for p in x.parameters()])


class All:
    """Everybody takes part."""

    def __init__(self, steps: int) -> None:
        self.plan = cohorts(len(SIZES), steps=steps)

    def events(self, *asked: Any) -> Any:
        """Those of the plan."""
        return self.plan.events(*asked)


@pytest.mark.parametrize("way", [None, "looped"])
@pytest.mark.parametrize("make", [dropped, attending])
def test_a_run_is_a_plain_loop_with_the_same_seeds(make: Any, way: str | None) -> None:
    run = simulate("fedavg", federation(make(), way=way), plan=All(3), rounds=2, eta_l=0.2, eta=1.0)
    list(run)
    want = averaged(make, [[0, 1, 2, 3]] * 2, 3, 0.2)
    torch.testing.assert_close(run.x, want, rtol=1e-12, atol=1e-14)


def test_a_solver_with_moments_sees_the_same_draws() -> None:
    # A momentum of nothing is plain SGD, but takes its steps by gradients.
    one = simulate("fedavg", federation(dropped()), plan=All(3), rounds=2, eta_l=0.2, eta=1.0)
    other = simulate(
        "fednova-momentum",
        federation(dropped()),
        plan=All(3),
        rounds=2,
        eta_l=0.2,
        beta=0.0,
        solver="momentum",
        rho=0.0,
    )
    list(one), list(other)
    torch.testing.assert_close(one.x, other.x, rtol=1e-12, atol=1e-14)


def test_draws_differ_by_seed_round_client_and_step() -> None:
    asked = [(s, r, i, k) for s in range(4) for r in range(4) for i in range(4) for k in range(4)]
    assert len({seed_of(*words) for words in asked}) == len(asked)


def test_a_block_changes_no_draw() -> None:
    runs = [
        simulate("fedavg", federation(dropped()), plan=All(2), rounds=3, block=b, eta_l=0.2, eta=1.0) for b in (1, 4)
    ]
    for run in runs:
        list(run)
    torch.testing.assert_close(runs[0].x, runs[1].x, rtol=1e-12, atol=1e-14)


def test_a_resumed_run_draws_what_it_would_have_drawn(tmp_path: Path) -> None:
    whole = simulate("fedadam", federation(dropped()), plan=All(2), rounds=4, eta_l=0.1, eta=0.1, **ADAM)
    list(whole)
    part = simulate("fedadam", federation(dropped()), plan=All(2), rounds=4, eta_l=0.1, eta=0.1, **ADAM)
    part.step(), part.step()
    part.save(tmp_path / "run.pt")
    torch.manual_seed(99)
    again = resume(tmp_path / "run.pt", federation(dropped()), plan=All(2))
    list(again)
    assert torch.equal(again.x, whole.x)


ADAM = {"beta1": 0.9, "beta2": 0.9, "tau": 1e-2, "v0": 0.0}


def test_torchs_generator_is_left_as_it_was() -> None:
    torch.manual_seed(1)
    want = torch.rand(3)
    fed, test = federation(dropped()), data()[0]
    torch.manual_seed(1)
    list(simulate("fedavg", fed, plan=All(2), rounds=2, test=test, eta_l=0.2, eta=1.0))
    assert torch.equal(torch.rand(3), want)


def test_gossip_draws_for_each_client() -> None:
    fed = federation(dropped(), way="looped")
    run = simulate("dsgd", fed, plan=exchanges(steps=1, graph="complete"), rounds=1, eta_l=0.2)
    before = [p.detach().clone() for p in fed.model.parameters()]
    list(run)
    models = []
    for i in range(len(SIZES)):
        local = dropped()
        models.append(torch.cat([p.reshape(-1) for p in by_hand(local, i, 0, 1, 0.2)]))
    assert all(torch.equal(p, b) for p, b in zip(fed.model.parameters(), before, strict=True))
    torch.testing.assert_close(run.x, torch.stack(models).mean(0), rtol=1e-12, atol=1e-14)


def test_the_model_is_evaluated_with_nothing_dropped() -> None:
    fed = federation(dropped())
    run = simulate("fedavg", fed, plan=All(1), rounds=1, test=data()[1], eta_l=0.2, eta=1.0)
    (done,) = list(run)
    module = run.module()
    with evaluating(module), torch.no_grad():
        want = F.cross_entropy(module(data()[1][0]), data()[1][1]).item()
    assert module.training
    assert done.test_loss == pytest.approx(want, rel=1e-12)
    with torch.no_grad():
        assert F.cross_entropy(module(data()[1][0]), data()[1][1]).item() != pytest.approx(want, rel=1e-6)


def test_ways_that_pass_clients_together_say_why_not() -> None:
    fed = federation(dropped())
    list(simulate("fedavg", fed, plan=All(1), rounds=1, eta_l=0.2, eta=1.0))
    (choice,) = fed.choices.values()
    assert choice.name == "looped"
    assert "draws at random, and each client has draws of its own" in choice.why
    with pytest.raises(LayersError, match=r"vmapped: it draws at random.*name way='looped'"):
        list(simulate("fedavg", federation(dropped(), way="vmapped"), plan=All(1), rounds=1, eta_l=0.2, eta=1.0))
