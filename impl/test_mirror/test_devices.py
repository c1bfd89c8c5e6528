"""Device and backends of a rank, which a machine without a GPU chooses as well."""

from __future__ import annotations

import pytest

from fedspec_torch.ranks.devices import check_devices
from fedspec_torch.ranks.processes import BACKENDS, RankError, place


@pytest.mark.parametrize(
    ("rank", "devices", "want"),
    [("0", 0, (None, "gloo")), ("3", 0, (None, "gloo")), ("3", 4, (3, BACKENDS)), ("1", 1, (0, BACKENDS))],
)
def test_rank_r_takes_the_device_of_its_number(rank: str, devices: int, want: tuple[int | None, str]) -> None:
    assert place({"LOCAL_RANK": rank, "RANK": "7"}, devices) == want


def test_a_process_without_a_number_takes_the_first_device() -> None:
    assert place({}, 2) == (0, BACKENDS)


@pytest.mark.parametrize(
    ("backends", "kind", "devices"),
    [
        ("cpu:gloo", "cpu", ["", ""]),
        (BACKENDS, "cpu", ["", ""]),
        (BACKENDS, "cuda", ["a: 1", "a: 2", "b: 1"]),
        ("cuda:nccl", "cuda", ["a: 1", "a: 2"]),
    ],
)
def test_groups_that_can_send_the_model(backends: str, kind: str, devices: list[str]) -> None:
    check_devices(backends, kind, devices)


@pytest.mark.parametrize(
    ("backends", "kind", "devices", "text"),
    [
        ("cuda:nccl", "cpu", ["", ""], 'group: it has no backend for tensors on cpu; .*"cpu:gloo,cuda:nccl"'),
        ("cpu:gloo,cuda:gloo", "cuda", ["a: 1", "a: 2"], "group: it has gloo for tensors on cuda"),
        (BACKENDS, "cuda", ["a: 1", "a: 2", "a: 1"], r"device: 2 ranks have the same CUDA device \(a: 1\)"),
        (BACKENDS, "cuda", ["a: 1", ""], "device: some ranks have the model on a CPU"),
    ],
)
def test_groups_that_cannot_are_refused_by_name(backends: str, kind: str, devices: list[str], text: str) -> None:
    with pytest.raises(RankError, match=f"^{text}"):
        check_devices(backends, kind, devices)
