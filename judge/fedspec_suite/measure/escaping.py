"""Escaping of a subject's strings, so that they print literally and cannot control a terminal."""

from __future__ import annotations

from typing import Any

LONGEST = 2000
"""Most characters kept of a subject's string; the rest is cut."""


def escape_controls(text: str, *, keep: str = "", most: int | None = None) -> str:
    """Escape every unprintable character of a text (control sequences, line ends, lone surrogates).

    Args:
        text: a text of unknown origin.
        keep: characters that stay, such as the line ends of a text of several lines.
        most: largest number of characters shown; all of them by default.
    """
    if most is not None and len(text) > most:
        text = f"{text[:most]}..."
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in text)


def escape_values(value: Any) -> Any:
    """Escape every string in a JSON value."""
    if isinstance(value, str):
        return escape_controls(value, most=LONGEST)
    if isinstance(value, dict):
        return {escape_controls(k, most=LONGEST): escape_values(v) for k, v in value.items()}
    return [escape_values(v) for v in value] if isinstance(value, list) else value
