"""Records go through transformations of jax and torch, whichever came first; what has no value is not looked at."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jaxtyping
import numpy as np
import pytest
import torch
from test_mirror.ranked import apart, own
from test_proofs.traced import CANONICAL, rounds
from torch._subclasses import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils import _pytree

from fedspec.client.agdu import Agdu, agdu
from fedspec.client.momentum import Momentum, momentum
from fedspec.client.sgd import sgd
from fedspec.covers import Cover
from fedspec.mixing.gossip import gossip
from fedspec.mixing.weighted import weighted_mean
from fedspec.plan import Setup
from fedspec.usual import usual

LATER = """
import sys
from fedspec.client.momentum import Momentum, momentum
from fedspec.algorithms.fedavg import FedAvg
assert "jax" not in sys.modules and "torch" not in sys.modules
h = FedAvg(eta_l=0.5)
import jax, jax.numpy as jnp
state = Momentum(x=jnp.ones(2), u=jnp.zeros(2))
new = jax.jit(lambda h, s: momentum(s, s.x, eta_l=h.eta_l, rho=0.5))(h, state)
assert type(new) is Momentum and new.x.tolist() == [0.5, 0.5], new
"""


@pytest.mark.slow
@pytest.mark.table(1)
def test_a_library_that_is_imported_later_looks_into_records_made_by_hand() -> None:
    subprocess.run([sys.executable, "-c", LATER], check=True)


@pytest.mark.table(20)
@pytest.mark.parametrize("label", CANONICAL)
def test_a_record_taken_apart_and_put_together_is_itself(label: str) -> None:
    """Hyper-parameters, states and plans of every algorithm, in both libraries; what is fixed belongs to the shape."""
    t = rounds(label)
    for tree in (t.moved, t.still):
        leaves, shape = jax.tree.flatten(tree)
        assert all(isinstance(leaf, (float, int, np.ndarray, np.generic)) for leaf in leaves)
        assert repr(jax.tree.unflatten(shape, leaves)) == repr(tree)
        assert hash(shape) == hash(jax.tree.structure(tree)) and shape == jax.tree.structure(tree)
        assert repr(_pytree.tree_unflatten(*_pytree.tree_flatten(tree))) == repr(tree)


@pytest.mark.slow
@pytest.mark.long
def test_a_record_of_which_nothing_is_traced_stays_the_one_it_is() -> None:
    """Cached values of a record stay with it: torch.compile enters no lock, and Python 3.11 fills a cache under one."""
    cover = Cover(((0, 1), (1, 2)), 3)
    assert _pytree.tree_map(lambda leaf: leaf, cover) is cover and jax.tree.map(lambda leaf: leaf, cover) is cover
    compiled = torch.compile(cover.greatest, fullgraph=True, backend="eager")
    assert compiled(torch.tensor([3.0, 1.0, 2.0])).tolist() == [3, 2]


def test_what_is_fixed_makes_another_tree() -> None:
    one, other = (jax.tree.structure(Setup((1, 2), {"w": (d,)})) for d in (2, 3))
    assert one != other and one == jax.tree.structure(Setup((3, 4), {"w": (2,)}))


def test_a_counter_of_steps_is_carried_by_a_scan() -> None:
    g = np.array([[1.0, -2.0], [0.5, 1.0], [2.0, 0.25], [-1.0, 3.0]])
    state = want = Agdu(x=np.ones(2), v=np.zeros(2), t=0)
    got, _ = jax.lax.scan(lambda s, g_k: (agdu(s, g_k, eta_l=0.5, eps=0.125, z=2), None), state, g)
    for g_k in g:
        want = agdu(want, g_k, eta_l=0.5, eps=0.125, z=2)
    np.testing.assert_allclose(np.asarray(got.x), want.x, rtol=1e-6)
    assert int(got.t) == want.t == 4


def test_torch_s_traced_tensors_have_no_values() -> None:
    with FakeTensorMode():
        assert gossip(torch.ones(2, 3), torch.full((2, 2), 9.0)).shape == (2, 3)  # type: ignore[arg-type]
        assert weighted_mean(torch.ones(2, 3), torch.ones(2)).shape == (3,)  # type: ignore[arg-type]
    traced = make_fx(weighted_mean, tracing_mode="fake")(torch.ones(2, 3), torch.ones(2))
    assert traced(torch.ones(2, 3), torch.ones(2)).tolist() == [2, 2, 2]


def test_torch_s_proxies_have_no_shapes_either() -> None:
    jaxtyping.config.update("jaxtyping_disable", True)
    graph = torch.fx.symbolic_trace(lambda x, g, eta_l: sgd(x, g, eta_l=eta_l))
    assert graph(torch.ones(2), torch.ones(2), 0.5).tolist() == [0.5, 0.5]


def test_torch_s_transformations_look_into_records() -> None:
    state = Momentum(x=torch.ones(3, 2), u=torch.zeros(3, 2))  # type: ignore[arg-type]
    rates = torch.tensor([0.5, 0.25, 1.0])
    new = torch.func.vmap(lambda s, eta_l: momentum(s, s.x, eta_l=eta_l, rho=0.5))(state, rates)
    assert new.x.tolist() == [[0.5, 0.5], [0.75, 0.75], [0.0, 0.0]]
    slope = torch.func.grad(lambda eta_l: momentum(state, state.x, eta_l=eta_l, rho=0.5).x.sum())(torch.tensor(0.5))
    assert float(slope) == -6


@pytest.mark.parametrize("kind", ["server", "solver", "clients", "gossip", "late"])
def test_what_fedspec_new_writes_keeps_its_state_in_records(kind: str, tmp_path: Path) -> None:
    x = np.array([1.0, -2.0, 0.5])
    with apart():
        row: Any = own(kind, tmp_path)
        if kind == "solver":
            state = row.run.begin(x)
        else:
            h = row.run.hyper(**usual(row))
            more = () if kind == "server" else (Setup((1,), {"w": (3,)}),)
            state = row.run.init(h, x, *more)
    assert all(isinstance(leaf, (float, int, np.ndarray)) for leaf in jax.tree.leaves(state))
    if kind == "server":
        rule = next(f for f in row.rules if f.__name__ == "own_server")
        delta, rates = np.ones((4, 3)), {"eta": 0.5, "beta": 0.25}
        got, _ = jax.lax.scan(lambda s, delta_t: (jax.jit(rule)(s, delta_t, **rates), None), state, delta)
        for delta_t in delta:
            state = rule(state, delta_t, **rates)
        np.testing.assert_allclose(np.asarray(got.x), state.x, rtol=1e-6)
