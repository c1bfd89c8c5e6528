"""Contributed files: each is listed, says its witness, conforms, and its mistakes are seen by what is no text of it."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_judge.support import ROOT, with_own

FOLDER = ROOT / "examples" / "contrib"
FILES = sorted(FOLDER.glob("*.py"))
LISTED = re.findall(
    r"^\| \[`(\w+\.py)`\]\((\w+\.py)\) \| `([\w-]+)`.*\|$", (FOLDER / "README.md").read_text(encoding="utf-8"), re.M
)

every = pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])

ROUTES = ("--law", "unrolled", "--law", "peers-unrolled", "--law", "affine-round")
"""The laws that hold a rule to the second route of its file."""


def module(file: Path) -> Any:
    from fedspec.plugins import load

    return load(str(file))


def test_what_is_there_is_listed_and_nothing_else() -> None:
    assert FILES and [name for name, _, _ in LISTED] == [file.name for file in FILES]
    assert all(name == link for name, link, _ in LISTED)
    assert [id for _, _, id in LISTED] == [module(file).ROW.id for file in FILES]


def test_no_id_is_one_of_the_catalogue() -> None:
    from fedspec.catalogue import ALIASES, CATALOGUE

    ids = {module(file).ROW.id for file in FILES}
    assert len(ids) == len(FILES) and not ids & {*CATALOGUE, *ALIASES}


@every
def test_it_does_its_duties(file: Path) -> None:
    m = module(file)
    witness = m.__doc__.partition("Witness:")[2]
    assert re.search(r"[\w-]+/[\w.-]+\s+\(", witness) and re.search(r"\bat [0-9a-f]{7}\b", witness)
    assert re.search(r"arXiv \d{4}\.\d{5}", m.__doc__)
    assert sum(m.ROW.id in getattr(m, name, {}) for name in ("STEPS", "MOVES", "MAPS")) == 1
    assert len(m.MUTANTS) >= 2 and m.ROW.traps and m.ROW.readings
    # What mixing hides from the mean is all that may go unseen.
    assert [wrong.id for wrong in m.MUTANTS if wrong.survives] == [*(["qg-dsgdm-local"] if "qg" in file.stem else [])]


@every
def test_its_edges_are_in_the_table(file: Path) -> None:
    m = module(file)
    (line,) = (
        text for text in (FOLDER / "README.md").read_text(encoding="utf-8").splitlines() if f"({file.name})" in text
    )
    for edge in getattr(m, "EDGES", ()):
        assert f"`{edge.target}`" in line
        assert all(f"{name} = {value:g}" in line for name, value in edge.values.items())


@pytest.mark.slow
@pytest.mark.table(1)
@every
def test_it_conforms(file: Path) -> None:
    more = ("--only", module(file).ROW.id, "--profile", "quick", "--jobs", "1", "--json", "--plugin", str(file))
    judged = with_own("check", "spec", *more, cwd=ROOT, cases=2)
    assert judged.code == 0, judged.out + judged.err
    assert {row["verdict"] for row in json.loads(judged.out)} == {"conforms"}


@pytest.mark.table(1)
@every
def test_its_second_route_sees_its_mistakes(file: Path) -> None:
    m = module(file)
    asked = with_own(
        "mutants", "run", f"{m.ROW.id}-*", "--json", "--jobs", "1", *ROUTES, "--plugin", str(file), cwd=ROOT
    )
    assert asked.code == 0, asked.out + asked.err
    seen = {row["id"]: bool(row["killed"]) for row in json.loads(asked.out)}
    assert seen == {wrong.id: not wrong.survives for wrong in m.MUTANTS}


@pytest.mark.table(1)
@pytest.mark.outside
@every
def test_the_mirror_of_it_conforms(file: Path) -> None:
    row = module(file).ROW.id
    more = ("--only", row, "--profile", "quick", "--law", "follows-*", "--jobs", "1", "--plugin", str(file))
    judged = with_own("check", "torch", *more, cwd=ROOT)
    assert judged.code == 0, judged.out + judged.err


def numbers(*xs: object) -> Any:
    return np.array([Fraction(str(x)) for x in xs])


def test_qg_dsgdm_by_hand() -> None:
    """Two clients at 0 and 4 mix to 2 and stay: the momentum holds that they moved, which no gradient told."""
    m = module(FOLDER / "qg_dsgdm.py")
    half = numbers("1/2", "1/2")
    start = m.State(X=np.stack([numbers(0), numbers(4)]), M=np.stack([numbers(0), numbers(0)]))
    after = m.qg_dsgdm(start, start.M, np.stack([half, half]), eta_l=Fraction(1, 2), rho=0, slow=Fraction(3, 4))
    assert [*after.X[:, 0]] == [2, 2]
    # (0 - 2) and (4 - 2) over the rate 1/2, a quarter of it.
    assert [*after.M[:, 0]] == [-1, 1]


def test_a_tie_moves_nothing() -> None:
    m = module(FOLDER / "majority_vote.py")
    votes = np.stack([numbers(1, 5, 0), numbers(-9, 1, 0), numbers(0, -7, -3)])
    assert [*m.majority(votes)] == [0, 1, -1]
