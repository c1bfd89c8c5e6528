"""Every ``$`` block of every page is run, at one width, and what the page shows below it is printed, line by line.

``scripts/pages.py`` writes the pages anew.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest
from test_judge.support import inside, with_own

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

import pages

BLOCKS = [block for page in pages.pages() for block in pages.blocks(page)]
SHELL = "|&;<>()$`\\#~*?[]{}\n"
"""Characters of a command that only a shell would read."""
AT_ONCE = [block for block in BLOCKS if block.at_once]


def test_every_prompt_stands_in_a_block() -> None:
    for page in pages.pages():
        prompts = [line for line in (pages.ROOT / page).read_text(encoding="utf-8").splitlines() if line[:2] == "$ "]
        assert len(prompts) == sum(len(block.steps) for block in pages.blocks(page)), page


def test_no_page_shows_a_traceback_or_a_place_of_a_machine() -> None:
    for page in pages.pages():
        text = (pages.ROOT / page).read_text(encoding="utf-8")
        assert "Traceback (most recent" not in text and str(pages.ROOT) not in text, page


def test_what_a_block_needs_is_made_before() -> None:
    (replay,) = [block for block in BLOCKS if block.steps[0].command.startswith("fedspec replay kept/")]
    assert [command.split()[0] for command in replay.before] == ["sed", "fedspec"]


def started(command: str, folder: Path) -> list[str]:
    """``pages.run``, but a command of fedspec alone is one of a process that has imported what it needs."""
    words = shlex.split(command)
    if words[0] != "fedspec" or set(command) & set(SHELL):
        return pages.run(command, folder)
    return pages.lines(with_own(*words[1:], cwd=folder, env=pages.SEEN).out)


@pytest.mark.table(1)
@pytest.mark.parametrize("block", AT_ONCE, ids=str)
def test_what_a_page_shows_is_printed(block: pages.Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(pages.WIDTH))
    monkeypatch.chdir(tmp_path)
    pages.furnish(tmp_path, block)
    for step in block.steps:
        if step.command.startswith("fedspec "):
            printed = pages.lines(inside(*shlex.split(step.command)[1:]).out)
        else:
            printed = pages.run(step.command, tmp_path)
        assert not pages.differs(step.shown, printed), "python scripts/pages.py writes the pages anew"


@pytest.mark.table(1)
@pytest.mark.outside
@pytest.mark.parametrize("block", [block for block in BLOCKS if not block.at_once], ids=str)
def test_what_a_page_shows_of_a_verdict_is_printed(block: pages.Block) -> None:
    said = [pages.differs(s.shown, p) for s, p in zip(block.steps, pages.outputs(block, started), strict=True)]
    assert not any(said), "python scripts/pages.py writes the pages anew"


PRINTED = (
    "head",
    "",
    "one",
    "two",
    "took 12 s",
    "three",
    "looked at 1,234 of 5,678 candidates",
    "then; looked at 12",
    " of 3,456 candidates",
    "fedavg conforms   44/44",
    "fedavg fails   44/54",
    "end",
)


@pytest.mark.parametrize(
    "shown",
    [
        PRINTED,
        ("head", "...", "one", "two", "...", "end"),
        ("...", "took 3.5 s", "three", "..."),
        ("...", "three", "looked at 9 of 10,000 candidates", "...", "end"),
        ("...", "then; looked at 1,200", " of 9 candidates", "fedavg conforms   42/42", "fedavg fails   44/54", "end"),
        ("head", "", "one", "two", "took 900 s", "  ...", "end"),
    ],
)
def test_what_is_shown_and_printed(shown: tuple[str, ...]) -> None:
    assert not pages.differs(shown, PRINTED)
    assert pages.renewed(shown, PRINTED) == list(shown)


@pytest.mark.parametrize(
    "shown",
    [
        PRINTED[:-1],
        PRINTED[1:],
        ("head", "...", "two", "one", "...", "end"),
        ("head", "...", "two", "...", "one", "...", "end"),
        ("head", "...", "one", "took 12 s", "...", "end"),
        ("head", "...", "another", "...", "end"),
        ("head", "...", "two", "two", "...", "end"),
        ("...", "fedavg conforms   43/44", "..."),
        ("...", "fedavg fails   44/55", "..."),
    ],
)
def test_what_is_shown_and_not_printed(shown: tuple[str, ...]) -> None:
    assert pages.differs(shown, PRINTED)


def test_what_is_left_out_stays_so() -> None:
    shown = ["a head of five words", "...", "the second line says that all of it holds", "..."]
    printed = ["a head of five", "words", "", "first", "the second line says that", "half of it holds", "last", "more"]
    want = ["a head of five", "words", "...", "the second line says that", "half of it holds", "..."]
    assert pages.renewed(shown, printed) == want
    assert pages.renewed(["old", "lines"], ["new"]) == ["new"]
