"""The five papers: one file says what they are, and every page, table and command takes it from there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from test_judge.support import inside

from fedspec import papers
from fedspec.catalogue import CATALOGUE
from fedspec.errors import UnknownNameError
from fedspec.papers import PAPERS, Paper
from fedspec_proofs import ledger

ROOT = Path(__file__).resolve().parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
MADE = re.compile(r"<!-- table: \w+ -->.*?<!-- end -->|^```.*?^```", re.DOTALL | re.MULTILINE)
"""What is generated, and what a command is said to print."""


@pytest.mark.parametrize("paper", PAPERS.values(), ids=PAPERS)
def test_everything_is_said(paper: Paper) -> None:
    assert paper.title and len(paper.authors) >= 2 and paper.venue and paper.specified and paper.used
    assert str(paper.year) in paper.venue
    assert paper.links and all(re.fullmatch(r"https://\S+", link) for link in paper.links.values())
    assert re.fullmatch(r"(\d{4}\.\d{5})?", paper.arxiv) and re.fullmatch(r"\w{10}|", paper.openreview)
    for text in (paper.cited, paper.specified, paper.later):
        assert not [s for s in re.split(r"[.;:] ", text) if len(s.split()) > 25]


def test_the_command_prints_all_of_it_in_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    said = inside("papers").out
    flat = " ".join(said.split())
    assert max(map(len, said.splitlines())) <= 80
    for p in PAPERS.values():
        assert all(words in flat for words in (p.title, ", ".join(p.authors), p.venue, *p.links, p.specified))
        assert " ".join(p.later.split()[:4]) in flat
    rows = inside("papers", "--json").rows
    assert [row["key"] for row in rows] == list(PAPERS)
    assert all(row["title"] == PAPERS[row["key"]].title and row["links"] for row in rows)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_types_a_title_again(page: Path) -> None:
    own = " ".join(MADE.sub("", page.read_text(encoding="utf-8")).split())
    assert [p.name for p in PAPERS.values() if p.title in own] == []


def test_readme_cites_each_with_its_ids() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for p in PAPERS.values():
        (line,) = re.findall(rf"^\* \*\*{p.name}\*\*: (.*)$", text, re.MULTILINE)
        assert line.startswith(p.cited) and all(f"[{said}]({link})" in line for said, link in p.links.items())


def test_the_ledger_and_the_rows_name_these_papers() -> None:
    assert {c.source.paper for c in ledger.claims().values()} == {p.title for p in PAPERS.values()}
    names = "|".join(p.name for p in PAPERS.values())
    for a in CATALOGUE.values():
        assert re.match(rf"external|({names}), ", a.source), a.id


def test_a_paper_that_is_none_of_them() -> None:
    assert papers.find("afga").name == "AFGA"
    with pytest.raises(UnknownNameError, match="choose one of fedada2, fed-lamb, afga, client-centric, fednova"):
        papers.find("gravity")
    assert "choose one of fedada2" in inside("claims", "--paper", "gravity").err
    assert "nearest: fednova; choose" in inside("claims", "--paper", "fednov").err
    assert inside("claims", "--paper", "FedNova").out == inside("claims", "--paper", "fednova").out
    printed = inside("claims", "show", "theorem 1")
    assert printed.code == 2 and "what a paper prints" in printed.err
    assert "fednova.theorem-1" in printed.err and "fed-lamb.theorem-1" in printed.err
