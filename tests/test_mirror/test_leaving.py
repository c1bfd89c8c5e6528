"""A rank that leaves keeps nothing of its group: else gloo would hold its connections open, and the others wait."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

from fedspec_torch.ranks.processes import RankError, Ranks


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
