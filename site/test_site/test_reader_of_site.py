"""Reader of the site: titles, formulas, sources as links, short lists, one page a fact, words, captions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fedspec.catalogue import CATALOGUE
from fedspec.papers import PAPERS
from fedspec_proofs import ledger
from fedspec_site.formulas import prose
from test_site.built import Element, Site, _Reader, every, page, requires_sphinx
from test_site.test_maths_of_site import row
from test_site.test_pages_of_site import LINES, pages

pytestmark = [pytest.mark.outside, requires_sphinx]


def redirects(file: Path) -> bool:
    return 'http-equiv="refresh"' in file.read_text(encoding="utf-8")


def name(site: Site, file: Path) -> str:
    return str(file.relative_to(site.folder).with_suffix(""))


def test_no_two_pages_have_one_title(site: Site) -> None:
    titles: dict[str, list[str]] = {}
    for file in pages(site):
        if not redirects(file):
            titles.setdefault(page(file).find("title")[0].words, []).append(name(site, file))
    assert [some for some in titles.values() if len(some) > 1] == []
    assert titles["FedAda2, Corollary 23: refuted - fedspec"] == ["ledger/fedada2.corollary-23"]
    assert titles["fedprox: FedAvg with proximal clients - fedspec"] == ["algorithms/fedprox"]
    numbered = re.compile(r"\b(eq|theorem|lemma|corollary|proposition|algorithm|assumption|remark|table) ([a-z] )?\d")
    assert [said for said in titles if numbered.search(said)] == [], "words of an id"


def untyped(one: Element) -> str:
    """The words of an element without its formulas."""
    words = one.words
    for maths in one.find("math"):
        words = words.replace(" ".join(maths.given["alttext"].split()), "", 1)
    return words


SIGNS = re.compile(r"<=|>=|\^|sqrt\(|\b(sum|int)_|\w_\(| = ")


def test_statements_are_typeset(site: Site) -> None:
    """A formula around words, such as |sum over S of v|^2, is left as it was typed in a few."""
    left = []
    for id in ledger.claims():
        (statement,) = page(site.folder / f"ledger/{id}.html").find("p", class_="statement")
        if SIGNS.search(untyped(statement)):
            left.append(id)
    assert len(left) < 0.06 * len(ledger.claims()), left


@pytest.mark.parametrize("where", ["docs/worst-case", "docs/worst-cases", "reference/claims", "ledger/index"])
def test_words_of_worst_cases_and_lists_are_typeset(site: Site, where: str) -> None:
    assert len(page(site.folder / f"{where}.html").find("math")) > 4


NUMBERS = {
    **{"η": 0.3, "K": 4, "p": 1, "x": 2.5, "α": 0.5, "τ": 3, "T": 100, "v0": 4, "a": 2, "b": 5, "n": 8, "t": 3},
    **{"β1": 0.9, "ti": 2, "τi": 2},
}
FORMULAS = {
    "(1 - eta)^(K-1-p) x": 0.49 * 2.5,
    "tau / (1 + alpha tau)": 3 / 2.5,
    "4 a / (eta T) + b n/t": 8 / 30 + 40 / 3,
    "p b/c": 5 / 8,
    "-alpha/2 - (a - b)": 2.75,
    "x/sqrt(v0) - beta1^t": 1.25 - 0.729,
    "(a + b) (a - b)/n": -21 / 8,
    "a^2 b^(n-t)": 4 * 5**5,
    "1 - beta1^t_i + (a + b)^t_i - b^tau_i": 0.19 + 49 - 25,
}


@pytest.mark.parametrize("text", FORMULAS)
def test_a_typed_formula_is_worth_what_it_says(text: str) -> None:
    reader = _Reader()
    reader.feed(str(prose(text)))
    got = row(reader.root.find("math")[0].within, NUMBERS | {"c": 8})
    assert got == pytest.approx(FORMULAS[text])


def test_words_stay_words() -> None:
    for words in (
        "A quadratic client of CIFAR-10, a mean, lines 6-10 and L922 (the text) of Theorem 20",
        "What the clients' models do in range (A); it isn't `x <= y`",
    ):
        assert "<math" not in prose(words), words


def test_sources_are_links(site: Site) -> None:
    for id, a in CATALOGUE.items():
        facts = page(site.folder / f"algorithms/{id}.html").find("dl", class_="facts")[0]
        outside = [one for one in facts.find("a") if one.given["href"].startswith("https://")]
        assert len(outside) >= len(re.findall(r"\(\d{4}\)", a.source)), id
        assert outside or "textbook" in a.source, id
    for id, claim in ledger.claims().items():
        root = page(site.folder / f"ledger/{id}.html")
        links = {one.given["href"] for one in root.find("dl", class_="facts")[0].find("a")}
        assert {*PAPERS[claim.paper].links.values()} <= links, id
        assert claim.source.place in root.words, id
    fadas = {one.given.get("href", "") for one in page(site.folder / "algorithms/fadas.html").find("a")}
    assert "https://arxiv.org/abs/2407.18365" in fadas
    assert any(re.fullmatch(r"https://github.com/[\w-]+/[\w-]+/tree/[0-9a-f]{7,40}", to) for to in fadas)


def test_the_list_beside_each_page_is_short(site: Site) -> None:
    for file in pages(site):
        for tree in page(file).find("div", class_="sidebar-tree"):
            assert 5 < len(tree.find("a")) <= 15, file


GONE = {
    "docs/conformance/README": "conformance/index.html",
    "reference/catalogue": "algorithms/index.html",
    "reference/graph": "algorithms/index.html",
}


def test_a_fact_has_one_page(site: Site) -> None:
    for old, new in GONE.items():
        file = site.folder / f"{old}.html"
        assert redirects(file) and new in file.read_text(encoding="utf-8"), old
    # The refuted statements and chains are those of the ledger's own pages.
    assert len(page(site.folder / "reference/claims.html").find("table")) == 2


def test_each_page_describes_itself(site: Site) -> None:
    for file in pages(site):
        if not redirects(file):
            (one,) = page(file).find("meta", name="description")
            assert 15 < len(one.given["content"]) <= 160, file
            assert not re.search(r"</|<(p|a|b|code|math|m[ion])\b", one.given["content"]), file


def test_a_shell_is_not_coloured_as_python(site: Site) -> None:
    for file in pages(site):
        for one in every(page(file)):
            kinds = one.given.get("class", "").split()
            if "highlight-default" in kinds or "highlight-python" in kinds:
                assert not re.match(r"(\$ |pip |fedspec |git |make )", one.words), (file, one.words)


OLD = re.compile(r"\b(offer|offers|obligation|obligations|IMPL|shim|subject under test)\b")
GENERATED = ("index", "conformance/*", "algorithms/index", "ledger/index", "train/index", "guides/*", "reference/index")


@pytest.mark.parametrize("some", GENERATED)
def test_generated_pages_have_the_words_of_the_glossary(site: Site, some: str) -> None:
    for file in site.folder.glob(f"{some}.html"):
        (article,) = page(file).find("article")
        words = article.words
        for code in [*article.find("details"), *article.find("pre"), *article.find("code")]:
            words = words.replace(code.words, "")
        # What a stored run printed stays as it was printed.
        for line in LINES:
            for part in line["sentence"].split("; first seen in "):
                words = words.replace(" ".join(part.split()), "")
        assert not OLD.findall(words), file


def test_pictures_have_captions_in_html(site: Site) -> None:
    """No picture stands without its caption, but badges."""
    found = 0
    for file in pages(site):
        root = page(file)
        for one in root.find("figure", class_="panels"):
            found += 1
            assert one.find("figcaption")[0].words
        inside = {id(one) for figure in root.find("figure") for one in figure.find("img")}
        alone = [one for one in root.find("article") for one in one.find("img") if id(one) not in inside]
        assert not [one.given["src"] for one in alone if not re.search("badges/|minus.png", one.given["src"])], file
    assert found >= 6
