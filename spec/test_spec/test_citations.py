"""Every paper that a row, a reading or a reduction cites has one address, and no address is without a use."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from fedspec.catalogue import CATALOGUE
from fedspec.citations import ADDRESSES, ARXIV, ELSEWHERE, links
from fedspec.papers import PAPERS
from fedspec_properties.reductions import EDGES

TEXTS = sorted(
    {text for a in CATALOGUE.values() for text in (a.source, *(r.words for r in a.readings))}
    | {edge.cited for edge in EDGES}
)


@pytest.mark.parametrize("text", [text for text in TEXTS if re.search(r"\(\d{4}\)", text)])
def test_every_year_in_brackets_ends_a_citation_with_an_address(text: str) -> None:
    cited = [words.removesuffix(", Mime") for words in links(text)]
    for year in re.finditer(r"\(\d{4}\)", text):
        assert any(text[: year.end()].endswith(words) for words in cited), text[: year.end()]


def test_every_address_is_used_and_no_citation_has_two() -> None:
    everything = Counter(words for table in (ARXIV, ELSEWHERE) for some in table.values() for words in some)
    assert max(everything.values()) == 1
    used = {words for text in TEXTS for words in links(text)}
    assert {*ADDRESSES} - used == set()
    assert {*everything} | {p.name for p in PAPERS.values()} == {*ADDRESSES}


def test_the_longest_citation_wins() -> None:
    scaffold, mime = "Karimireddy et al. (2020)", "Karimireddy et al. (2020), Mime"
    assert links(f"as {mime}, and {scaffold}, option II") == {mime: ADDRESSES[mime], scaffold: ADDRESSES[scaffold]}
    assert ADDRESSES[mime] != ADDRESSES[scaffold]
    assert links("FedNovaX and my-FedNova") == {}
