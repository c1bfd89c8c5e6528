"""Record that a session keeps for edited text; recorders fill it, and the functions of `in_edits.py` read it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Memory:
    """Record that a session keeps for edited text.

    Attributes:
        blocks: the blocks of the model.
        number: the number of the present event, from 1.
        state: the session's state before the event.
        averaged: the last average: the stack, the weights and the function that averages.
        steps: the number of local steps of each client of the event.
        clients: the numbers of the event's clients.
        heard: the numbers of the clients of all events so far.
        hyper: the hyper-parameters of the case.
        before: the values of names when they were last asked for.
        told: the values of names, by name and the number of the event.
        begun: the values of names when the round began, by name and the number of earlier requests in its first step.
        asked: the number of earlier requests for a name in the present step.
        made: the model that the present event makes.
        left: the values that clients have left, by lifetime (``round`` or longer), name and, if it matters, client.
        surveyed: the values of names in the present event, in turn, when the event ran for the first time.
        looking: True if the event runs only to see the values of names.
        who: the client that computes.
        turn: the number of clients that have begun.
        gathered: the values gathered since their last use, by the number of clients that had begun.
    """

    blocks: list[slice] = field(default_factory=list)
    number: int = 1
    state: Any = None
    averaged: tuple[Any, ...] = ()
    steps: list[Any] = field(default_factory=lambda: [1])
    clients: tuple[int, ...] = ()
    heard: set[int] = field(default_factory=set)
    hyper: dict[str, Any] = field(default_factory=dict)
    before: dict[str, Any] = field(default_factory=dict)
    told: dict[tuple[str, int], Any] = field(default_factory=dict)
    begun: dict[tuple[str, int], Any] = field(default_factory=dict)
    asked: dict[str, int] = field(default_factory=dict)
    made: Any = None
    left: dict[tuple[Any, ...], Any] = field(default_factory=dict)
    surveyed: dict[str, list[Any]] = field(default_factory=dict)
    looking: bool = False
    who: int = 0
    turn: int = 0
    gathered: dict[int, list[Any]] = field(default_factory=dict)
