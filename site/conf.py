"""Sphinx configuration of the site: pages load nothing from other servers, and work from the disk."""

from __future__ import annotations

import functools
import html
import json
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.search.en import SearchEnglish

import fedspec
from fedspec_site.formulas import prose

HERE = Path(__file__).resolve().parent

project = "fedspec"
author = "The fedspec authors"
copyright = author
release = version = fedspec.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_reredirects"]
redirects = {
    "docs/conformance/README": "../../conformance/index.html",
    "reference/catalogue": "../algorithms/index.html",
    "reference/graph": "../algorithms/index.html#special-cases",
}
autodoc_member_order = "bysource"
# Docstrings say what an argument is.
autodoc_typehints = "none"
napoleon_use_ivar = True
exclude_patterns = ["_extra"]
myst_heading_anchors = 6
# Pages of the project that go from their title to a heading of the third level, which are shown as of the second.
suppress_warnings = ["myst.header"]
myst_enable_extensions = ["attrs_block"]
# What a reader may want to keep: sources of pages are in the repository.
html_copy_source = False
html_show_sourcelink = False

html_theme = "furo"
html_title = "fedspec"
html_static_path = [str(HERE / "static")]
html_css_files = ["site.css"]
html_favicon = str(HERE / "static" / "mark.svg")
# A block without a language is what a terminal shows.
highlight_language = "text"
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"

FONTS = {
    "font-stack": "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif",
    "font-stack--monospace": "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace",
}
html_theme_options = {
    "light_css_variables": {
        **FONTS,
        "color-brand-primary": "#0b5468",
        "color-brand-content": "#0b5f76",
        "color-brand-visited": "#5b3f86",
        "v-good": "#0f5c2a",
        "v-good-bg": "#dff3e4",
        "v-bad": "#94170f",
        "v-bad-bg": "#fde6e3",
        "v-part": "#664500",
        "v-part-bg": "#fcf0cd",
        "v-none": "#565c64",
        "v-none-bg": "#eff1f3",
        "v-fix": "#154a86",
        "v-fix-bg": "#e2eefb",
        "line": "#d9dde2",
    },
    "dark_css_variables": {
        "color-brand-primary": "#74d0e6",
        "color-brand-content": "#7fd3e8",
        "color-brand-visited": "#c6adf0",
        "v-good": "#8ae2a4",
        "v-good-bg": "#12351f",
        "v-bad": "#ffb1a6",
        "v-bad-bg": "#451a15",
        "v-part": "#f2cf74",
        "v-part-bg": "#382b08",
        "v-none": "#a9b0b8",
        "v-none-bg": "#23272c",
        "v-fix": "#a5cdfa",
        "v-fix-bg": "#142f4d",
        "line": "#3a4047",
    },
}


MENDED = (
    # A keyboard reaches what scrolls.
    ("<pre>", '<pre tabindex="0">'),
    # What the theme and docutils leave without a name, or a level.
    ('<aside class="sidebar-drawer"', '<aside aria-label="pages" class="sidebar-drawer"'),
    ('<aside class="toc-drawer', '<aside aria-label="this page" class="toc-drawer'),
    ('class="caption" role="heading"', 'class="caption" role="heading" aria-level="2"'),
    ('<th class="head"><p></p></th>', "<td></td>"),
    ('<div id="search-results"></div>', '<h1>Search</h1><div id="search-results"></div>'),
)
WRAPPED = re.compile(r'<div class="table-wrapper (colwidths[^"]*)">')


def mended(app: Any) -> None:
    """Patch the theme's HTML for accessibility: keyboard focus, labels, headings."""
    templates = app.builder.templates
    render = templates.render

    def rendered(template: str, context: dict[str, Any]) -> str:
        text: str = render(template, context)
        for old, new in MENDED:
            text = text.replace(old, new)
        return WRAPPED.sub(r'<div class="table-wrapper \1" tabindex="0">', text)

    templates.render = rendered


FIRST = re.compile(r"<p(?! class=\"(?:crumbs|start|note))[^>]*>(.*?)</p>", re.DOTALL)
MATHS = re.compile(r'<math alttext="([^"]*)".*?</math>', re.DOTALL)
LEVELS: dict[str, Any] = {}


def around(app: Any, name: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Add a page's description from its first paragraph, and limit its navigation to the first level."""
    found = FIRST.findall(context.get("body", "")) or [context.get("title") or name, "Of the site of fedspec"]
    words = MATHS.sub(r"\1", found[0] if len(found[0]) > 60 else ". ".join(found[:2]))
    words = " ".join(html.unescape(re.sub("<[^>]*>", "", words)).split())
    words = words if len(words) <= 160 else f"{words[:157].rpartition(' ')[0]}..."
    context["metatags"] = f'{context.get("metatags", "")}<meta name="description" content="{html.escape(words)}">'
    if name == "search":
        for script in ("excerpts.js", "search.js"):
            app.add_js_file(script, loading_method="defer")
    make = context["toctree"]

    def first_level(**how: Any) -> Any:
        # Hundreds of pages stand in no list: one navigation does for all of a folder.
        key = name.rpartition("/")[0] if "orphan" in (context.get("meta") or {}) else name
        if key not in LEVELS:
            LEVELS[key] = make(**{**how, "maxdepth": 1})
        return LEVELS[key]

    context["toctree"] = first_level


FORMULAS = {"docs/worst-case", "docs/worst-cases", "docs/claims", "reference/claims", "reference/invariants"}
"""Pages whose text contains formulas to typeset; other pages mark formulas in their templates."""


def typeset(app: Any, doctree: Any) -> None:
    """Typeset formulas in a page's text, but not in code, titles or table heads, which screen readers take for
    empty.
    """
    kept = (nodes.literal, nodes.FixedTextElement, nodes.title, nodes.thead)
    as_is = {id(text) for kind in kept for outer in doctree.findall(kind) for text in outer.findall(nodes.Text)}
    for node in list(doctree.findall(nodes.Text)) if app.env.docname in FORMULAS else ():
        made = prose(str(node))
        if "<math" in made and id(node) not in as_is:
            node.parent.replace(node, nodes.raw("", made, format="html"))


def excerpts(app: Any, error: Any) -> None:
    """Write the search results' excerpts to a script, since a page on the disk can't read other files."""
    found = {}
    for file in sorted(Path(app.outdir).rglob("*.html")):
        if said := re.search(r'<meta name="description" content="([^"]*)"', file.read_text(encoding="utf-8")):
            found[str(file.relative_to(app.outdir).with_suffix(""))] = html.unescape(said[1])
    text = f"const EXCERPTS = {json.dumps(found, ensure_ascii=False)};\n"
    (Path(app.outdir) / "_static" / "excerpts.js").write_text(text, encoding="utf-8")


def beside(app: Any, config: Any) -> None:
    """Set the path of the badges relative to the pages' folder, since Sphinx takes it relative to this file."""
    config.html_extra_path = [str(Path(app.srcdir) / "_extra")]


def setup(app: Any) -> None:
    # The index of words asks for the same ones again and again.
    SearchEnglish.stem = functools.cache(SearchEnglish.stem)  # type: ignore[method-assign]
    app.connect("config-inited", beside)
    # Before the theme, which asks for the navigation.
    app.connect("html-page-context", around, priority=100)
    app.connect("doctree-read", typeset)
    app.connect("build-finished", excerpts)
    app.connect("builder-inited", mended)
