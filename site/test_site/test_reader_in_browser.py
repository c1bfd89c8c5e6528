"""A reader's screen: what stands on the first one, cards and stacked pictures on a phone, dark pictures, a search."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from test_site.built import Site, requires_browser, requires_sphinx
from test_site.test_browser import Opened

pytestmark = [pytest.mark.outside, requires_sphinx, *requires_browser]

BOX = "s => { const b = document.querySelector(s).getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom]; }"


@pytest.fixture
def opened(browser: Any, site: Site, request: pytest.FixtureRequest) -> Iterator[Opened]:
    scheme, width = request.param
    with Opened(browser, site, scheme, width) as one:
        yield one


@pytest.mark.parametrize("opened", [("light", 1280)], indirect=True)
def test_the_first_screen_has_all(opened: Opened) -> None:
    shown = opened.open("index")
    for part in (".lead", ".lead + .sublead", ".button", ".first .term", "#packages"):
        left, top, right, bottom = shown.evaluate(BOX, part)
        assert 0 <= left < right <= 1280 and 0 <= top < bottom <= 800, part
    assert shown.locator(".button").count() == 1
    assert shown.locator("#packages tbody tr").count() == 13
    shown = opened.open("conformance/index")
    assert shown.evaluate("document.querySelector('.matrix-wrapper').scrollWidth") <= shown.evaluate(
        "document.querySelector('.matrix-wrapper').clientWidth"
    )


@pytest.mark.parametrize("opened", [("light", 390)], indirect=True)
def test_tables_are_cards_on_a_phone(opened: Opened) -> None:
    for where, table in (
        ("index", "#packages"),
        ("conformance/flwr", "table.list"),
        ("conformance/index", "#list"),
        ("conformance/index", "#cells"),
    ):
        shown = opened.open(where)
        wide = shown.evaluate(
            "t => [...document.querySelectorAll(`${t} tbody tr`)].map(r => [r.clientWidth, r.scrollWidth])", table
        )
        assert wide and all(scroll <= client <= 390 for client, scroll in wide), where
        assert shown.evaluate("t => getComputedStyle(document.querySelector(`${t} tbody tr`)).display", table) == "flex"
    # A card says which package a number is of.
    said = shown.evaluate("getComputedStyle(document.querySelector('#cells td a'), '::before').content")
    assert "attr" in said or re.search(r"\w", said)


@pytest.mark.parametrize("opened", [("light", 390), ("dark", 1280)], indirect=True)
def test_pictures_stack_on_a_phone_and_turn_dark(opened: Opened) -> None:
    for where in ("docs/worst-cases", "docs/benchmarks", "docs/simulate", "train/index"):
        shown = opened.open(where)
        tops = shown.evaluate(
            "[...document.querySelector('figure.panels').querySelectorAll('.panel:not(.axis)')]"
            ".map(p => Math.round(p.getBoundingClientRect().top))"
        )
        turned = shown.evaluate("getComputedStyle(document.querySelector('.panel img')).filter")
        if opened.page.viewport_size["width"] == 390:
            assert tops == sorted(set(tops)) and turned == "none", where
            widths = shown.evaluate(
                "[...document.querySelectorAll('figure.panels')].map(f => [...f.querySelectorAll('.panel:not(.axis, "
                ".legend)')].map(p => Math.round(p.getBoundingClientRect().width)))"
            )
            assert all(len(set(some)) == 1 for some in widths), where
        else:
            assert len(set(tops)) < len(tops) and "invert" in turned, where


FOUND = (
    "[...document.querySelectorAll('ul.search li')].map(l => [l.querySelector('a').getAttribute('href'), "
    "l.querySelector('.context')?.textContent ?? '', l.querySelector('span') !== null])"
)
STATEMENT = re.compile(r"(\./)?ledger/[^/]*\.(?!html)")


def found(shown: Any) -> list[Any]:
    shown.wait_for_function("document.querySelector('#search-results h2')?.textContent === 'Search Results'")
    results: list[Any] = shown.evaluate(FOUND)
    assert results and all(words or described for _, words, described in results)
    return results


@pytest.mark.parametrize("opened", [("light", 1280)], indirect=True)
def test_a_search_shows_words_and_leaves_statements_out(opened: Opened) -> None:
    for words in ("theorem", "corollary 23"):
        to = [to for to, *_ in found(opened.open("search", f"?q={words}"))]
        assert not any(map(STATEMENT.match, to)), words
    assert "ledger/fedada2.html" in to
    shown = opened.open("ledger/index")
    shown.fill("form.filters [name=q]", "theorem")
    shown.press("form.filters [name=q]", "Enter")
    assert all(STATEMENT.match(to) for to, *_ in found(shown))
    assert not opened.said
