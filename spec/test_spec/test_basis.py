"""Origin of the text of every row; its notes must agree."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib import import_module

import pytest
from test_judge.support import inside
from test_spec.test_catalogue import _module

from fedspec.catalogue import CATALOGUE, Algorithm
from fedspec.checked_rows import check_row
from fedspec.contract import Offer
from fedspec.entry import Basis
from fedspec.errors import PluginError
from fedspec.papers import PAPERS
from fedspec_suite.judge.capsules.replay import _first_named

pytestmark = pytest.mark.table(20)

ROWS = list(CATALOGUE.values())
UNOPENED = re.compile(r"abstract alone was opened|not opened|neither opened|not at hand|was not opened")
OPENED = re.compile(r"(?<!alone )(?<!not )(?<!neither )\bopened\b")
CODE = re.compile(r"\b[\w.-]+/[\w.-]+\b(``)? at [0-9a-f]{7}\b|\bcodes?\b|\b\d+\.\d+\.\d+\b")
NAMED_AFTER_A_PAPER = re.compile(r"[a-z-]+-(19|20)\d\d")


def notes(a: Algorithm) -> str:
    """Words of the row and its file on the origin of the text."""
    file = " ".join((import_module(_module(a)).__doc__ or "").split())
    return " ".join((file.partition("External:")[2], a.source, *(r.words for r in a.readings)))


@pytest.mark.parametrize("a", ROWS, ids=lambda a: a.id)
def test_a_row_says_what_its_text_was_typed_after(a: Algorithm) -> None:
    assert a.basis is not Basis.UNSAID


@pytest.mark.parametrize("a", ROWS, ids=lambda a: a.id)
def test_the_notes_of_a_row_agree(a: Algorithm) -> None:
    """A paper that was not opened is no basis; one that was is told from those that may have been."""
    said = notes(a)
    if UNOPENED.search(said) or "from memory" in said:
        assert a.basis in {Basis.CODE, Basis.MEMORY}
    match a.basis:
        case Basis.READ:
            assert any(p.name in a.source for p in PAPERS.values()) or OPENED.search(said)
        case Basis.CODE:
            assert CODE.search(said)
        case _:
            assert not OPENED.search(said)


@pytest.mark.parametrize("a", [a for a in ROWS if a.basis is Basis.CODE], ids=lambda a: a.id)
def test_what_was_typed_after_code_is_not_named_after_a_paper(a: Algorithm) -> None:
    """Old names are still accepted in claims."""
    for r in a.readings:
        assert not NAMED_AFTER_A_PAPER.fullmatch(r.name)
        assert all(a.reading(old) is r for old in r.formerly)


def test_old_names_of_readings_are_listed() -> None:
    had = [(a, r, old) for a in ROWS for r in a.readings for old in r.formerly]
    assert had
    for a, r, old in had:
        assert a.resolve(old, {}) == a.resolve(r.name, {})
        assert a.id in {row["id"] for row in inside("list", old, "--json").rows}
        (page,) = inside("show", a.id, "--json").rows
        assert page["definitions"][r.name]["formerly"] == [*r.formerly]
    names = [
        name for a in ROWS for r in a.readings for name in (f"{a.id}/{r.name}", *(f"{a.id}/{o}" for o in r.formerly))
    ]
    assert len(names) == len({*names})


@pytest.mark.parametrize("columns", ["80", "200"])
def test_the_list_and_the_page_have_it_from_the_field(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    for basis in (Basis.READ, Basis.MEMORY, Basis.OURS):
        row = replace(CATALOGUE["k-gt"], basis=basis)
        monkeypatch.setitem(CATALOGUE, "k-gt", row)
        (listed,) = inside("list", "k-gt", "--json").rows
        assert listed["basis"] == basis
        (line,) = [line for line in inside("list", "k-gt").out.splitlines() if line.startswith("k-gt")]
        assert re.search(rf"\b{basis}\b", line)
        assert f"typed after {basis.words}" in " ".join(inside("show", "k-gt", "--all").out.split())


def test_a_row_of_somebody_else_need_not_say_it_and_says_nothing_else() -> None:
    row = CATALOGUE["fedavg"]
    assert check_row(replace(row, basis=Basis.UNSAID), "a file").basis is Basis.UNSAID
    with pytest.raises(PluginError, match=r"basis: got 'paper'; want one of Basis.READ, Basis.CODE"):
        check_row(replace(row, basis="paper"), "a file")  # type: ignore[arg-type]


def test_a_capsule_of_an_old_name_finds_the_offer_of_the_new_one() -> None:
    old, new = (Offer("k-gt", "trace", name) for name in ("liu-2024", "zero-start"))
    assert _first_named(new) == _first_named(old) == old
    unknown = Offer("nobodys", "server", "liu-2024")
    assert _first_named(unknown) is unknown
