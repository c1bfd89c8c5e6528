"""docs/answers.md: its sections are counted, cite a thread each, and every command in them can be given."""

from __future__ import annotations

import re
import runpy
import shlex
from pathlib import Path

import pytest
import typer
from test_judge.support import ROOT, fedspec

from fedspec_suite.cli.app import app
from fedspec_suite.subjects import environments

TEXT = (ROOT / "docs" / "answers.md").read_text(encoding="utf-8")
COUNT, NAMES = 22, 3
"""Number of questions, and of those at the beginning that are about names alone and cite no thread."""
COMMANDS = [shlex.split(line)[1:] for line in re.findall(r"^\$ (fedspec .*)$", TEXT, re.M)]
OWN = "examples/asked.py:ADAPTER"


def test_they_are_counted_and_each_cites_a_thread() -> None:
    sections = re.split(r"^### ", TEXT, flags=re.M)[1:]
    assert [int(section.split(".")[0]) for section in sections] == list(range(1, COUNT + 1))
    assert all("\n$ " in section for section in sections)
    for section in sections[NAMES:]:
        assert re.search(r"^[\w-]+/[\w-]+, (issue|pull request) \d+ \(\w+ 20\d\d, ", section, re.M), section[:80]
    assert TEXT.startswith("# Twenty-two questions")
    assert "[answers](docs/answers.md)" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_table_says_where_each_group_stands() -> None:
    groups = re.split(r"^## ", TEXT, flags=re.M)
    table = re.findall(r"^\| \[(.*)\]\(#(.*)\) \| (\d+) (?:to|and) (\d+) \|$", groups[0], re.M)
    numbers = [re.findall(r"^### (\d+)\.", group, re.M) for group in groups[1:]]
    titles = [group.splitlines()[0] for group in groups[1:]]
    assert table == [(t, t.lower().replace(" ", "-"), n[0], n[-1]) for t, n in zip(titles, numbers, strict=True)]


def test_what_is_asked_about_is_driven() -> None:
    asked = runpy.run_path(str(ROOT / "examples" / "asked.py"))["ADAPTER"].info.claims
    offers = [f"{offer.variant}:{offer.algorithm}" for offer in asked]
    assert sorted(offers) == sorted(words[3] for words in COMMANDS if words[1] == OWN)
    for variant in {offer.variant for offer in asked}:
        assert f"\n$ sed -n '/^def {variant.replace('-', '_')}/,/^$/p' examples/asked.py\n" in TEXT


MENDED = {
    'h["eta"] * sum(deltas) / len(deltas)': 'h["eta"] * sum(n_i / sum(n) * d for n_i, d in zip(n, deltas))',
    'kept["m"] ** 2': "delta ** 2",
    "(sum(models) - x)": "(sum(models) - len(models) * x)",
    "    anchor = x\n": "",
    'h["mu"] / 2 * away / (np.linalg.norm(away) or 1)': 'h["mu"] * away',
    "/ sum(s)": "/ len(s)",
}
"""Right text by the wrong text of each rule."""


@pytest.mark.slow
def test_each_is_wrong_where_the_page_says_and_nowhere_else(tmp_path: Path) -> None:
    text = (ROOT / "examples" / "asked.py").read_text(encoding="utf-8")
    for wrong, right in MENDED.items():
        assert text.count(wrong) == 1, wrong
        text = text.replace(wrong, right)
    (tmp_path / "mended.py").write_text(text, encoding="utf-8")
    rows = fedspec("identify", f"py:{tmp_path / 'mended.py'}:ADAPTER", "--json").rows
    others = [row["algorithm"] for row in rows if not row["follows"]]
    assert len(rows) == len(MENDED) + 2 and others == ["fedavgm"]


@pytest.mark.table(3)
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_can_be_given(words: list[str]) -> None:
    command = typer.main.get_command(app)
    rest = list(words)
    while hasattr(command, "commands"):
        command = command.get_command(None, rest.pop(0))
    parameters = command.make_context("fedspec", rest).params
    names = parameters.get("implementations") or ()
    assert set(names) <= {OWN, *environments.bundled()}
