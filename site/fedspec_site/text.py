"""Conversion of text to HTML, Markdown and slugs."""

from __future__ import annotations

import re

from markupsafe import Markup, escape


def slug(text: str) -> str:
    """Return a slug for addresses and anchors."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def markdown(text: str) -> Markup:
    """Escape plain text, so that Markdown shows it literally."""
    return Markup(re.sub(r"([\\`*_{}\[\]<>#|~$&^])", r"\\\1", " ".join(text.split())))


LINKED = re.compile(
    r"(?P<arxiv>arXiv (?P<id>\d{4}\.\d{4,5}))|(?P<url>https?://[^\s<>&()]+[^\s<>&().,;])"
    r"|(?P<repo>[\w-]+/[\w.-]+(?<!\.py)) at (?P<commit>[0-9a-f]{7,40})"
)


def at_commit(repository: str, commit: str) -> str:
    """Return the address of a repository's files at a commit."""
    return f"https://github.com/{repository}/tree/{commit}"


def linked(text: str) -> Markup:
    """Convert text to HTML with links for arXiv ids, addresses, and repositories at a commit."""

    def link(m: re.Match[str]) -> str:
        to = m["url"] or (f"https://arxiv.org/abs/{m['id']}" if m["id"] else at_commit(m["repo"], m["commit"]))
        return f'<a href="{to}">{m[0]}</a>'

    return Markup(LINKED.sub(link, str(escape(text))))


def ticks(text: str) -> Markup:
    """Convert text to HTML with backticks as code, and links to sources."""
    parts = re.sub(r"\s+", " ", text).split("`")
    return Markup().join(
        Markup("<code>{}</code>").format(part) if k % 2 else linked(part) for k, part in enumerate(parts)
    )


def digits(number: float | str) -> str:
    """Format a number of results.jsonl as the command prints it; NaN and infinities are stored as words."""
    return number if isinstance(number, str) else f"{number:.9g}"
