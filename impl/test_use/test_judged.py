"""Verdicts of the judge on ``fedspec_use`` in an environment of its own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from test_judge.support import FEW, fedspec

from fedspec_suite.judge.runner import PROFILES
from fedspec_suite.subjects import environments

ROOT = Path(__file__).parents[2]
JITTED = """
import jax, jax.numpy as jnp, numpy as np, optax
from fedspec.catalogue import CATALOGUE, LocalSolver
from fedspec.errors import ParameterError
from fedspec_use.optax import local

NUMBERS = {"rho": 0.5, "mu": 0.1, "eps": 0.1, "gamma": 0.9, "beta1": 0.9, "beta2": 0.99, "lam": 0.01, "z": 2,
           "eps_s": 0.01, "v0": 0.25, "wd": 0.1, "ns_steps": 3}
START = {"w": jnp.arange(6.0).reshape(2, 3) / 3 - 1, "b": jnp.ones((2, 1))}

def ends(x):
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(x)])

def step_of(optimizer):
    def step(x, state):
        updates, state = optimizer.update(jax.tree.map(jnp.sin, x), state, x)
        return optax.apply_updates(x, updates), state
    return step

def run(optimizer, jit, start=START):
    step, x, state = step_of(optimizer), start, optimizer.init(start)
    for _ in range(5):
        x, state = (jax.jit(step) if jit else step)(x, state)
    return ends(x)

def clients(optimizer):
    # Three models side by side under jit and vmap, and one after another.
    starts = [jax.tree.map(lambda leaf: scale * leaf, START) for scale in (1.0, -0.5, 2.0)]
    x = jax.tree.map(lambda *leaves: jnp.stack(leaves), *starts)
    each, state = jax.jit(jax.vmap(step_of(optimizer))), jax.vmap(optimizer.init)(x)
    for _ in range(5):
        x, state = each(x, state)
    together = [ends(jax.tree.map(lambda leaf: leaf[j], x)) for j in range(3)]
    return np.array(together), np.array([run(optimizer, False, start) for start in starts])

for a in CATALOGUE.values():
    if isinstance(a.run, LocalSolver):
        known = a.numbers_under("client", a.resolve(a.readings[0].name, {}))
        optimizer = local(a.id, eta_l=0.1, **{n: NUMBERS[n] for n in known if n in NUMBERS})
        try:
            assert abs(run(optimizer, True) - run(optimizer, False)).max() < 1e-6, a.id
            together, alone = clients(optimizer)
            assert abs(together - alone).max() < 1e-6 and abs(alone[0] - alone[1]).max() > 0.1, a.id
        except ParameterError as error:
            assert "which jit and vmap do not know" in str(error)
            try:
                clients(optimizer)
            except ParameterError as again:
                assert str(again) == str(error)
                print(a.id)
ours = local("adam", eta_l=optax.linear_schedule(0.1, 0.0, 10), beta1=0.9, beta2=0.99, eps=0.1)
theirs = optax.adam(optax.linear_schedule(0.1, 0.0, 10), 0.9, 0.99, 0.1)
assert abs(run(ours, True) - run(theirs, True)).max() < 1e-6
"""
TORCH = ("lamb/client/you-2020", "fedadam/server/reddi-2021")
FLOWER = (
    *("fednova/server/fednova solver=sgd", "median/server/mean-of-middle"),
    *("scaffold/round/karimireddy-2020", "diloco/round/heavy-ball"),
)


def judged(subject: str, only: tuple[str, ...] = (), cases: int = FEW) -> list[dict[str, Any]]:
    """The lines of a quick check of some offers, or of every one, all of which must conform."""
    asked = [argument for row in only for argument in ("--only", row)]
    told = fedspec("check", subject, "--profile", "quick", "--json", *asked, cases=cases).rows
    assert not only or {line["algorithm"] for line in told} == {row.partition("/")[0] for row in only}
    assert {line["verdict"] for line in told} == {"conforms"}, told
    return told


@pytest.mark.outside
def test_torch_optimisers_conform() -> None:
    told = judged("fedspec_use_torch", TORCH)
    assert [line["algorithm"] for line in told].count("lamb") == 2, "of both variants"


@pytest.mark.outside
def test_transformations_conform_and_run_under_jit_and_vmap() -> None:
    judged("fedspec_use_optax", ("sm3-i/client/anil-2019",))
    python = environments.prepare("fedspec_use_optax", lambda text: None)
    paths = os.pathsep.join(str(ROOT / name) for name in ("spec", "impl"))
    ended = subprocess.run(
        [str(python), "-c", JITTED],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": paths, "JAX_DISABLE_MOST_OPTIMIZATIONS": "1"},
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert ended.stdout.split() == [], "what says that jit and vmap do not know its steps"


@pytest.mark.outside
def test_flower_strategies_conform() -> None:
    judged("fedspec_use_flower", FLOWER)


@pytest.mark.night
@pytest.mark.parametrize("subject", ["fedspec_use_torch", "fedspec_use_optax", "fedspec_use_flower"])
def test_every_offer_conforms(subject: str) -> None:
    assert len(judged(subject, cases=PROFILES["quick"])) > 20
