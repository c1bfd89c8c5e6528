"""Pages of docs/ and the files that they link to, copied to the same relative paths, so that links stay valid."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path

from fedspec_site.pictures import figure
from fedspec_site.text import at_commit
from fedspec_site.writing import ROOT, Source

PAGES = ("CONTRIBUTING.md", "CHANGELOG.md", "examples/contrib/README.md", "vectors/README.md")
ELSEWHERE = {"README.md": "index.md", "docs/conformance/README.md": "conformance/index.md"}
"""Documents whose place another page of the site takes."""

CHECK = (
    "subjects any-language local-training messages private-averages schedules parts outer-step lora resume faults "
    "diagnosis in-your-ci reports"
)
SECTIONS = {
    "guides/check": (
        "Check your code",
        "For authors of federated-learning code. Begin with a Python adapter; the other pages each add one thing.",
        [*(f"docs/{name}" for name in CHECK.split()), "docs/vectors", "vectors/README"],
    ),
    "guides/extend": (
        "Extend fedspec",
        "For authors of algorithms, and for contributors.",
        [
            "docs/own-algorithms",
            "examples/contrib/README",
            "docs/new-algorithm",
            "docs/extend",
            "CONTRIBUTING",
            "docs/design",
        ],
    ),
    "reference/index": (
        "Reference",
        "Every command, function, field and known defect.",
        [
            "reference/command",
            "reference/python",
            "reference/schemas",
            "docs/fields",
            "docs/oracle",
            "reference/defects",
        ],
    ),
}
"""Index pages: title, introduction and pages. Pages that no index lists are added to the last one."""

LINK = re.compile(r"(?P<before>!?\[(?P<words>(?:[^\[\]]|\[[^\]]*\])*)\]\()(?P<to>[^)#\s]+)(?P<anchor>#[^)\s]*)?\)")
HASH = r"\b(?=\w*\d)[0-9a-f]{7,40}\b"
NAMED = re.compile(rf"([\w.-]+/)?([\w.-]+)(?:, branch `\w+`)? at ({HASH})(?:, [\d-]+)?(?:,? (?:to|and) ({HASH}))?")
COMMIT = re.compile(rf"`[^`]*`|\[[^\]]*\]\([^)]*\)|(?:(?P<name>[\w./-]+(?:, branch `\w+`)?)\s+at\s+)?(?P<hash>{HASH})")
"""Code, a link, or a commit with or without the name of its repository."""
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def pages() -> Iterator[Path]:
    """Yield the path of every page in the project."""
    yield from (page for page in sorted((ROOT / "docs").rglob("*.md")) if str(page.relative_to(ROOT)) not in ELSEWHERE)
    yield from (ROOT / name for name in PAGES)


@cache
def repositories() -> dict[str, str]:
    """Return the repository of every commit that a page names with its owner, or with a name that has an owner."""
    found = [m.groups() for page in pages() for m in NAMED.finditer(page.read_text(encoding="utf-8"))]
    full = {name: f"{owner}{name}" for owner, name, *_ in found if owner}
    return {commit: full[name] for _, name, *commits in found if name in full for commit in commits if commit}


def with_commits(prose: str) -> str:
    """Return a page's text in which each commit of a known repository links to its files at GitHub."""

    def linked(m: re.Match[str]) -> str:
        commit = m["hash"] or ""
        if not (repository := repositories().get(commit)):
            return m[0]
        named = repository.endswith((m["name"] or " ").partition(",")[0])
        before, words = ("", m[0]) if named else (m[0].removesuffix(commit), commit)
        return f"{before}[{words}]({at_commit(repository, commit)})"

    return COMMIT.sub(linked, prose)


def write(source: Source) -> None:
    """Write the pages and the index pages."""
    for page in pages():
        name = str(page.relative_to(ROOT))
        text = page.read_text(encoding="utf-8")
        parts, last = [], 0
        for fence in (*FENCED.finditer(text), None):
            prose = text[last : fence.start() if fence else len(text)]
            parts += [with_commits(LINK.sub(partial(_linked, source, page), prose)), fence[0] if fence else ""]
            last = fence.end() if fence else last
        source.put(name, "".join(parts))
    texts = [file.read_text(encoding="utf-8") for file in sorted(source.folder.rglob("*.md"))]
    listed = {name for text in texts for name in re.findall(r"^/?(docs/[\w-]+)$", text, re.MULTILINE)}
    listed |= {name for _, _, some in SECTIONS.values() for name in some}
    rest = [
        name for page in pages() if (name := str(page.relative_to(ROOT).with_suffix(""))) not in {*listed, "CHANGELOG"}
    ]
    for where, (title, words, some) in SECTIONS.items():
        source.page(
            where, "section", title=title, words=words, pages=[*some, *(rest if where == [*SECTIONS][-1] else ())]
        )


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
    if m[0].startswith("!"):
        return figure(source, place, m["words"], to)
    if place.suffix != ".md":
        source.copy(name, place)
    return m[0]
