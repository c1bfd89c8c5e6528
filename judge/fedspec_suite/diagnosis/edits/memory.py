"""The record that a session keeps for edited text: what `in_edits.py` has it ask, and what defects fill."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Memory:
    """What a session keeps for edited text.

    Attributes:
        blocks: the blocks of the model.
        number: which event is taken.
        averaged: what was averaged last: the stack, the weights and how.
        steps: how many local steps each client of the event takes.
        hyper: the hyper-parameters of the case.
        before: what names were when they were last asked for.
        begun: what names were when the round began, by how often they were asked for in its first step before that.
        asked: how often a name was asked for in the step that is taken.
        made: the model that comes out of the event that is taken.
        left: what clients have left: by how long it lives (``round`` or longer), its name, and whose it is, if that
            matters.
        surveyed: what names were in the event that is taken, in turn, when it was taken for the first time.
        looking: whether the event is taken only to see what names are in it.
        who: which client computes.
        turn: how many have begun.
        gathered: by how many clients have begun: what was gathered since it was used last.
    """

    blocks: list[slice] = field(default_factory=list)
    number: int = 1
    averaged: tuple[Any, ...] = ()
    steps: list[Any] = field(default_factory=lambda: [1])
    hyper: dict[str, Any] = field(default_factory=dict)
    before: dict[str, Any] = field(default_factory=dict)
    begun: dict[tuple[str, int], Any] = field(default_factory=dict)
    asked: dict[str, int] = field(default_factory=dict)
    made: Any = None
    left: dict[tuple[Any, ...], Any] = field(default_factory=dict)
    surveyed: dict[str, list[Any]] = field(default_factory=dict)
    looking: bool = False
    who: int = 0
    turn: int = 0
    gathered: dict[int, list[Any]] = field(default_factory=dict)
