"""Paths of pages, and their templates of Jinja2 with links from page to page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

ROOT = Path(__file__).resolve().parents[2]
"""The folder of the project."""


class Source:
    """The folder that Sphinx builds the site from."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.templates = Environment(
            loader=PackageLoader("fedspec_site"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
        )
        self.templates.filters.update(slug=slug, md=markdown, ticks=ticks, digits=digits)

    def page(self, where: str, template: str, /, **given: Any) -> None:
        """Write a page under its name without an ending; ``root`` leads from it to the front page's folder."""
        text = self.templates.get_template(f"{template}.md").render(root="../" * where.count("/"), **given)
        self.put(f"{where}.md", text)

    def put(self, name: str, text: str) -> None:
        """Write a file."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def copy(self, name: str, file: Path) -> None:
        """Write a file as it is."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.read_bytes())


def slug(text: str) -> str:
    """A name for addresses and anchors."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def markdown(text: str) -> Markup:
    """Plain words as Markdown that says just these: what would be markup is escaped."""
    return Markup(re.sub(r"([\\`*_{}\[\]<>#|~$&^])", r"\\\1", " ".join(text.split())))


def ticks(text: str) -> Markup:
    """Words as HTML, with code between the ticks."""
    parts = str(escape(" ".join(text.split()))).split("`")
    return Markup("".join(f"<code>{part}</code>" if k % 2 else part for k, part in enumerate(parts)))


def digits(number: float | str) -> str:
    """A number of results.jsonl, as the command prints it; what JSON has no number for is a word there."""
    return number if isinstance(number, str) else f"{number:.9g}"
