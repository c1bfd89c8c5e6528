"""Words of what the command prints: an adapter claims, and fedspec runs checks; earlier names are still read."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_judge.results import printed
from test_judge.support import ROOT, fedspec, inside
from test_judge.test_report_verdicts import MANY

from fedspec import contract
from fedspec.serve import load
from fedspec.wire import decode_info, encode
from fedspec_suite.cli.manual import COMMANDS, loaded
from fedspec_suite.measure.verdict import Result

FORMER = re.compile(r"\b((?i:offer(s|ed|ing)?|obligations?|subjects?|shims?)|IMPL)\b")
SINGULAR = re.compile(r"\b1 (checks|claims|cases|laws|files|rounds|clients|parameters)\b")
MINE = (ROOT / "examples/mine.py").read_text(encoding="utf-8")
ADAPTERS = {
    "skipping": MINE,
    "wrong": MINE.replace("+ self.h", "- self.h"),
    "silent": MINE.replace("        n = sum", "        raise KeyError('lr')\n        n = sum"),
}
CODES = {"skipping": 0, "wrong": 1, "silent": 2}


def helps() -> Iterator[tuple[str, ...]]:
    """Every command, and every command of a command."""
    yield ()
    for name in COMMANDS:
        yield (name,)
        yield from ((name, inner) for inner in getattr(loaded(name), "commands", ()))


def test_no_help_and_no_law_uses_a_former_word() -> None:
    assert not FORMER.findall(inside("laws", "--details").out)
    for words in helps():
        ran = inside(*words, "--help")
        assert ran.code == 0 and "Usage: fedspec" in ran.out
        assert not FORMER.findall(ran.out), words


@pytest.mark.parametrize("details", [False, True])
@pytest.mark.parametrize("r", MANY)
def test_no_table_uses_a_former_word(r: Result, details: bool) -> None:
    text = "\n".join(printed([r], details=details))
    assert not FORMER.findall(text) and not SINGULAR.findall(text), text


@pytest.fixture(params=ADAPTERS)
def adapter(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / f"{request.param}.py"
    path.write_text(ADAPTERS[request.param], encoding="utf-8")
    assert ADAPTERS["wrong"] != MINE != ADAPTERS["silent"]
    return path


def test_no_output_of_a_check_uses_a_former_word(adapter: Path) -> None:
    few = ("--profile", "quick", "--jobs", "1", "--rounds", "3", "--clients", "3", "--dim", "9", "--law", "follows-*")
    files = ("--report", "r.md", "--report", "r.html", "--report", "r.xml", "--report", "r.jsonl")
    for more in ((*files, "--details"), ("-q",)):
        ran = fedspec("check", adapter.name, *few, *more, cwd=adapter.parent, explained=False, cases=2)
        assert ran.code == CODES[adapter.stem], ran
        assert not FORMER.findall(ran.out + ran.err) and not SINGULAR.findall(ran.out + ran.err), ran
    for name in ("r.md", "r.html", "r.xml"):
        text = re.sub(
            r"<style>.*?</style>|<[^>]*>", " ", (adapter.parent / name).read_text(encoding="utf-8"), flags=re.S
        )
        assert not FORMER.findall(text) and not SINGULAR.findall(text), name
    for command in (("report", "r.jsonl"), ("report", "--compare", "r.jsonl", "r.jsonl")):
        assert not FORMER.findall(fedspec(*command, cwd=adapter.parent).out)


@pytest.mark.slow
def test_the_command_below_the_table_runs_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text(ADAPTERS["wrong"], encoding="utf-8")
    program = Path(sys.executable).with_name("fedspec")
    words = [str(program), "check", "wrong.py", "--law", "follows-x", "--no-name", "--profile", "quick", "--dim", "9"]
    bare = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    ran = subprocess.run(words, cwd=tmp_path, env=bare, capture_output=True, text=True, check=False)
    (line,) = (line for line in ran.stdout.splitlines() if line.startswith("again: "))
    assert shlex.split(line)[1] == str(program)
    words = ["sh", "-c", f"{line.removeprefix('again: ')} --no-name -q"]
    again = subprocess.run(words, cwd=tmp_path, env=bare, capture_output=True, text=True, check=False)
    assert (ran.returncode, again.returncode) == (1, 1) and again.stdout.count("does not conform") == 1, again


def test_an_adapter_of_former_names_is_read_as_one_of_today(tmp_path: Path) -> None:
    today = contract.Info("a", "1", (contract.Claim("fedavg", "server"),))
    before = contract.SubjectInfo(name="a", version="1", offers=(contract.Offer("fedavg", "server"),))
    assert before == today and before.offers == today.claims and contract.Subject is contract.Adapter
    sent: dict[str, Any] = json.loads(json.dumps(encode(today)))
    assert "offers" not in sent
    assert decode_info({"offers" if name == "claims" else name: said for name, said in sent.items()}) == today
    old = MINE.replace("Claim", "Offer").replace("Info", "SubjectInfo").replace("Adapter", "Subject")
    (tmp_path / "old.py").write_text(old, encoding="utf-8")
    assert load(f"{tmp_path / 'old.py'}").info.claims[0].algorithm == "fedavg"


def test_a_command_keeps_its_former_name() -> None:
    assert inside("subjects", "--json").rows == inside("packages", "--json").rows
