"""Output of pages: paths, and Jinja2 templates with links between pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from fedspec_site.formulas import box, formula, prose, typeset
from fedspec_site.text import digits, linked, markdown, slug, ticks

ROOT = Path(__file__).resolve().parents[2]
"""Folder of the project."""


class Source:
    """Folder from which Sphinx builds the site."""

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
        self.templates.filters.update(
            slug=slug,
            md=markdown,
            ticks=ticks,
            digits=digits,
            linked=linked,
            prose=prose,
            formula=formula,
            box=box,
            typeset=typeset,
        )

    def page(self, where: str, template: str, /, **given: Any) -> None:
        """Render a template to the page at this path without suffix; ``root`` leads back to the front page's folder."""
        text = self.templates.get_template(f"{template}.md").render(root="../" * where.count("/"), **given)
        self.put(f"{where}.md", text)

    def put(self, name: str, text: str) -> None:
        """Write a file."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def copy(self, name: str, file: Path) -> None:
        """Copy a file unchanged."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file.read_bytes())
