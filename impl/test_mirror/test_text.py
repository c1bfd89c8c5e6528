"""Output of ``fedspec show --mirror``: runs enter the parts that it lists, and the tests that it names run the row."""

from __future__ import annotations

import importlib
import inspect
import json
import re
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from test_mirror.federations import TRAINABLE, hyper, quadratic, schedule
from typer.testing import CliRunner

from fedspec.catalogue import Algorithm, Method, find
from fedspec_suite.cli.app import app
from fedspec_torch import simulate
from fedspec_torch.fast_paths import text_parts
from fedspec_torch.sums.asking import sums_of

pytestmark = pytest.mark.table(10)

by_id = pytest.mark.parametrize("row", TRAINABLE, ids=lambda row: row.id)
ROUNDS = 3


def entered(row: Algorithm, **options: Any) -> Counter[str]:
    """The functions that a run enters, by their dotted names; not those that tell which sums a text needs."""
    federation, *_ = quadratic()
    run = simulate(row.id, federation, plan=schedule(row), rounds=ROUNDS, **hyper(row), **options)
    seen: Counter[str] = Counter()
    asking = [0]

    def look(frame: FrameType, event: str, arg: Any) -> None:
        where = frame.f_globals.get("__name__", "")
        if frame.f_code is inspect.unwrap(sums_of).__code__:
            asking[0] += {"call": 1, "return": -1}.get(event, 0)
        if event == "call" and not asking[0] and where.startswith(("fedspec.", "fedspec_torch.")):
            seen[f"{where}.{frame.f_code.co_qualname}"] += 1

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        list(run)
    finally:
        sys.setprofile(before)
    return seen


def deviating_parts(row: Algorithm, seen: Counter[str], **options: Any) -> list[str]:
    """The parts of which a run does otherwise than is said."""
    wrong = []
    for part in text_parts.parts(row, **options):
        mine, other = seen[part.text], seen[part.by]
        if part.what == "what a client does":
            # The text's own clients: functions inside of its steps.
            inside = re.compile(r"fedspec\.algorithms\..*<locals>\..*client")
            mine = sum(n for name, n in seen.items() if inside.fullmatch(name))
        times = (1, ROUNDS - 1) if part.when == text_parts.LATER else (0, ROUNDS)
        # Its text runs the strategies that have no form.
        some = row.id == "fedblended" and part.what == "what a client does"
        as_said = (other == ROUNDS if some else (mine, other) == times) if part.by else mine >= ROUNDS
        if not as_said:
            wrong.append(f"{part.what}: the text {mine} times, {part.by or 'nothing'} {other}")
    return wrong


@by_id
def test_a_run_enters_what_is_said(row: Algorithm) -> None:
    assert text_parts.parts(row) and not deviating_parts(row, entered(row))


@pytest.mark.table(5)
@by_id
def test_the_tests_that_are_named_ask_rows_with_that_text(row: Algorithm) -> None:
    for part in text_parts.parts(row):
        alike = [a.id for a in TRAINABLE if any((p.text, p.by) == (part.text, part.by) for p in text_parts.parts(a))]
        for named in part.held_by:
            file, _, test = named.partition("::")
            function = getattr(importlib.import_module(f"test_mirror.{file.removesuffix('.py')}"), test)
            marks = [mark.args[1] for mark in getattr(function, "pytestmark", ()) if mark.name == "parametrize"]
            asked = str(marks) + inspect.getsource(function).replace('"', "'")
            assert any(repr(name) in asked for name in alike), named


def shown(name: str, *options: str) -> str:
    ran = CliRunner().invoke(app, ["show", name, "--mirror", *options])
    assert ran.exit_code == 0, ran.output
    return ran.output


def test_the_command_says_what_runs_and_what_holds_it() -> None:
    said = " ".join(shown("fedadam").split())
    assert "fast_paths.servers.fedadam" in said and "from the second round on" in said and "fedopt.fedadam" in said
    (row,) = json.loads(shown("fedada2", "--json"))
    first, second = row["mirror"]
    assert first["by"] == "" and first["held_by"] == [text_parts.RUNS]
    assert second["by"] == "fedspec_torch.fast_paths.joint.fedada2_client" and second["held_by"][0] == text_parts.STEPS
    assert "the mirror steps a stack of clients" in " ".join(shown("adam").split())


def test_the_command_says_what_a_server_holds() -> None:
    """Only the part of a server says it; the second server sorts the changes."""
    held = {name: [p["holds"] for p in json.loads(shown(name, "--json"))[0]["mirror"]] for name in ("fedavg", "median")}
    assert held == {"fedavg": ["", "", text_parts.SUM], "median": ["", "", text_parts.STACK]}
    assert f"holds {text_parts.STACK}" in " ".join(shown("median").split())


def test_a_row_of_ones_own_is_the_text_alone() -> None:
    row: Any = find("fedavgm")
    assert isinstance(row.run, Method)

    def server(h: Any, state: Any, messages: Any) -> Any:
        return row.run.server(h, state, messages)

    last = text_parts.parts(replace(row, run=replace(row.run, server=server)))[-1]
    assert last.by == "" and last.text.endswith("server")


def test_the_page_of_precision_has_every_row_that_trains() -> None:
    """The table of docs/precision.md is written by hand-started ``scripts/precision.py``: no row may be missing."""
    page = (Path(__file__).parents[2] / "docs" / "precision.md").read_text(encoding="utf-8")
    table = page.partition("<!-- table -->")[2].partition("<!-- end -->")[0]
    assert re.findall(r"^\| `([a-z0-9-]+)` \|", table, re.MULTILINE) == [row.id for row in TRAINABLE]
