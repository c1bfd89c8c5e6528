"""The table of the papers' statements: complete, and every law, test and proof that it names is there."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

import fedspec_properties
from fedspec.catalogue import CATALOGUE
from fedspec.costs import SYMBOLS, floats
from fedspec.errors import FedspecError, UnknownNameError
from fedspec.papers import PAPERS
from fedspec_proofs.ledger import claims
from fedspec_properties.invariants import BEYOND, INVARIANTS, Invariant, of_paper, read, rows
from fedspec_suite import laws
from fedspec_suite.laws import all_laws

ROOT = Path(__file__).resolve().parents[2]
COUNTS = {"fedada2": 34, "fed-lamb": 33, "afga": 39, "client-centric": 37, "fednova": 44}
"""Number of statements of each paper."""

each = pytest.mark.parametrize("v", INVARIANTS, ids=lambda v: v.id)


@cache
def named_in(path: str) -> frozenset[str]:
    """The tests of a file as they are named behind its path, without running it."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    names = set()
    for node in tree.body:
        inside = node.body if isinstance(node, ast.ClassDef) else [node]
        prefix = f"{node.name}::" if isinstance(node, ast.ClassDef) else ""
        names |= {prefix + f.name for f in inside if isinstance(f, ast.FunctionDef) and f.name.startswith("test_")}
    return frozenset(names)


@pytest.mark.parametrize("paper", PAPERS)
def test_no_number_is_left_out(paper: str) -> None:
    assert [v.number for v in of_paper(paper)] == list(range(1, COUNTS[paper] + 1))


@pytest.mark.table(10)
@each
def test_what_looks_after_it_is_there(v: Invariant) -> None:
    assert v.says.endswith(".") and v.source
    assert v.covered or v.why, "neither law, test nor proof, nor a reason"
    for law in v.laws:
        assert rows(law), f"{law} is asked of nothing that the specification offers"
        assert not all_laws()[law].reads_rule, f"{law} is the rule, not a statement about it"
    for test in v.tests:
        path, _, name = test.partition("::")
        assert name in named_in(path), f"{path} has no {name}"
    assert set(v.proofs) <= set(claims())
    for cited in (v.laws, v.tests, v.proofs):
        assert len(set(cited)) == len(cited)
    assert bool(v.equations) is bool(v.laws)


def test_every_law_is_cited_or_is_for_something_else() -> None:
    cited = {law for v in INVARIANTS for law in v.laws}
    others = [law for b in BEYOND for law in b.laws]
    assert len(set(others)) == len(others) and all(b.why for b in BEYOND)
    assert set(others) <= set(all_laws()), f"no such law: {set(others) - set(all_laws())}"
    assert not cited & set(others), f"cited, so not beyond: {cited & set(others)}"
    missing = [w.id for w in all_laws().values() if not w.reads_rule and w.id not in cited and w.id not in others]
    assert not missing, f"cite them in invariants.toml, or say under [[beyond]] what they are for: {missing}"


def test_no_law_hides_another() -> None:
    """Laws are kept by id: two of one id would be one."""
    modules = [m for room in (laws, fedspec_properties) for m in vars(room).values() if isinstance(m, ModuleType)]
    joined = [m.LAWS for m in modules if isinstance(getattr(m, "LAWS", None), tuple)]
    assert sum(map(len, joined)) == len(all_laws())


def test_a_table_that_cannot_be_read_says_why() -> None:
    with pytest.raises(FedspecError, match=r"no paper is called 'fedlamb'; known: fedada2"):
        read("[[fedlamb]]\nnumber = 1\n")
    with pytest.raises(FedspecError, match=r"afga\.1: .*'saus'"):
        read("[[afga]]\nnumber = 1\nsaus = 'x'\n")
    with pytest.raises(FedspecError, match=r"afga\.1: .*missing.*'source'"):
        read("[[afga]]\nnumber = 1\nsays = 'x'\n")
    with pytest.raises(UnknownNameError, match="no invariants of 'gravity'"):
        of_paper("gravity")


def test_traffic_beside_fedavg() -> None:
    """FedAda2 sends what FedAvg does, direct joint adaptivity 3/2 of it; AFGA's server what FedAMSGrad's does."""
    sizes = {**dict.fromkeys(SYMBOLS, 7), "d": 100, "m": 3}
    down, up = ({i: floats(getattr(a.costs, way), sizes) for i, a in CATALOGUE.items()} for way in ("down", "up"))
    for one, other in (("fedada2", "fedavg"), ("afga", "fedamsgrad"), ("cafga", "fedamsgrad")):
        assert (down[one], up[one]) == (down[other], up[other])
    assert 2 * (down["joint-direct"] + up["joint-direct"]) == 3 * (down["fedavg"] + up["fedavg"])
