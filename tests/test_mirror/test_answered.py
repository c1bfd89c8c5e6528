"""Ranks whose store is on a machine that has vanished: it answers nothing, and nobody has closed the connection."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from fedspec_torch.ranks import processes
from fedspec_torch.ranks.processes import RankError, Ranks

pytestmark = pytest.mark.slow


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
