"""Parsers for untrusted JSON and TOML that reject deep nesting.

Python's readers end a deeply nested text with a RecursionError, which isn't a ValueError, and a key with many dots
takes time and memory that grow with the square of their number. Accepted values are nested so little that any function
may walk through them recursively.
"""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

DEEPEST = 100
"""Largest accepted depth of nested lists and objects; no file of fedspec is nested a fifth as deep."""

MOST_DOTS = 32
"""Largest accepted number of dots in a TOML key."""

TOO_DEEP = f"its lists or objects are nested too deeply, more than {DEEPEST} times"

_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+"""
_DOTTED = re.compile(rf"(?<![\w-])(?:{_PART}){{{MOST_DOTS}}}")


class TooDeep(ValueError):
    """A JSON or TOML text is nested too deeply."""


def parse_json(text: str | bytes, **hooks: Any) -> Any:
    """Read a value from JSON.

    Args:
        text: the JSON, as text or in UTF-8.
        hooks: keyword arguments of ``json.loads``.

    Raises:
        TooDeep: the value is nested too deeply.
        ValueError: the text isn't JSON.
    """
    try:
        found = json.loads(text.decode() if isinstance(text, bytes) else text, **hooks)
    except RecursionError:
        raise TooDeep(TOO_DEEP) from None
    _check_depth(found)
    return found


def parse_toml(text: str) -> dict[str, Any]:
    """Read a table from TOML.

    Raises:
        TooDeep: the table is nested too deeply.
        ValueError: the text isn't TOML.
    """
    if _DOTTED.search(text):
        raise TooDeep(f"a key has more than {MOST_DOTS} dots")
    try:
        found = tomllib.loads(text)
    except RecursionError:
        raise TooDeep(TOO_DEEP) from None
    _check_depth(found)
    return found


def _check_depth(value: Any) -> None:
    """Refuse a value that is nested too deeply, level by level.

    Raises:
        TooDeep: the value is nested more than ``DEEPEST`` times.
    """
    level = [value]
    for _ in range(DEEPEST):
        level = [
            part
            for one in level
            if isinstance(one, list | dict)
            for part in (one.values() if isinstance(one, dict) else one)
            if isinstance(part, list | dict)
        ]
        if not level:
            return
    raise TooDeep(TOO_DEEP)
