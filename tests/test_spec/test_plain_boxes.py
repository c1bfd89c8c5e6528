"""The boxes that stand plain beside a form with options: FedAda2, AFGA, CAFGA. Fed-LAMB's are with its numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from fedspec.algorithms import fedada2
from fedspec.algorithms.fedada2 import FedAda2
from fedspec.catalogue import CATALOGUE
from fedspec.entry import Program
from fedspec.plan import Exchange, Plan, Setup
from fedspec.problems.quadratic import QuadraticClients
from fedspec_torch.population import Batched
from fedspec_torch.problems import QuadraticClients as Stacked

W = np.array([[0.5, 0.25, 0.25, 0], [0.25, 0.5, 0.25, 0], [0.25, 0.25, 0.5, 0], [0, 0, 0, 1]])
CLUSTERS = ((0, 2, 1), (3,))

ROUNDS = {
    "afga": (((0, 2), ((1,), (0, 3), (2,))), ((3,), ((0, 1, 2, 3),)), ((1, 2, 3), ((2, 3), (0,)))),
    "gossip-fedamsgrad": (((0, 2), ((0, 2), (2, 0))), ((3,), ((3,),)), ((1, 2, 3), ((1, 2, 3),) * 2)),
    "cafga": (((0, 3), ((1, 3), (0, 2))), ((1, 0, 3), ((0, 1, 2),)), ((1, 2, 3), ((2, 0), (1, 3)))),
}
"""Who sends, and who computes at each local step."""

FORMS = (fedada2.fedada2, fedada2.step)


def test_which_stand_plain() -> None:
    plain = {a.id for a in CATALOGUE.values() if isinstance(a.run, Program) and a.run.plain}
    assert plain == {*ROUNDS, "fedada2", "fed-lamb", "fed-ams"}


def problem(library: str) -> tuple[Any, Any, Any]:
    """Four clients, a model of five coordinates, a mixing matrix."""
    rng = np.random.default_rng(1)
    H, e, x = rng.normal(size=(4, 5, 5)), rng.normal(size=(4, 5)), rng.normal(size=5)
    if library == "numpy":
        return QuadraticClients(H @ H.swapaxes(1, 2), e).clients, x, W
    H, e, x, mixing = map(torch.tensor, (H @ H.swapaxes(1, 2), e, x, W))
    return Batched(Stacked(H, e)), x, mixing


@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize("name", ROUNDS)
def test_the_plain_box_is_the_form_with_options_at_its_defaults(name: str, library: str) -> None:
    """Bit for bit, over rounds of other senders and other draws."""
    run, (clients, x, mixing) = CATALOGUE[name].run, problem(library)
    assert isinstance(run, Program) and run.plain
    h = run.hyper(eta_l=0.3, eta=0.7, beta1=0.9, beta2=0.75, eps=0.1)
    states = [run.init(h, x, Setup((1,) * 4, {"w": (5,)}))] * 2
    for senders, computing in ROUNDS[name]:
        plan = Exchange(senders, computing, mixing, clusters=CLUSTERS if "clusters" in run.takes else ())
        (one, shown), (two, values) = (
            step(h, state, clients, plan) for step, state in zip((run.plain, run.step), states, strict=True)
        )
        assert (one.x == two.x).all() and (one.x != x).any()
        assert shown.keys() == values.keys() and all((shown[n] == values[n]).all() for n in shown)
        assert name != "cafga" or (one.X == two.X).all()
        states = [one, two]


@pytest.mark.parametrize("z", [1, 2])
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_fedada2(library: str, z: int) -> None:
    """Bit for bit, over rounds of some clients, one of them twice, and uneven steps; some steps are short."""
    clients, x, _ = problem(library)
    h = FedAda2(eta_l=0.3, eps=0.25, eta=0.7, beta1=0.9, tau=0.5, v0=0.25, v0_l=0.125, z=z, eps_s=1.5)
    states = [fedada2.init(h, x, Setup((1,) * 4, {"w": (2, 2), "b": (1,)}))] * 2
    for who, steps in (((0, 2, 0), (3, 1, 3)), ((1,), (2,)), ((2, 0, 1), (2, 2, 4))):
        plan = Plan(who, steps, (1,) * len(who), repeats=True)
        (one, shown), (two, values) = (f(h, s, clients, plan) for f, s in zip(FORMS, states, strict=True))
        assert (one.x == two.x).all() and (one.x != x).any()
        assert shown.keys() == values.keys() and all((shown[n] == values[n]).all() for n in shown)
        states = [one, two]
