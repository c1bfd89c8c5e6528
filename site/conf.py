"""Configuration of Sphinx for the site: pages load nothing from elsewhere, and work from the disk."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

from sphinx.search.en import SearchEnglish

import fedspec

HERE = Path(__file__).resolve().parent

project = "fedspec"
author = "The fedspec authors"
copyright = author
release = version = fedspec.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
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
    """Let the theme's pages be for all who read them."""
    templates = app.builder.templates
    render = templates.render

    def rendered(template: str, context: dict[str, Any]) -> str:
        text: str = render(template, context)
        for old, new in MENDED:
            text = text.replace(old, new)
        return WRAPPED.sub(r'<div class="table-wrapper \1" tabindex="0">', text)

    templates.render = rendered


NAVIGATION: dict[tuple[str, str], Any] = {}


def once(app: Any, name: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Make the navigation once for all pages of a folder that do not stand in it: hundreds of claims do not."""
    if "orphan" in (context.get("meta") or {}):
        make = context["toctree"]

        def kept(**how: Any) -> Any:
            key = (name.rpartition("/")[0], repr(sorted(how.items())))
            if key not in NAVIGATION:
                NAVIGATION[key] = make(**how)
            return NAVIGATION[key]

        context["toctree"] = kept


def beside(app: Any, config: Any) -> None:
    """Take the badges as they are: of such folders Sphinx looks below this file, not below the pages."""
    config.html_extra_path = [str(Path(app.srcdir) / "_extra")]


def setup(app: Any) -> None:
    # The index of words asks for the same ones again and again.
    SearchEnglish.stem = functools.cache(SearchEnglish.stem)  # type: ignore[method-assign]
    app.connect("config-inited", beside)
    # Before the theme, which asks for the navigation.
    app.connect("html-page-context", once, priority=100)
    app.connect("builder-inited", mended)
