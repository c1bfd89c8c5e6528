"""The action for GitHub's workflows: its form, and its steps as a shell runs them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).resolve().parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS: dict[str, dict[str, Any]] = {step["name"]: step for step in ACTION["runs"]["steps"]}
USED = re.compile(r"\binputs\.([\w-]+)")
RIGHT, WRONG = "py:mine.py:Subject", "py:wrong.py:Subject"
ONE = {"only": "fedavg/server", "profile": "quick"}


def test_it_has_the_form_of_a_composite_action() -> None:
    assert {*ACTION} == {"name", "description", "inputs", "outputs", "runs"}
    assert ACTION["runs"]["using"] == "composite"
    for name, given in ACTION["inputs"].items():
        assert given["description"] and ("default" in given) is not given.get("required", False), name
        assert isinstance(given.get("default", ""), str), name
    for step in STEPS.values():
        assert ("uses" in step) is not ("run" in step) and ("shell" in step) is ("run" in step)
        # What is in such braces would be pasted into the script.
        assert "${{" not in step.get("run", "")


def test_every_input_is_there_and_is_used() -> None:
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    assert {*USED.findall(text)} == {*ACTION["inputs"]}
    assert [name for name, given in ACTION["inputs"].items() if given.get("required")] == ["subject"]


def test_nothing_is_uploaded_unless_asked() -> None:
    uploads = [step for step in STEPS.values() if "upload" in step.get("uses", "")]
    assert [step["if"] for step in uploads] == ["inputs.upload != ''"]
    assert ACTION["inputs"]["upload"]["default"] == ""


def run(
    name: str, folder: Path, path: str, inputs: dict[str, str], outputs: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    """A step as GitHub's runner starts it, in a folder."""
    known = {f"inputs.{n}": given.get("default", "") for n, given in ACTION["inputs"].items()}
    known |= {f"inputs.{n}": value for n, value in inputs.items()} | {"github.action_path": str(ROOT)}
    known |= {f"steps.judge.outputs.{n}": value for n, value in outputs.items()}
    given = {n: known[re.fullmatch(r"\$\{\{ (.*) \}\}", v)[1]] for n, v in STEPS[name]["env"].items()}  # type: ignore[index]
    files = {f"GITHUB_{n}": str(folder / n) for n in ("OUTPUT", "STEP_SUMMARY")}
    script = folder / "step.sh"
    script.write_text(STEPS[name]["run"], encoding="utf-8")
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]
    env = {**os.environ, **given, **files, "PATH": f"{path}:{os.environ['PATH']}"}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)


def judged(folder: Path, **inputs: str) -> tuple[dict[str, str], int]:
    """What the step that judges puts out, and how the last step ends."""
    mine = (ROOT / "examples" / "mine.py").read_text(encoding="utf-8")
    (folder / "mine.py").write_text(mine, encoding="utf-8")
    (folder / "wrong.py").write_text(mine.replace("+ self.h", "- self.h"), encoding="utf-8")
    path = str(Path(sys.executable).parent)
    ran = run("Judge", folder, path, {**ONE, **inputs}, {})
    assert ran.returncode == 0, ran.stderr
    outputs = dict(line.split("=", 1) for line in (folder / "OUTPUT").read_text(encoding="utf-8").splitlines())
    return outputs, run("Verdict", folder, path, {}, outputs).returncode


def test_it_writes_a_report_and_a_summary_and_ends_as_the_check_does(tmp_path: Path) -> None:
    good, bad = tmp_path / "a b", tmp_path / "bad"
    for folder in (good, bad):
        folder.mkdir()
    assert judged(good, subject=RIGHT) == ({"code": "0", "folder": "fedspec-report"}, 0)
    assert judged(bad, subject=WRONG, report="report.html") == ({"code": "1", "folder": "."}, 1)
    assert {p.name for p in (good / "fedspec-report").iterdir()} == {
        *("index.html", "results.jsonl", "fedspec.md", "badge.json")
    }
    assert "1 of 1 offer conforms." in (good / "STEP_SUMMARY").read_text()
    assert "<h1>0 of 1 offer conforms, 1 does not.</h1>" in (bad / "report.html").read_text()
    assert json.loads((bad / "badge.json").read_text())["message"] == "deviates"


def test_an_input_is_no_part_of_the_script(tmp_path: Path) -> None:
    evil = """$(touch there) "; touch there; ' `touch there` --help"""
    outputs, code = judged(tmp_path, subject=evil, only=evil, expectations="")
    assert (outputs["code"], code) == ("2", 2)
    assert {p.name for p in tmp_path.iterdir()} >= {"fedspec-report", "OUTPUT"}
    assert not (tmp_path / "there").exists() and not (tmp_path / "STEP_SUMMARY").exists()


def test_expected_failures_are_heeded(tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text('[[expect]]\noffer = "fedavg/server"\nreason = "known"\nlaw = "f*"\n')
    outputs, _ = judged(tmp_path, subject=WRONG, expectations="e.toml")
    assert outputs["code"] == "1" and "xfail" in (tmp_path / "fedspec-report" / "results.jsonl").read_text()


@pytest.mark.outside
def test_it_installs_the_command(tmp_path: Path) -> None:
    venv.create(tmp_path / "new", with_pip=True)
    path = str(tmp_path / "new" / "bin")
    ran = run("Install", tmp_path, path, {"requirements": "numpy<2.4  rich"}, {})
    assert ran.returncode == 0, ran.stderr
    for name, told in (("fedspec", "fedspec 0"), ("python", "Python")):
        assert subprocess.run(
            [f"{path}/{name}", "--version"], capture_output=True, text=True, check=False
        ).stdout.startswith(told)
    (numpy,) = (tmp_path / "new").rglob("numpy-*.dist-info")
    assert numpy.name < "numpy-2.4"


def test_the_page_shows_it() -> None:
    page = (ROOT / "docs" / "in-your-ci.md").read_text(encoding="utf-8")
    (block,) = [b for b in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL) if "uses:" in b]
    assert len(block.splitlines()) == 3
    (step,) = yaml.safe_load(block)
    assert {*step["with"]} <= {*ACTION["inputs"]} and "fedspec@" in step["uses"]
    for name in ACTION["inputs"]:
        assert f"`{name}`" in page, name
