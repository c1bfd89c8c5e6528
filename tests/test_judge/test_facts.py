"""Laws, judge, pages and commands select algorithms by facts: ids stand only where these are described one by one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from fedspec.catalogue import CATALOGUE
from fedspec.facts import READ_OFF, Fact

JUDGE = Path(__file__).resolve().parents[2] / "judge"
PROPERTIES, SUITE = JUDGE / "fedspec_properties", JUDGE / "fedspec_suite"
GENERIC = ("../fedspec_properties", "measure", "laws", "diagnosis", "judge", "kills", "report", "cli")
ONE_BY_ONE = (PROPERTIES / "closed_forms", PROPERTIES / "reductions")
"""Closed forms and edges are data of single algorithms."""


def ids(tree: ast.AST) -> Iterator[str]:
    """The string literals that are ids of the catalogue."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in CATALOGUE:
            yield f"line {node.lineno}: {node.value}"


@pytest.mark.table(1)
@pytest.mark.parametrize("room", GENERIC)
def test_no_generic_file_names_an_algorithm(room: str) -> None:
    paths = [
        p for p in (SUITE / room).resolve().rglob("*.py") if not any(p.is_relative_to(folder) for folder in ONE_BY_ONE)
    ]
    assert paths
    for path in paths:
        assert not list(ids(ast.parse(path.read_text(encoding="utf-8")))), path.relative_to(JUDGE)


def test_the_scan_sees_ids() -> None:
    assert list(ids(ast.parse('if name == "fedavg" or name in {"afga", "other"}: pass'))) == [
        "line 1: fedavg",
        "line 1: afga",
    ]


@pytest.mark.parametrize("fact", Fact)
def test_every_fact_sets_some_algorithms_apart(fact: Fact) -> None:
    having = {i for i, a in CATALOGUE.items() if a.has(fact)}
    assert having and having != set(CATALOGUE)


def test_no_row_says_what_can_be_read_off() -> None:
    for a in CATALOGUE.values():
        assert not set(a.facts) & set(READ_OFF), a.id
        assert len(set(a.facts)) == len(a.facts), a.id
