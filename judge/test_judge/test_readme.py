"""The README is short and leads to what is there; the numbers, names and errors that pages give are those of today."""

from __future__ import annotations

import importlib
import re
import tomllib
from pathlib import Path

import pytest
from test_judge.support import ROOT, inside

from fedspec import papers
from fedspec.catalogue import CATALOGUE
from fedspec.errors import UnknownNameError
from fedspec.papers import PAPERS, Paper
from fedspec_proofs import ledger
from fedspec_proofs.claim import Engine, Verdict

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
DESIGN = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")


def page(name: str) -> str:
    return " ".join((ROOT / "docs" / name).read_text(encoding="utf-8").split())


def prose() -> list[str]:
    """The sentences of the README, without its code, tables, lists and pictures."""
    text = re.sub(r"^```.*?^```$|<!-- table.*?end -->|^[#|!*] ?.*?$", "\n\n", TEXT, flags=re.M | re.S)
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)
    return [s.strip() for part in text.split("\n\n") for s in re.split(r"(?<=[.:;])\s+", part) if s.strip()]


PROJECTS = ("pyproject.toml", "impl/pyproject.toml", "proofs_check/pyproject.toml")


def test_it_can_be_read_in_a_minute() -> None:
    assert len(TEXT.splitlines()) <= 90
    assert len(prose()) > 15
    assert [s for s in prose() if len(s.split()) > 25] == []


@pytest.mark.parametrize(
    "file", ["README.md", "CONTRIBUTING.md", *(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md"))]
)
def test_links_lead_to_files_that_are_there(file: str) -> None:
    text = re.sub(r"^```.*?^```", "", (ROOT / file).read_text(encoding="utf-8"), flags=re.M | re.S)
    links = [link for link in re.findall(r"\]\(([^)#\s]+)", text) if "://" not in link]
    assert [link for link in links if not ((ROOT / file).parent / link).exists()] == []


def test_the_example_is_the_file() -> None:
    (shown,) = re.findall(r"```python\n(.*?)```", TEXT, re.S)
    lines = (ROOT / "examples/my_fedadam.py").read_text(encoding="utf-8").splitlines()
    begin = lines.index(f"        {shown.splitlines()[0]}")
    assert [f"        {line}" for line in shown.splitlines()] == lines[begin : begin + 4]


def test_the_ledger() -> None:
    text = page("claims.md")
    claims = ledger.claims().values()
    refuted = [c for c in claims if c.printed and c.verdict is Verdict.REFUTED]
    assert Engine.SEARCH not in {c.engine for c in refuted}
    assert f"{len(ledger.statements())} rows, {len(claims)} claims" in text
    assert f"{len(refuted)} printed statements and steps of proofs come out" in text
    assert "all of them exactly" in text
    assert f"{len(ledger.variants())} false variants" in text


def test_the_design_names_modules_and_extras_that_are_there() -> None:
    modules = set(re.findall(r"\b(\w+(?:/\w+)*\.py)\b", DESIGN))
    there = [str(path) for path in ROOT.rglob("*.py") if ".venv" not in path.parts]
    assert len(modules) > 20 and not [m for m in modules if not any(p.endswith(f"/{m}") for p in there)]
    for file in PROJECTS:
        extras = tomllib.loads((ROOT / file).read_text(encoding="utf-8"))["project"]["optional-dependencies"]
        assert not [extra for extra in extras if f"`[{extra}]`" not in DESIGN], file


def test_what_is_cited_is_this_version() -> None:
    lines = (ROOT / "CITATION.cff").read_text(encoding="utf-8").splitlines()
    cited = {key: rest.strip() for key, colon, rest in (line.partition(":") for line in lines) if colon}
    for file in (*PROJECTS, "vectors/pyproject.toml"):
        project = tomllib.loads((ROOT / file).read_text(encoding="utf-8"))["project"]
        assert (cited["version"], cited["license"]) == (project["version"], project["license"]), file
        assert [cited["  - name"]] == [author["name"] for author in project["authors"]]


PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "examples").glob("*.py")]
IMPORTS = re.compile(r"from (fedspec\S*) import (\w+(?:, \w+)*)")


def test_what_pages_import_is_there_and_from_one_place() -> None:
    """A rule's module holds ``init`` too, the state that it begins with: who takes the rule from elsewhere lacks it."""
    places: dict[str, set[str]] = {}
    for page in PAGES:
        for module, names in IMPORTS.findall(page.read_text(encoding="utf-8")):
            for name in names.split(", "):
                places.setdefault(name, set()).add(module)
    assert [name for name, modules in places.items() if len(modules) > 1 and name != "init"] == []
    for name, modules in places.items():
        for module in modules:
            assert hasattr(importlib.import_module(module), name), f"{module} has no {name}"


def test_the_page_of_algorithms_names_the_kinds_of_row() -> None:
    text = (ROOT / "site/fedspec_site/templates/algorithms.md").read_text(encoding="utf-8")
    named = {
        kind: set(re.findall(r"`(\w+)`", levels)) for kind, levels in re.findall(r"^\* `(\w+)`, (.*?):", text, re.M)
    }
    of: dict[str, set[str]] = {}
    for a in CATALOGUE.values():
        of.setdefault(type(a.run).__name__, set()).update(a.levels)
    assert named == of


SAYS_NOTHING = re.compile(
    r"^\s+\w+: (so (it|they) \w+|there (is|are) (one|none)|there are more|"
    r"(it|one|somebody) (is|is not|has one|does|does not|is none|is neither)|as for \S+)\.$",
    re.MULTILINE,
)
"""Under Raises: a word that repeats the sentence above it, instead of what is refused."""


@pytest.mark.parametrize(
    "root", ["spec", "impl", "judge", "proofs_check", "benchmarks", "site", "scripts", "docs", "examples"]
)
def test_errors_say_what_is_refused(root: str) -> None:
    files = sorted((ROOT / root).rglob("*.py"))
    assert files
    found = [f"{p.relative_to(ROOT)}: {m[0].strip()}" for p in files for m in SAYS_NOTHING.finditer(p.read_text())]
    assert not found, "say what is refused, in a few words"


def test_the_phrases_are_found() -> None:
    for phrase in (
        "so it does",
        "so they are",
        "there is none",
        "one is not",
        "it is neither",
        "there are more",
        "as for :func:`check`",
    ):
        assert SAYS_NOTHING.search(f"    Raises:\n        PlanError: {phrase}.\n")
    assert not SAYS_NOTHING.search("    Raises:\n        PlanError: somebody does not take part.\n")


TITLED = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
MADE = re.compile(r"<!-- table: \w+ -->.*?<!-- end -->|^```.*?^```", re.DOTALL | re.MULTILINE)
"""Generated text, and output of commands."""


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


@pytest.mark.parametrize("page", TITLED, ids=lambda page: page.name)
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
    assert printed.code == 2 and "labels a printed statement" in printed.err
    assert "fednova.theorem-1" in printed.err and "fed-lamb.theorem-1" in printed.err
