"""Ranks that are gone: who is left waits for none, says what was found first and keeps nothing of the group."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import pytest

from fedspec_torch.ranks import processes
from fedspec_torch.ranks.processes import RankError, Ranks


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
