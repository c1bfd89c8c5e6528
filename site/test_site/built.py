"""The site, built once for all tests, and its pages taken apart."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path

import pytest
from filelock import FileLock

ROOT = Path(__file__).parents[2]

NEEDED = [name for name in ("sphinx", "furo", "myst_parser") if find_spec(name) is None]
WITHOUT = f"the site needs {', '.join(NEEDED)}: make site installs what it is built with"


@dataclass(frozen=True)
class Site:
    """A build.

    Attributes:
        folder: folder of its pages.
        code: exit code of Sphinx.
        said: output of Sphinx.
    """

    folder: Path
    code: int
    said: str


BUILT = os.environ.get("FEDSPEC_SITE", "")
"""Folder in which ``make site`` has just built it, where a script says so."""


def build(place: Path) -> Site:
    """The site in a folder, from another test process where that has built it."""
    if BUILT:
        return Site(Path(BUILT), 0, "")
    folder, log = place / "site", place / "site.log"
    with FileLock(place / "site.lock"):
        if not log.exists():
            source = place / "site-source"
            commands = (
                [sys.executable, "-m", "fedspec_site", str(source)],
                [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-c", "site", str(source), str(folder)],
            )
            code, said = 0, ""
            for command in commands:
                ran = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)
                code, said = ran.returncode, said + ran.stdout + ran.stderr
                if code:
                    break
            log.write_text(f"{code}\n{said}", encoding="utf-8")
    code_said, _, said = log.read_text(encoding="utf-8").partition("\n")
    return Site(folder, int(code_said), said)


def environment() -> dict[str, str]:
    """Environment in which the package of the site is found."""
    return {**os.environ, "PYTHONPATH": str(ROOT / "site")}


@dataclass
class Element:
    """A tag with what is in it."""

    tag: str
    given: dict[str, str]
    text: list[str] = field(default_factory=list)
    within: list[Element] = field(default_factory=list)

    def find(self, tag: str, **given: str) -> list[Element]:
        """Elements below it of that tag and these attributes, in order."""
        found = []
        for one in self.within:
            if one.tag == tag and all(value in one.given.get(n.rstrip("_"), "").split() for n, value in given.items()):
                found.append(one)
            found += one.find(tag, **given)
        return found

    @property
    def words(self) -> str:
        """All text below it."""
        return " ".join("".join(self.text).split())


VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = Element("", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        one = Element(tag, {n: v or "" for n, v in attrs})
        self.open[-1].within.append(one)
        if tag == "math":
            self.handle_data(one.given.get("alttext", ""))
        if tag not in VOID:
            self.open.append(one)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].within.append(Element(tag, {n: v or "" for n, v in attrs}))

    def handle_endtag(self, tag: str) -> None:
        if tag in (one.tag for one in self.open):
            while self.open.pop().tag != tag:
                pass

    def handle_data(self, data: str) -> None:
        # To the words around it a formula is what was typed.
        tags = [one.tag for one in self.open]
        for one in self.open[tags.index("math") if "math" in tags else 0 :]:
            one.text.append(data)


@cache
def page(file: Path) -> Element:
    """A page taken apart."""
    reader = _Reader()
    reader.feed(file.read_text(encoding="utf-8"))
    return reader.root


def every(root: Element) -> list[Element]:
    """All elements."""
    return [one for child in root.within for one in (child, *every(child))]


def names(file: Path) -> set[str]:
    """The anchors of a page."""
    return {one.given["id"] for one in every(page(file)) if "id" in one.given}


requires_sphinx = pytest.mark.skipif(bool(NEEDED), reason=WITHOUT)

LACKING = [name for name in ("playwright", "axe_playwright_python") if find_spec(name) is None]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

requires_browser = (
    pytest.mark.skipif(bool(LACKING), reason=f"no {' and no '.join(LACKING)}: make browser installs them"),
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the PATH; on Debian: apt-get install chromium"),
)
