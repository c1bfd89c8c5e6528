"""The site as a browser shows it, from the disk: every kind of page, narrow and wide, light and dark.

Screenshots of them are left in ``out/site-shots``.
"""

from __future__ import annotations

from typing import Any

import pytest

from test_site.built import ROOT, Site, requires_browser, requires_sphinx
from test_site.test_pages_of_site import LINES

pytestmark = [pytest.mark.outside, requires_sphinx, *requires_browser]

SHOTS = ROOT / "out" / "site-shots"
KINDS = (
    "index",
    "conformance/index",
    "conformance/flwr",
    "algorithms/index",
    "algorithms/fedadam",
    "algorithms/fednova",
    "ledger/index",
    "ledger/fedada2",
    "ledger/fedada2.corollary-23",
    "ledger/afga.lemma-f-1-repaired",
    "train/index",
    "reference/command",
    "reference/python",
    "reference/schemas",
    "docs/reading-a-verdict",
    "reference/defects",
    "guides/check",
    "docs/worst-cases",
    "docs/simulate",
    "search",
)
OFFERS, ALGORITHMS = len(LINES), {line["algorithm"] for line in LINES}
ALL = f"{OFFERS} of {OFFERS} claims"
WAYS = [(scheme, width) for scheme in ("light", "dark") for width in (390, 1280)]


class Opened:
    """A page, and what it said and asked for while it was open."""

    def __init__(self, browser: Any, site: Site, scheme: str = "light", width: int = 1280, script: bool = True) -> None:
        self.folder = site.folder
        self.context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, java_script_enabled=script
        )
        self.page = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))

    def open(self, name: str, query: str = "") -> Any:
        self.page.goto(f"{(self.folder / f'{name}.html').as_uri()}{query}")
        return self.page

    def __enter__(self) -> Opened:
        return self

    def __exit__(self, *error: object) -> None:
        self.context.close()


@pytest.mark.table(1)
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize(("scheme", "width"), WAYS)
def test_a_page_is_quiet_fits_and_is_for_all(browser: Any, site: Site, name: str, scheme: str, width: int) -> None:
    from axe_playwright_python.sync_playwright import Axe

    with Opened(browser, site, scheme, width) as opened:
        page = opened.open(name)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert not opened.said
        assert [url for url in opened.asked if not url.startswith(("file:", "data:"))] == []
        SHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SHOTS / f"{name.replace('/', '-')}-{scheme}-{width}.png")
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()


def shown(page: Any, selector: str) -> int:
    return int(page.evaluate(f"[...document.querySelectorAll({selector!r})].filter(x => !x.hidden).length"))


def test_filters_choose_and_the_address_keeps_them(browser: Any, site: Site) -> None:
    rows, lines = "#list tbody tr", "#cells tbody tr"
    with Opened(browser, site) as opened:
        page = opened.open("conformance/index")
        assert (shown(page, rows), shown(page, lines)) == (OFFERS, len(ALGORITHMS))
        page.select_option("[name=package]", "flwr")
        page.select_option("[name=verdict]", "deviates")
        assert page.url.endswith("index.html?package=flwr&verdict=deviates")
        bad = sum(line["impl"].startswith("flwr") and line["verdict"] == "does not conform" for line in LINES)
        assert (shown(page, rows), page.inner_text("#shown")) == (bad, f"{bad} of {OFFERS} claims")
        assert shown(page, lines) == len(set(page.locator("#list tbody tr:visible td:nth-child(2)").all_inner_texts()))
        page.click("#list th[data-sort=algorithm] button")
        first = page.locator("#list tbody tr:visible td:nth-child(2)").all_inner_texts()
        assert first == sorted(first)
        page.click("#list th[data-sort=algorithm] button")
        assert page.locator("#list tbody tr:visible td:nth-child(2)").all_inner_texts() == sorted(first, reverse=True)
        assert page.url.endswith("&sort=-algorithm")
        kept = page.url
        again = opened.context.new_page()
        again.goto(kept)
        assert again.input_value("[name=package]") == "flwr"
        assert (shown(again, rows), again.get_attribute("th[data-sort=algorithm]", "aria-sort")) == (bad, "descending")
        again.click("[type=reset]")
        again.wait_for_function(f"document.getElementById('shown').textContent === '{ALL}'")
        assert "?" not in again.url
        assert not opened.said


def test_what_nobody_has_is_chosen_too(browser: Any, site: Site) -> None:
    with Opened(browser, site) as opened:
        had = {line["algorithm"] for line in LINES if line["impl"] == "torch_optim"}
        page = opened.open("conformance/index", "?verdict=not-offered&package=torch_optim")
        assert (shown(page, "#list tbody tr"), shown(page, "#cells tbody tr")) == (0, len(ALGORITHMS - had))
        page = opened.open("conformance/index", "?package=nobody&sort=nothing")
        assert page.inner_text("#shown") == ALL


def test_the_matrix_is_read_without_a_script(browser: Any, site: Site) -> None:
    with Opened(browser, site, script=False) as opened:
        page = opened.open("conformance/index")
        assert page.locator("#cells tbody tr:visible").count() == len(ALGORITHMS)
        assert page.locator("#list tbody tr:visible").count() == OFFERS
        assert page.locator("#filters").is_hidden()


def test_mathematics_is_drawn(browser: Any, site: Site) -> None:
    """As mathematics: a fraction is higher than a letter beside it."""
    with Opened(browser, site) as opened:
        page = opened.open("algorithms/fedadam")
        heights = page.evaluate(
            "['mfrac', 'msqrt', 'mi'].map(n => document.querySelector(`math ${n}`).getBoundingClientRect().height)"
        )
        assert heights[0] > 1.5 * heights[2] > 0 and heights[1] > heights[2]


def test_words_are_found_from_the_disk(browser: Any, site: Site) -> None:
    with Opened(browser, site) as opened:
        page = opened.open("search", "?q=kingma")
        page.wait_for_selector("ul.search li a")
        assert "fedadam" in " ".join(page.locator("ul.search li a").all_inner_texts())
