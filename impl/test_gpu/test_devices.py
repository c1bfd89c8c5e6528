"""Several GPUs, one a rank: replicas in shards and runs over ranks on NCCL, held to one process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from test_gpu.test_cuda import DEVICE, pytestmark  # noqa: F401
from test_use import sharded
from test_use.by_hand import assert_diloco, near

COUNT = torch.cuda.device_count() if DEVICE != "cpu" else 2
SIZE = 4 if COUNT >= 4 else 2

if COUNT < 2:
    pytest.skip(f"NCCL needs a device for each rank, and there is {COUNT}", allow_module_level=True)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    folder: Path = tmp_path_factory.mktemp("devices")
    return sharded.started(folder, "gloo" if DEVICE == "cpu" else "cpu:gloo,cuda:nccl", SIZE)


@pytest.mark.parametrize("layout", [f"{count} x {shards}" for count, shards in sharded.layouts(SIZE)])
def test_replicas_in_shards_train_as_one_process(layout: str, found: list[dict[str, Any]]) -> None:
    assert_diloco(found, layout, layout)


def test_the_inner_rule_may_be_fedspecs_own(found: list[dict[str, Any]]) -> None:
    count, shards = sharded.layouts(SIZE)[1]
    assert_diloco(found, f"{count} x {shards}", "own")


@pytest.mark.parametrize("name", sharded.SIMULATED)
def test_a_run_over_devices_is_that_of_one(name: str, found: list[dict[str, Any]]) -> None:
    want = sharded.simulated(name, SIZE, DEVICE)
    assert all(near(out["simulated"][name], want) for out in found)
