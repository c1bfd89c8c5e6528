"""The examples of the guide: every one is judged and conforms, and the guide links to it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from test_judge.support import FEW, ROOT, fedspec

from fedspec.catalogue import CATALOGUE

pytestmark = [pytest.mark.slow, pytest.mark.table(1)]

GUIDE, FIELDS = ROOT / "docs" / "subjects.md", ROOT / "docs" / "fields.md"
PYTHON = ("momentum_client", "fedadam_server", "fednova_round", "gossip_trace", "async_trace")


def judged(subject: str) -> None:
    ran = fedspec("check", subject, "--profile", "quick", "--jobs", "1", "--json", cwd=ROOT, cases=FEW)
    assert ran.code == 0, ran
    (row,) = ran.rows
    assert row["verdict"] == "conforms" and row["passed"] == row["required"] > 0


@pytest.mark.parametrize("name", PYTHON)
def test_an_example_conforms(name: str) -> None:
    judged(f"py:examples/{name}.py:ADAPTER")


def test_the_smallest_example_conforms() -> None:
    judged("py:examples/mine.py:Adapter")


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")
def test_the_example_in_javascript_conforms() -> None:
    judged("cmd:node examples/fedavg.mjs")


def test_the_guide_prints_the_smallest_example_and_links_to_one_of_each_level() -> None:
    guide = GUIDE.read_text(encoding="utf-8")
    code, _ = (ROOT / "examples/mine.py").read_text(encoding="utf-8").split("\n\n\n# ruff")
    assert code in guide
    assert all(f"](../examples/{name}.py)" in guide for name in PYTHON)


def test_the_tables_explain_every_intermediate() -> None:
    """Each by its name, in the table of intermediates."""
    table = FIELDS.read_text(encoding="utf-8").partition("| intermediate | meaning")[2].partition("\n\n")[0]
    firsts = "".join(row.split(" | ")[0] for row in table.splitlines())
    assert {name for a in CATALOGUE.values() for name in a.shows} <= set(re.findall(r"`([^`]+)`", firsts))


def test_every_adapter_of_the_folder_is_judged() -> None:
    """Compare the adapters of the folder with the ones that tests judge.

    docs/answers.md runs ``asked``; the pages of the tutorial, of buffers and of internal rounding run the other ones.
    """
    adapters = {p.stem for p in (ROOT / "examples").glob("*.py") if "Info(" in p.read_text(encoding="utf-8")}
    assert adapters == {*PYTHON, "asked", "mine", "my_fedadam", "torch_adam", "outer_step", "state_dict", "torch_muon"}


def test_what_the_readme_says_of_torchs_adam(tmp_path: Path) -> None:
    """Offered as what README's block says that it is, it conforms."""
    text = (ROOT / "examples/torch_adam.py").read_text(encoding="utf-8")
    offered = text.replace(
        '"reddi-2021", {"weights": "examples"}', '"kingma-ba", {"weights": "examples"}, fixed={"v0": 0.0}'
    )
    assert offered != text
    (tmp_path / "torch_adam.py").write_text(offered)
    judged(f"py:{tmp_path / 'torch_adam.py'}:Adapter")
