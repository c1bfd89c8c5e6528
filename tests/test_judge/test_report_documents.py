"""What the pages show of a run is what the command prints, line by line."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_judge.results import asked, printed, result

from fedspec_suite.measure.verdict import Conformity

ROOT = Path(__file__).resolve().parents[2]
HEAD = next(line for line in printed([result(Conformity.CONFORMS, asked("follows-x"))]) if "reading claimed" in line)


@pytest.mark.parametrize("file", ["docs/reading-a-verdict.md", "docs/subjects.md"])
def test_no_document_shows_another_table(file: str) -> None:
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    heads = [line for line in lines if "reading claimed" in line and "passed" in line]
    assert heads and all(line.split() == HEAD.split() for line in heads)
    assert not [line for line in lines if line.startswith(("each line again", "subject  "))]
