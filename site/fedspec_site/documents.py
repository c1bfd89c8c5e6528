"""The pages of docs/, and what they link to, at the places that they have in the project: their links stay right."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from fedspec_site.writing import ROOT, Source

PAGES = ("CONTRIBUTING.md", "CHANGELOG.md", "examples/contrib/README.md", "vectors/README.md")
ELSEWHERE = {"README.md": "index.md"}
"""Documents that are another page of the site."""

LINK = re.compile(r"(?P<before>!?\[(?:[^\[\]]|\[[^\]]*\])*\]\()(?P<to>[^)#\s]+)(?P<anchor>#[^)\s]*)?\)")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def pages() -> Iterator[Path]:
    """Every page, as the project has it."""
    yield from sorted((ROOT / "docs").rglob("*.md"))
    yield from (ROOT / name for name in PAGES)


def write(source: Source) -> None:
    """Write them."""
    for page in pages():
        name = str(page.relative_to(ROOT))
        text = page.read_text(encoding="utf-8")
        parts, last = [], 0
        for fence in (*FENCED.finditer(text), None):
            prose = text[last : fence.start() if fence else len(text)]
            parts += [LINK.sub(partial(_linked, source, page), prose), fence[0] if fence else ""]
            last = fence.end() if fence else last
        source.put(name, "".join(parts))


def _linked(source: Source, page: Path, m: re.Match[str]) -> str:
    """A link as it is; files that are no pages come along, and for a folder without a page stands its name."""
    to = m["to"]
    if "://" in to or to.startswith("mailto:"):
        return m[0]
    place = Path(os.path.normpath(page.parent / to))
    if not place.exists() or not place.is_relative_to(ROOT):
        return m[0]
    name = str(place.relative_to(ROOT))
    if name in ELSEWHERE:
        return f"{m['before']}{os.path.relpath(ROOT / ELSEWHERE[name], page.parent)}{m['anchor'] or ''})"
    if place.is_dir():
        return m["before"].strip("![(").removesuffix("]")
    if place.suffix != ".md":
        source.copy(name, place)
    return m[0]
