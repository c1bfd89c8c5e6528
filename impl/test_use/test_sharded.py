"""DiLoCo with replicas that FSDP shards over ranks: the specification's row, to rounding."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from filelock import FileLock
from test_mirror.support import HYPER
from test_use import sharded
from test_use.by_hand import assert_diloco, near
from test_use.sharded import OUTER
from torch.nn.utils import parameters_to_vector

from fedspec.catalogue import CATALOGUE, LocalSolver
from fedspec.facts import Fact
from fedspec_use import replicas, rules

SIZE = 4
LAYOUTS = [f"{count} x {shards}" for count, shards in sharded.layouts(SIZE)]


@pytest.fixture(scope="module")
def found(shared_folder: Path) -> list[dict[str, Any]]:
    """Results of four ranks, from another test process if that has them."""
    folder = shared_folder / "sharded"
    with FileLock(folder.with_suffix(".lock")):
        if not (folder / "found").exists():
            folder.mkdir()
            torch.save(sharded.started(folder, "gloo", SIZE), folder / "found")
    return torch.load(folder / "found", weights_only=True)  # type: ignore[no-any-return]


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_replicas_in_shards_train_as_the_row(layout: str, found: list[dict[str, Any]]) -> None:
    assert_diloco(found, layout, layout)


@pytest.mark.slow
def test_the_inner_rule_may_be_fedspecs_own(found: list[dict[str, Any]]) -> None:
    assert_diloco(found, LAYOUTS[1], "own")


@pytest.mark.slow
def test_summands_of_a_gradient_are_added_up_first(found: list[dict[str, Any]]) -> None:
    """Each of two ranks has a half: a gradient of 1, and a first step of eta (1 + beta)."""
    x = parameters_to_vector(sharded.model().parameters()).detach()
    assert all(near(out["partial"], x - OUTER["eta"] * (1 + OUTER["beta"])) for out in found)


@pytest.mark.slow
@pytest.mark.parametrize("name", sharded.SIMULATED)
def test_a_run_on_these_ranks_is_that_of_one_process(name: str, found: list[dict[str, Any]]) -> None:
    want = sharded.simulated(name, SIZE, "cpu")
    assert all(near(out["simulated"][name], want) for out in found)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "text"),
    [
        ("norm", "ParameterError: normed: its step of a number depends on other numbers, such as the norm"),
        ("layers", "ParameterError: lamb: its step of a number depends on other numbers"),
        ("group", "PlanError: group: its ranks [{a}, {b}] hold other shards of the same replica; give the group of"),
        ("default", "PlanError: group: its ranks [{a}, {b}] hold other shards"),
        ("weight", "ParameterError: weight: the replicas' weights add up to nan; give each a number >= 0, not all 0"),
        ("zero", "ParameterError: weight: the replicas' weights add up to 0.0;"),
        ("fewer", "ShapeError: server: got 3 tensors for 4 parameters"),
    ],
)
def test_what_shards_do_not_bear_is_refused(case: str, text: str, found: list[dict[str, Any]]) -> None:
    for rank, out in enumerate(found):
        first = 2 * (rank // 2)
        assert out["refused"][case].startswith(text.format(a=first, b=first + 1))


@pytest.mark.slow
def test_the_script_of_the_page_runs() -> None:
    root = Path(__file__).parents[2]
    page = (root / "docs/optimisers.md").read_text(encoding="utf-8")
    script = root / "examples/fsdp_diloco.py"
    assert "torchrun --nproc-per-node 4 examples/fsdp_diloco.py" in page and "(../examples/fsdp_diloco.py)" in page
    lines = script.read_text(encoding="utf-8")
    assert all(line in lines for line in ("exchange(model.parameters(), server, mesh", "outer.step()"))
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "4", str(script)]
    environment = os.environ | {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    ran = subprocess.run(command, check=False, capture_output=True, text=True, env=environment, timeout=300)
    losses = [float(line.split()[-1]) for line in ran.stdout.splitlines()]
    assert ran.returncode == 0 and len(losses) == 10 and losses[-1] < losses[0] / 2, ran.stderr


def test_rules_that_see_a_norm_or_a_layer_are_not_elementwise() -> None:
    """By experiment, and by the facts of the rows."""
    assert not rules.is_elementwise(rules.server(sharded.normed(), eta=1.0))
    for row in CATALOGUE.values():
        if isinstance(row.run, LocalSolver):
            known = row.numbers_under("client", row.resolve(row.readings[0].name, {}))
            rule = rules.local(row, **{n: HYPER[n] for n in known})
            whole = {Fact.LAYERED, Fact.MATRICES, Fact.NORMALISED}
            seen = any(map(row.has, whole)) or "cover" in rule.reads or row.id == "agdu"
            assert rules.is_elementwise(rule) is not seen, row.id


def test_a_clip_that_small_changes_pass_is_found() -> None:
    row = sharded.normed()

    def clipped(h: Any, x: Any, messages: Any) -> Any:
        ((delta,), *_) = ([m.delta for m in messages],)
        return x + delta * min(1.0, 100.0 / float((delta * delta).sum()) ** 0.5), {}

    made = rules.server(sharded.normed(), eta=1.0)
    run: Any = rules.Alone(row.run.hyper, lambda h, x: x, clipped)  # type: ignore[union-attr]
    assert not rules.is_elementwise(replace(made, run=run))


def test_buckets_hold_every_parameter_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replicas, "BUCKET", 10)
    pairs = [(torch.zeros(n), torch.zeros(n)) for n in (4, 6, 1, 30, 0, 10)]
    sizes = [[len(p) for p, _ in some] for some in replicas._buckets(pairs)]
    assert sizes == [[4, 6], [1], [30, 0], [10]] or sizes == [[4, 6], [1], [30], [0, 10]]
