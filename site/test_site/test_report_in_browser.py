"""The page of ``fedspec report`` as a browser shows it: from the disk, alone, narrow and wide, light and dark."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_judge.test_report_page import EVIL, FAILED, OFFERS, RUN, everywhere

from fedspec_suite.measure.verdict import Course, Result
from fedspec_suite.report import changes, results_page
from fedspec_suite.report.results_file import ResultsFile
from test_site.built import ROOT, requires_browser

pytestmark = [pytest.mark.outside, *requires_browser]

SHOTS = ROOT / "out" / "site-shots"
LONG = Course(
    "x", "a" * 90, tuple(f"step {k}" for k in range(1, 51)), tuple(10.0**-k for k in range(50)), (1e-20,) * 50
)
PAGES = {"kinds": OFFERS, "hostile": everywhere(EVIL), "long": [replace(FAILED, course=LONG, subject="a" * 200)]}
OPENED = "document.querySelectorAll('details').forEach(d => d.open = true)"


def saved(results: list[Result], folder: Path) -> Path:
    new = ResultsFile("new.jsonl", tuple(results), (RUN,) * len(results))
    old = ResultsFile("old.jsonl", tuple(OFFERS), (replace(RUN, numpy="1.26.0"),) * len(OFFERS))
    found = changes.changes(old, new)
    since = results_page.since(old, found, changes.tally(found, len(results)), changes.versions(old, new))
    path = folder / "report.html"
    path.write_text(results_page.page([new], since), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_it_is_alone_fits_and_is_for_all(browser: Any, name: str, scheme: str, width: int, tmp_path: Path) -> None:
    from axe_playwright_python.sync_playwright import Axe

    path = saved(PAGES[name], tmp_path)
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page, asked, said = context.new_page(), [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.goto(path.as_uri())
    SHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SHOTS / f"report-{name}-{scheme}-{width}.png", full_page=True)
    for _ in range(2):
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        found = Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
        page.evaluate(OPENED)
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
    assert dark is (scheme == "dark")
    assert (asked, said) == ([path.as_uri()], [])
    context.close()
