"""Paths of pages, and their templates of Jinja2 with links from page to page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from fedspec_site.formulas import prose
from fedspec_site.text import digits, linked, markdown, slug, ticks

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
        self.templates.filters.update(slug=slug, md=markdown, ticks=ticks, digits=digits, linked=linked, prose=prose)

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
