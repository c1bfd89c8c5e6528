"""HTML as strings: every text that was not built here is escaped, since it may come from a subject."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TypeAlias

from fedspec_suite.measure.escaping import escape_controls


class Html(str):
    """String of HTML that is not escaped again."""

    __slots__ = ()


Part: TypeAlias = "str | Iterable[Part]"
"""Content of an element: text, HTML, or a sequence of these."""


def text(part: Part) -> Html:
    """Escape text for HTML, with control characters and lone surrogates spelled out; HTML stays unchanged."""
    if isinstance(part, Html):
        return part
    if isinstance(part, str):
        return Html(escape(escape_controls(part, keep="\n")))
    return Html("".join(map(text, part)))


def tag(name: str, /, *within: Part, **given: str | float | bool) -> Html:
    """Return an HTML element.

    Args:
        name: name of the tag.
        within: content of the element.
        given: attributes; ``_`` stands for ``-``, and one behind a name for nothing. False leaves one out.
    """
    told = [
        f" {n.rstrip('_').replace('_', '-')}" + ("" if v is True else f'="{text(str(v))}"')
        for n, v in given.items()
        if v is not False
    ]
    return Html(f"<{name}{''.join(told)}>{text(within)}</{name}>")
