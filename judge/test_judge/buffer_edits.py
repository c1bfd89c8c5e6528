"""Edits of ``fedspec/buffers.py``: what could be got wrong, under which claim it shows, and the laws meant for it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fedspec import buffers


@dataclass(frozen=True)
class Edit:
    """An edit.

    Attributes:
        words: description of the mistake.
        old: a piece of the source, found exactly once.
        new: replacement of the old text.
        claim: the readings of statistics and counters.
        whole: True if a counter is then no whole number between the sent ones.
    """

    words: str
    old: str
    new: str
    claim: tuple[str, str]
    whole: bool


def _edit(words: str, old: str, new: str, claim: str, laws: str = "") -> Edit:
    statistics, counters = claim.split()
    return Edit(words, old, new, (statistics, counters), "whole" in laws.split())


_ALL = "b if reading is Reading.KEPT else RULES[reading]([one[name] for one in sent], examples)"
_MOVED = "RULES.get(reading, averaged)([one[name] for one in sent], examples)"

EDITS = (
    _edit(
        "a mean by examples weighs clients alike",
        "sum(n * b for n, b in",
        "sum(total * b / len(sent) for n, b in",
        "averaged kept",
        "",
    ),
    _edit("a mean is divided by the number of clients", ") / total)", ") / len(sent))", "averaged kept", ""),
    _edit("the mean of counters keeps its fraction", "// int(total)", "/ int(total)", "kept averaged", "whole"),
    _edit(
        "each count times its share cut down to a whole number",
        "sum(int(n) * b for",
        "sum(int(n // total) * total * b for",
        "kept averaged",
        "whole",
    ),
    _edit("one batch too many", "// int(total)", "// int(total) + 1", "kept averaged", "whole"),
    _edit(
        "a plain mean weighs by examples",
        "sum(sent) / len(sent)",
        "sum(n * b for n, b in zip(examples, sent)) / sum(examples)",
        "uniform kept",
        "",
    ),
    _edit(
        "a mean of the mean so far and the next",
        "sum(sent) / len(sent)",
        "__import__('functools').reduce(lambda a, b: (a + b) / 2, sent)",
        "uniform kept",
        "",
    ),
    _edit("what is left out is averaged", _ALL, _MOVED, "kept kept", "whole"),
    _edit("the last for the first", "return sent[0]", "return sent[-1]", "first first", ""),
    _edit("the first for the last", "return sent[-1]", "return sent[0]", "last last", ""),
    _edit("the least for the largest", "np.max(sent", "np.min(sent", "kept largest", "whole"),
    _edit("a rate of 2 carries means on", _ALL, f"{_MOVED} * 2 - b", "averaged averaged", "whole"),
)


def edited(edit: Edit) -> Callable[..., Any]:
    """``after`` of the edited module."""
    source = inspect.getsource(buffers)
    assert source.count(edit.old) == 1, edit.old
    names: dict[str, Any] = {"__name__": "edited"}
    exec(compile(source.replace(edit.old, edit.new), "edited", "exec"), names)
    after: Callable[..., Any] = names["after"]
    return after
