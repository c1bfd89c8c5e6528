"""Built site: no warning, every link and anchor, and the pages' content beside the files that they were made from."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from fedspec.catalogue import CATALOGUE
from fedspec_proofs import ledger
from fedspec_proofs.stored import PATH
from fedspec_suite.report.page import record
from test_site.built import ROOT, Element, Site, every, names, page, requires_sphinx

pytestmark = [pytest.mark.outside, requires_sphinx]

LINES = [json.loads(line) for line in (ROOT / "docs/conformance/results.jsonl").read_text().splitlines()]
SIGNS = {"✓": "conforms", "✗": "does not conform", "!": "error"}


def pages(site: Site) -> list[Path]:
    return sorted(site.folder.rglob("*.html"))


def test_it_is_built_without_a_warning(site: Site) -> None:
    assert (site.code, site.said) == (0, "") and (site.folder / "index.html").is_file()


def test_every_link_and_every_anchor_exists(site: Site) -> None:
    lost = []
    for file in pages(site):
        for one in every(page(file)):
            for to in filter(None, (one.given.get("href"), one.given.get("src"))):
                there = urlsplit(to)
                if there.scheme in ("http", "https", "mailto"):
                    continue
                target = (file.parent / unquote(there.path)).resolve() if there.path else file
                if not target.is_file():
                    lost.append(f"{file.relative_to(site.folder)}: {to}")
                elif there.fragment and unquote(there.fragment) not in names(target):
                    lost.append(f"{file.relative_to(site.folder)}: {to} has no such anchor")
    assert not lost


def test_nothing_is_loaded_from_elsewhere(site: Site) -> None:
    loaded = []
    for file in pages(site):
        for one in every(page(file)):
            names = ("src", "srcset", "poster", "data") if one.tag != "link" else ("href",)
            loaded += [one.given[n] for n in names if re.match(r"(https?:)?//", one.given.get(n, ""))]
    for file in site.folder.rglob("*.css"):
        loaded += re.findall(r"url\(['\"]?((?:https?:)?//[^)]*)", file.read_text(encoding="utf-8"))
    assert not loaded


def test_no_anchor_stands_twice_on_a_page(site: Site) -> None:
    for file in pages(site):
        found = Counter(one.given["id"] for one in every(page(file)) if "id" in one.given)
        assert not [name for name, n in found.items() if n > 1], file


def test_a_repository_at_a_commit_is_a_link_to_it(site: Site) -> None:
    found = 0
    for name in ("found", "found-beside", "diloco", "lora"):
        links = {(one.given.get("href"), one.words) for one in every(page(site.folder / f"docs/{name}.html"))}
        said = (ROOT / f"docs/{name}.md").read_text(encoding="utf-8").replace(",", "").replace(";", "").split()
        for repository, at, commit in zip(said, said[1:], said[2:], strict=False):
            owner, slash, _ = repository.partition("/")
            if at == "at" and slash and owner.replace("-", "").isalnum():
                assert (f"https://github.com/{repository}/tree/{commit}", f"{repository} at {commit}") in links
                found += 1
    assert found > 40


def test_there_is_a_page_for_each(site: Site) -> None:
    def there(folder: str) -> set[str]:
        return {file.stem for file in (site.folder / folder).glob("*.html")} - {"index"}

    assert len(there("algorithms")) == len(CATALOGUE)
    assert there("conformance") == {line["impl"].partition(":")[0] for line in LINES}
    stored = set(json.loads(PATH.read_text(encoding="utf-8")))
    papers = {statement.paper for statement in ledger.statements()}
    assert stored <= there("ledger") and there("ledger") - stored - papers == set()
    docs = {str(file.relative_to(ROOT).with_suffix(".html")) for file in (ROOT / "docs").rglob("*.md")}
    assert all((site.folder / name).is_file() for name in docs)


def table(site: Site, id: str) -> Element:
    (found,) = page(site.folder / "conformance/index.html").find("table", id=id)
    return found


def rows(part: Element) -> list[list[Element]]:
    return [[one for one in row.within if one.tag in ("th", "td")] for row in part.find("tr")]


def test_the_matrix_says_what_the_results_say(site: Site) -> None:
    """By the place of a cell below its heads, and the sign in it; the file is read line by line."""
    matrix = table(site, "cells")
    head, *body, foot = rows(matrix)
    columns = [cell.find("a")[0].words for cell in head[1:-1]]
    said: Counter[tuple[str, str, str]] = Counter()
    for first, *cells, total in body:
        of_row: Counter[str] = Counter()
        for package, cell in zip(columns, cells, strict=True):
            for sign, n in re.findall(r"([✓✗◐!])\s*(\d+)", cell.words):
                said[package, first.words, SIGNS[sign]] += int(n)
                of_row[SIGNS[sign]] += int(n)
        assert total.words == f"{of_row['conforms']}/{of_row.total()}", first.words
    told = Counter((line["impl"].partition(":")[0], line["algorithm"], line["verdict"]) for line in LINES)
    assert said == told
    assert foot[-1].words == f"{sum(line['verdict'] == 'conforms' for line in LINES)}/{len(LINES)}"
    said_of = [p.words for p in page(site.folder / "conformance/index.html").find("p")]
    (key,) = [words for words in said_of if words.startswith("In a cell")]
    there = {verdict for _, _, verdict in told}
    assert {*re.findall(r"[✓✗◐!]", key)} == {sign for sign, verdict in SIGNS.items() if verdict in there}


def test_the_matrix_says_what_the_readme_says(site: Site) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    told = {name: f"{good} of {of}" for name, good, of in re.findall(r"\| \[(\w+)\]\S+ \S+ \| (\d+) of (\d+) ", readme)}
    head, *_, foot = rows(table(site, "cells"))
    columns = [cell.find("a")[0].words for cell in head[1:-1]]
    assert dict(zip(columns, (cell.words.replace("/", " of ") for cell in foot[1:-1]), strict=True)) == told


def test_the_list_has_every_offer(site: Site) -> None:
    _, *body = rows(table(site, "list"))
    said = [(cells[1].words, cells[2].words, cells[3].words, cells[5].words, cells[6].words) for cells in body]
    told = [(r["algorithm"], r["level"], r["claimed"], f"{r['passed']}/{r['required']}", r["date"]) for r in LINES]
    assert said == told


def test_a_package_page_says_the_sentence_and_the_command_of_each_offer(site: Site) -> None:
    for line in LINES:
        words = page(site.folder / f"conformance/{line['impl'].partition(':')[0]}.html").words
        assert " ".join(line["command"].split()) in words
        if line["verdict"] != "conforms":
            for part in line["sentence"].split("; first seen in "):
                assert " ".join(part.split()) in words, line["command"]


def test_a_package_page_shows_both_equations_and_the_remedy(site: Site) -> None:
    """Formulas are the stored ones; what is wanted are equations of the claimed algorithm."""
    shown = 0
    for line in LINES:
        root = page(site.folder / f"conformance/{line['impl'].partition(':')[0]}.html")
        rows = [[one.words for one in row.find("p")] for row in root.find("div", class_="differs")]
        for one in line["nearest_data"]:
            for d in one["differences"] if any(d["wanted"] for d in one["differences"]) else ():
                said = [f"yours: {d['yours']}"] * (d["yours"] not in one["words"]) + [f"wanted: {d['wanted']}"]
                assert any(row[-len(said) :] == said for row in rows), said
                shown += 1
            for name, value in one["claim"].items():
                assert f'either change this, or claim {name}="{value}"' in root.words
        for d in (d for one in line["nearest_data"] for d in one["differences"] if d["wanted"]):
            known = {e["id"] for e in record(CATALOGUE[line["algorithm"]])["equations"]}
            assert d["equation"] in known, d
    assert shown > 15


def test_a_badge_says_the_verdict(site: Site) -> None:
    said = Counter()
    for file in sorted((site.folder / "badges").rglob("*.json")):
        badge = json.loads(file.read_text(encoding="utf-8"))
        assert (badge["schemaVersion"], file.with_suffix(".svg").is_file()) == (1, True)
        assert badge["message"] in file.with_suffix(".svg").read_text(encoding="utf-8")
        said[file.parent.name, badge["label"].removeprefix("fedspec: "), badge["message"]] += 1
    words = {"conforms": "conforms", "does not conform": "deviates", "error": "gave no answer"}
    told = Counter((r["impl"].partition(":")[0], r["algorithm"], words[r["verdict"]]) for r in LINES)
    assert said == told


def test_the_front_page_shows_the_diagnosis_of_the_readme(site: Site) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    home = page(site.folder / "index.html")
    block = readme.partition("```\n$ fedspec check")[2].partition("...\n```")[0]
    (term,) = [one for one in home.find("pre") if "fedspec check" in one.words]
    assert term.words == f"$ fedspec check {' '.join(block.split())}"


def test_the_cells_of_the_front_page_add_up_to_all_claims(site: Site) -> None:
    home = page(site.folder / "index.html")
    (rows,) = (one.find("tbody") for one in home.find("table", id="packages"))
    said = {
        (row.find("a")[0].words, SIGNS[cell.words[0]]): int(re.findall(r"\d+", cell.words)[0])
        for row in rows[0].find("tr")
        for cell in row.find("td")
        if cell.words
    }
    assert said == Counter((line["impl"].partition(":")[0], line["verdict"]) for line in LINES)


def test_a_claim_has_its_statement_verdict_and_evidence(site: Site) -> None:
    stored = json.loads(PATH.read_text(encoding="utf-8"))
    for id, claim in ledger.claims().items():
        words = page(site.folder / f"ledger/{id}.html").words
        for sign, typed in {"≤": "<=", "≥": ">=", "→": "->"}.items():
            words = words.replace(sign, typed)
        for part in (claim.statement, stored[id]["evidence"], *claim.assumptions, f"fedspec claims run {id}"):
            assert " ".join(part.split()) in words, id
        first = page(site.folder / f"ledger/{id}.html").find("dd")[0]
        assert stored[id]["verdict"] in first.words, id


SIZES = {"index": 200, "conformance/index": 500, "ledger/*.*": 90}


@pytest.mark.parametrize("name", SIZES)
def test_pages_are_small(site: Site, name: str) -> None:
    found = [file for file in site.folder.glob(f"{name}.html")]
    assert found and max(file.stat().st_size for file in found) < SIZES[name] * 1000


def test_the_reference_of_schemas_has_each_record_and_each_field(site: Site) -> None:
    text = (site.folder / "reference/schemas.html").read_text(encoding="utf-8")
    for file in sorted((ROOT / "spec/fedspec/schemas").glob("*.schema.json")):
        assert (site.folder / "reference" / file.name).read_bytes() == file.read_bytes()
        for name, schema in json.loads(file.read_text(encoding="utf-8"))["$defs"].items():
            anchor = f'id="{file.name.partition(".")[0]}-{name.replace("_", "-")}"'
            assert anchor in text, anchor
            part = text.partition(anchor)[2].partition("<h3")[0]
            assert all(f"<code>{field}</code>" in part for field in schema.get("properties", {})), (anchor, part)
