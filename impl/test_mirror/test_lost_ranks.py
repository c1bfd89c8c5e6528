"""Ranks without a group: devices and backends, and what is told of ranks that are gone; who is left waits for none."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import pytest

from fedspec_torch.ranks import processes
from fedspec_torch.ranks.devices import check_devices
from fedspec_torch.ranks.processes import BACKENDS, RankError, Ranks, place


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


class Silent:
    """A store that answers nothing, but for an hour."""

    def __init__(self) -> None:
        self.released, self.waited_out = threading.Event(), False

    def check(self, keys: list[str]) -> bool:
        """Wait."""
        self.waited_out = not self.released.wait(60)
        return False

    def compare_set(self, *words: Any) -> bytes:
        """Wait."""
        self.check([])
        return b""


@pytest.mark.slow
def test_a_store_that_answers_nothing_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Silent()
    monkeypatch.setattr(processes, "_store", lambda: store)
    monkeypatch.setattr(processes, "PATIENCE", 0.05)

    def broken() -> None:
        raise RuntimeError("connection timed out")

    elsewhere = ("another machine", 1)
    with pytest.raises(RankError, match="rank 1: a rank does not answer; start all ranks again"):
        Ranks(1, (elsewhere, elsewhere))._tried(broken)
    assert not store.waited_out
    store.released.set()


def test_what_another_rank_has_found_first_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    class Told:
        def check(self, keys: list[str]) -> bool:
            return True

        def compare_set(self, key: str, expected: str, mine: str) -> bytes:
            return b"rank 5 has stopped: ValueError: no"

    monkeypatch.setattr(processes, "_store", Told)
    with pytest.raises(RankError, match="rank 0: rank 5 has stopped: ValueError: no; start"):
        Ranks(0, (("a", 1), ("b", 1)))._tried(lambda: (_ for _ in ()).throw(RuntimeError("closed")))


class Group:
    """Something that only a broken call refers to, and itself."""

    def __init__(self) -> None:
        self.itself = self


def test_nothing_refers_to_what_a_broken_call_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the error that the caller keeps nor a cycle."""
    monkeypatch.setattr(Ranks, "_why", lambda self: "rank 1 is gone")
    held: list[weakref.ref[Group]] = []

    def talk() -> Any:
        group = Group()
        held.append(weakref.ref(group))
        raise RuntimeError("connection closed by peer")

    gc.disable()
    try:
        with pytest.raises(RankError, match="rank 0: rank 1 is gone; start all ranks again") as told:
            Ranks(0, (("here", 1), ("there", 1)))._tried(talk)
        assert isinstance(told.value.__cause__, RuntimeError)
        assert held[0]() is None
    finally:
        gc.enable()
