"""HTML as text: whatever is no markup made here is escaped, since words may be a subject's."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TypeAlias

from fedspec_suite.measure.escaping import escape_controls


class Html(str):
    """Markup, which is not escaped again."""

    __slots__ = ()


Part: TypeAlias = "str | Iterable[Part]"
"""Content of an element: words, markup, or several of these."""


def text(part: Part) -> Html:
    """Words as markup that says just these; control characters and half characters are spelled out."""
    if isinstance(part, Html):
        return part
    if isinstance(part, str):
        return Html(escape(escape_controls(part, keep="\n")))
    return Html("".join(map(text, part)))


def tag(name: str, /, *within: Part, **given: str | float | bool) -> Html:
    """An element.

    Args:
        name: of the tag.
        within: what stands in it.
        given: attributes; ``_`` stands for ``-``, and one behind a name for nothing. False leaves one out.
    """
    told = [
        f" {n.rstrip('_').replace('_', '-')}" + ("" if v is True else f'="{text(str(v))}"')
        for n, v in given.items()
        if v is not False
    ]
    return Html(f"<{name}{''.join(told)}>{text(within)}</{name}>")
