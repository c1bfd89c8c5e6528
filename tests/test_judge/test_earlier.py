"""Offers written for earlier states of the project conform today, or are told what has changed and what to write.

Each file says at which commit it stood so, or could. What broke one stands under "Changed" in the changelog.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from test_judge.support import SUBJECTS, fedspec

pytestmark = [pytest.mark.slow, pytest.mark.table(1)]

ROOT = Path(__file__).resolve().parents[2]
EARLIER = SUBJECTS / "earlier"
CONFORM = ("mine.py:Subject", "fedadam_server.py:SUBJECT", "fedavg.mjs")
BROKEN = {"delayed.py:SUBJECT": "epoch"}
"""By the hyper-parameter that came later."""

QUICK = ("--profile", "quick", "--jobs", "1")
FEW = 2


def named(file: str) -> str:
    return f"cmd:node {EARLIER / file}" if file.endswith(".mjs") else f"py:{EARLIER / file}"


def test_every_file_says_its_commit_and_is_judged() -> None:
    there = sorted(p.name for p in EARLIER.iterdir() if p.is_file())
    assert there == sorted(file.partition(":")[0] for file in (*CONFORM, *BROKEN))
    heads = [(EARLIER / name).read_text(encoding="utf-8").splitlines()[0] for name in there]
    assert [head for head in heads if " at commit " not in head] == []


@pytest.mark.parametrize("file", CONFORM)
def test_it_conforms(file: str) -> None:
    if file.endswith(".mjs") and shutil.which("node") is None:
        pytest.skip("needs Node.js")
    ran = fedspec("check", named(file), *QUICK, "--json", cases=FEW)
    assert ran.code == 0, ran
    (row,) = ran.rows
    assert row["verdict"] == "conforms" and row["passed"] == row["required"] > 0


@pytest.mark.parametrize("file", BROKEN)
def test_what_broke_it_is_said_with_the_remedy(file: str, tmp_path: Path) -> None:
    later = BROKEN[file]
    remedy = f'fixed={{"{later}": 1}}'
    ran = fedspec("check", named(file), *QUICK, "--law", "follows-*", cases=FEW)
    said = " ".join(ran.out.split())
    assert ran.code == 1 and f"{later} is ignored" in said
    assert f"where {later} cannot be set, or came after the offer was written, offer it with {remedy}" in said
    changed = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").partition("### Changed")[2].partition("\n#")[0]
    assert f"`{later}`" in changed and remedy in changed

    text = (EARLIER / file.partition(":")[0]).read_text(encoding="utf-8")
    (tmp_path / "mended.py").write_text(text.replace("intermediates=", f"{remedy}, intermediates="), encoding="utf-8")
    mended = fedspec("check", "py:mended.py:SUBJECT", *QUICK, "--law", "follows-*", "--json", cwd=tmp_path, cases=FEW)
    assert mended.code == 0 and mended.rows[0]["verdict"] == "asked in part", mended
