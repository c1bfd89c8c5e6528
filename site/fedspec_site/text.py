"""Words as HTML, as Markdown and as names for addresses."""

from __future__ import annotations

import re

from markupsafe import Markup, escape


def slug(text: str) -> str:
    """A name for addresses and anchors."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def markdown(text: str) -> Markup:
    """Plain words as Markdown that says just these: what would be markup is escaped."""
    return Markup(re.sub(r"([\\`*_{}\[\]<>#|~$&^])", r"\\\1", " ".join(text.split())))


LINKED = re.compile(
    r"(?P<arxiv>arXiv (?P<id>\d{4}\.\d{4,5}))|(?P<url>https?://[^\s<>&()]+[^\s<>&().,;])"
    r"|(?P<repo>[\w-]+/[\w.-]+(?<!\.py)) at (?P<commit>[0-9a-f]{7,40})"
)


def linked(text: str) -> Markup:
    """Words with links to the sources that they name: an arXiv id, an address, a repository at its commit."""

    def link(m: re.Match[str]) -> str:
        to = m["url"] or (
            f"https://arxiv.org/abs/{m['id']}" if m["id"] else f"https://github.com/{m['repo']}/tree/{m['commit']}"
        )
        return f'<a href="{to}">{m[0]}</a>'

    return Markup(LINKED.sub(link, str(escape(text))))


def ticks(text: str) -> Markup:
    """Words as HTML, with code between the ticks and links to sources."""
    parts = re.sub(r"\s+", " ", text).split("`")
    return Markup().join(
        Markup("<code>{}</code>").format(part) if k % 2 else linked(part) for k, part in enumerate(parts)
    )


def digits(number: float | str) -> str:
    """A number of results.jsonl, as the command prints it; what JSON has no number for is a word there."""
    return number if isinstance(number, str) else f"{number:.9g}"
