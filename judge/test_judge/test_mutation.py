"""Edits of the specification by a mutation tool, with the vectors alone as tests: a sample of ``make mutate``."""

from __future__ import annotations

import fnmatch
import gc
import sys
import tomllib
import weakref
from functools import cache
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

import mutate
from mutation import playing
from mutation.edits import REFUSAL, SIGNATURE, TABLE, Edit, edits, functions, modules
from mutation.playing import KILLED, Fate, Ready, fate, reaching, ready

pytestmark = pytest.mark.slow


@cache
def vectors() -> list[Ready]:
    # Functions are found among all that lives, and what the tests have frozen is not told there.
    gc.unfreeze()
    return ready(["sgd", "sm3-i", "fedavg"])


def one(module: str, shown: str) -> Edit:
    (found,) = [e for e in edits(module) if not e.left_out and e.shown == shown]
    return found


def test_what_is_gone_is_passed_by() -> None:
    """A proxy outlives what it stands for, and is among what the process holds."""
    gone = weakref.proxy(lambda: None)
    gc.unfreeze()
    playing._living.cache_clear()
    assert playing._living()[0] and gone is not None


def test_an_edit_that_gives_other_numbers_is_killed_and_stays_in_its_child() -> None:
    edit = one("fedspec.client.sgd", "return x - eta_l * g  ->  return x + eta_l * g")
    among = reaching(edit, vectors())
    assert {r.vector["case"]["algorithm"] for r in among} >= {"sgd"}
    assert fate(edit, among) is Fate.OTHER
    # The specification of this process is as it was.
    assert len(ready(["sgd"])) == sum(r.vector["case"]["algorithm"] == "sgd" for r in vectors())


def test_an_edit_that_changes_nothing_survives() -> None:
    (edit,) = [e for e in edits("fedspec.mixing.weighted") if "UNIFORM: [ 2]" in e.shown]
    among = reaching(edit, vectors())
    assert among and fate(edit, among) is Fate.SURVIVES
    assert mutate.why(edit, mutate.explained()) and not mutate.why(edit, {})


def test_a_sample_is_killed() -> None:
    (module, found, _) = next(mutate.chosen(["fedspec.client.sm3"], 6, 0))
    assert module == "fedspec.client.sm3" and len(found) == 6
    reasons = mutate.explained()
    fates = [mutate.look(e, vectors()) for e in found if reaching(e, vectors()) and not mutate.why(e, reasons)]
    assert len(fates) > 2 and set(fates) <= {*KILLED, Fate.NO_EDIT}


def test_what_no_vector_could_show_is_left_out_by_rule() -> None:
    def reasons(module: str) -> set[str]:
        return {e.left_out for e in edits(module)}

    assert reasons("fedspec.mixing.gossip") == {"", REFUSAL}
    assert SIGNATURE in reasons("fedspec.mixing.nova") and TABLE in reasons("fedspec.algorithms.fedavgm")
    for edit in edits("fedspec.client.sgd"):
        assert edit.left_out or edit.function


def test_every_explanation_is_about_functions_that_there_are() -> None:
    rows = tomllib.loads(mutate.EXPLAINED.read_text(encoding="utf-8"))["survivor"]
    there = {f"{m}.{f}" for m in modules() for f in functions(m)}
    for row in rows:
        assert set(row) <= {"functions", "edits", "reason"} and len(row["reason"].split()) > 3, row
        for name in row["functions"]:
            assert fnmatch.filter(there, name), name


def test_the_command_fails_where_a_survivor_is_not_explained(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(mutate, "ready", vectors)
    monkeypatch.setattr(sys, "argv", ["mutate.py", "fedspec.mixing.scaled", "--sample", "2"])
    assert mutate.main() in (0, 1)
    (tmp_path / "none.toml").write_text("survivor = []")
    monkeypatch.setattr(mutate, "EXPLAINED", tmp_path / "none.toml")
    monkeypatch.setattr(mutate, "look", lambda edit, among: str(Fate.SURVIVES))
    assert mutate.main() == 1
    assert "survives: fedspec.mixing.scaled." in capsys.readouterr().out
