"""Every rule, and whole rounds of every algorithm, under what jax and torch do to functions, beside NumPy's numbers.

All that a rule or a round computes with is traced. What cannot be is in the table of ``docs/precision.md``, which says
why; a line there that is no longer true fails.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from test_proofs.test_arithmetics import CALLS
from test_proofs.traced import CANONICAL, EVERY, ROUNDS, Traced, agree, exceptions, numbers
from torch.utils import _pytree

pytestmark = pytest.mark.table(1)

jax.config.update("jax_enable_x64", True)
# Whether something can be compiled does not hang on how well.
jax.config.update("jax_disable_most_optimizations", True)

ONCE = {name: label for label, (name, _) in CALLS.items()}.values()
"""Every rule in one reading: the last, since the first may leave out most."""

SAMPLE = [
    "client.admu.admu-step-waiting",
    "client.lamb.layer_step-clip-layer",
    "mixing.gossip.gossip",
    "mixing.nova.general_update",
    "server.yogi.yogi-moments-inside-momentum",
    *(label for label in CANONICAL if label.partition("/")[0] in {"fedavg", "scaffold", "afga", "fedbuff"}),
]
"""Calls that jax computes in every run of the tests; `make outside` runs a share of the other calls, in all readings.
"""

STEP = 1e-6


def in_jax(t: Traced) -> Callable[[Any, Any], Any]:
    """The result and the derivatives of its sum, by ``scan`` and ``grad``, of several arguments by ``vmap``."""

    def scanned(moved: Any, still: Any) -> Any:
        twice = jax.tree.map(lambda a: jax.numpy.stack([a, a]), (moved, still))
        _, results = jax.lax.scan(lambda carry, given: (carry, t.run(*given)), 0, twice)
        result = jax.tree.map(lambda a: a[-1], results)
        return sum(map(jax.numpy.sum, floating(result))), result

    return jax.vmap(jax.grad(scanned, has_aux=True, allow_int=True))  # type: ignore[no-any-return]


def floating(tree: Any) -> list[Any]:
    return [a for a in jax.tree.leaves(tree) if jax.numpy.issubdtype(jax.numpy.result_type(a), jax.numpy.floating)]


PARTS = 96
"""In which everything is compiled, a process each."""


def shifted(t: Traced, by: float, seed: int = 0) -> Any:
    """Arguments that a function is differentiated by, shifted along one direction."""
    rng = np.random.default_rng(seed)

    def shift(leaf: Any) -> Any:
        floats = isinstance(leaf, float) or getattr(leaf, "dtype", np.dtype(int)).kind == "f"
        if not floats:
            return leaf
        along = rng.normal(size=np.shape(leaf))[()]
        # Hyper-parameters that may be 0 may not be less, and a share that is 1 not more.
        if np.ndim(leaf) == 0 and leaf in (0, 1):
            along = abs(along) * (1 - 2 * leaf)
        return leaf + by * along

    return jax.tree.map(shift, t.moved)


def lanes(t: Traced) -> Any:
    """The arguments, and others beside them, as ``vmap`` takes them."""
    return jax.tree.map(lambda *two: np.stack(two), (t.moved, t.still), (shifted(t, 1e-3), t.still))


def is_listed(label: str, by: str) -> Any:
    """True if the page says that this cannot be traced."""
    return by in exceptions().get(label, ())


@pytest.mark.parametrize(
    "label",
    [*ONCE, *CANONICAL, *(pytest.param(label, marks=pytest.mark.outside) for label in CALLS if label not in ONCE)],
)
def test_jax_traces_everything(label: str) -> None:
    """``jit`` of ``vmap`` of ``grad`` through ``scan``, at once; a stale exception fails."""
    t = EVERY[label](label)
    if is_listed(label, "jax"):
        with pytest.raises(jax.errors.JAXTypeError):
            jax.make_jaxpr(in_jax(t))(*lanes(t))
    else:
        jax.make_jaxpr(in_jax(t))(*lanes(t))


@pytest.mark.parametrize(
    "label",
    [
        pytest.param(label, marks=() if label in SAMPLE else pytest.mark.outside)
        for label in (*CALLS, *ROUNDS)
        if not is_listed(label, "jax")
    ],
)
def test_jax_computes_what_numpy_does(label: str) -> None:
    """Both lanes' results, and a difference quotient of NumPy beside the derivative along one direction."""
    t = EVERY[label](label)
    slopes, results = jax.jit(in_jax(t))(*lanes(t))
    for lane, moved in enumerate((t.moved, shifted(t, 1e-3))):
        agree([a[lane] for a in numbers(results)], numbers(t.run(moved, t.still)), label)
    ahead, behind = (
        sum(float(a.sum()) for a in numbers(t.run(shifted(t, 1e-3 + by), t.still))) for by in (STEP, -STEP)
    )
    direction = [(a - b) / STEP for a, b in zip(numbers(shifted(t, STEP)), numbers(t.moved), strict=True)]
    along = sum(float(np.sum(a[1] * u)) for a, u in zip(numbers(slopes), direction, strict=True))
    if is_listed(label, "grad"):
        assert not np.isfinite(along)
        return
    assert along == pytest.approx((ahead - behind) / (2 * STEP), rel=1e-4, abs=1e-4)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("labels", [[*CALLS, *ROUNDS][k::PARTS] for k in range(PARTS)], ids=range(PARTS))
def test_torch_compiles_in_one_graph(labels: list[str]) -> None:
    """``torch.compile(fullgraph=True)``; a stale exception fails."""
    ran = subprocess.run(
        [sys.executable, Path(__file__).with_name("compiled.py")],
        input="\n".join(labels),
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not ran.returncode, ran.stderr
    found = json.loads(ran.stdout)
    assert found.keys() == {label for label in labels if is_listed(label, "torch")}, found


def test_exceptions_are_few_and_have_causes() -> None:
    assert set(exceptions()) <= set(EVERY)
    assert {by for under in exceptions().values() for by in under} <= {"jax", "grad", "torch"}
    for kind in (CALLS, ROUNDS):
        assert 10 * sum(label in exceptions() for label in kind) <= len(kind)


def test_all_rounds_of_the_catalogue_are_traced() -> None:
    assert {label.partition("/")[0] for label in CANONICAL} == {label.partition("/")[0] for label in ROUNDS}
    assert len(CANONICAL) > 40 and len(_pytree.tree_leaves(EVERY[CANONICAL[0]](CANONICAL[0]).still)) > 1
