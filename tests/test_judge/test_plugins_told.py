"""What the author of an own algorithm is told where something is amiss: whose fault it is, and what to write."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_judge.support import with_own


@pytest.fixture
def gossip(tmp_path: Path) -> Path:
    """The file of a gossip method, as `fedspec new` writes it."""
    assert with_own("new", "my-gossip", "--kind", "gossip", cwd=tmp_path).code == 0
    return tmp_path / "my_gossip.py"


def changed(file: Path, old: str, new: str) -> None:
    """Change one piece of a file."""
    text = file.read_text(encoding="utf-8")
    assert text.count(old) == 1, (old, text.count(old))
    file.write_text(text.replace(old, new), encoding="utf-8")


OWN = ("--plugin", "my_gossip.py")


def test_a_row_without_a_vector_is_refused_and_nothing_is_written(gossip: Path) -> None:
    changed(gossip, "MUTANTS = (", "UNREAD = (")
    done = with_own("vectors", "make", "my-gossip", "--folder", "made", "--jobs", "1", *OWN, cwd=gossip.parent)
    done.refused("my-gossip has none", "MUTANTS")
    assert not (gossip.parent / "made").exists()


def test_a_mistake_that_no_law_was_asked_about_is_not_laid_at_its_authors_door(gossip: Path) -> None:
    asked = ("mutants", "run", "my-gossip-undamped", "--law", "unrolled", "--jobs", "1")
    done = with_own(*asked, *OWN, cwd=gossip.parent)
    assert done.code == 1 and "no law was asked about it; why not: is about level client and server" in done.out
    assert "second route" not in done.out and "killed none" not in done.out, done.out
