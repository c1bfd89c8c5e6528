"""The action for GitHub's workflows: its form, and its steps as a shell runs them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).resolve().parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS: dict[str, dict[str, Any]] = {step["name"]: step for step in ACTION["runs"]["steps"]}
USED = re.compile(r"\binputs\.([\w-]+)")
RIGHT, WRONG = "py:mine.py:Adapter", "py:wrong.py:Adapter"
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
    assert [name for name, given in ACTION["inputs"].items() if given.get("required")] == ["adapter"]


PINNED = re.compile(r"uses: (?P<action>[\w.-]+/[\w./-]+)@(?P<commit>[0-9a-f]{40}) # v[\d.]+$")


@pytest.mark.parametrize("file", ["action.yml", ".github/workflows/release.yml", "examples/github-actions.yml"])
def test_others_actions_are_pinned_by_commit(file: str) -> None:
    lines = [line.strip() for line in (ROOT / file).read_text(encoding="utf-8").splitlines()]
    used = [line.removeprefix("- ") for line in lines if line.startswith(("uses:", "- uses:"))]
    # The workflow says why, and that it is to be pinned before the first release.
    used = [line for line in used if line != "uses: pypa/gh-action-pypi-publish@release/v1"]
    assert used and all(map(PINNED.fullmatch, used)), [line for line in used if not PINNED.fullmatch(line)]


def test_what_is_installed_first_is_locked() -> None:
    """Every requirement of the command and of what builds it, by hash and in the version of the other tests."""
    lock = (ROOT / "action.lock").read_text(encoding="utf-8")
    hashes = r"((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)"
    entries = re.findall(rf"^([\w.-]+)==(\S+?)(?: ; [^\n]*?)? \\\n{hashes}", lock, re.M)
    lines = [line for line in lock.splitlines() if line and not line.startswith(("#", "    --hash="))]
    assert len(entries) == len(lines)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    needs = [*project["project"]["dependencies"], *project["project"]["optional-dependencies"]["suite"]]
    needs += project["build-system"]["requires"]
    versions = {name.lower(): version for name, version, _ in entries}
    assert {re.split(r"[<>=]", need)[0].lower() for need in needs} <= {*versions}
    pins = dict(re.findall(r"^([\w.-]+)==(\S+)$", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.M))
    pins = {name.lower().replace("_", "-"): version for name, version in pins.items()}
    assert {name: version for name, version in versions.items() if pins.get(name, version) != version} == {}


STUB = """#!/bin/sh
for word; do printf '<%s>' "$word"; done >> "$CALLS"
echo >> "$CALLS"
"""


def installed(folder: Path, requirements: str, monkeypatch: pytest.MonkeyPatch) -> tuple[int, list[str], str]:
    """Exit code, Python calls (a line each) and errors of the step that installs."""
    (folder / "bin").mkdir()
    (folder / "bin" / "python").write_text(STUB)
    (folder / "bin" / "python").chmod(0o755)
    monkeypatch.setenv("CALLS", str(folder / "calls"))
    ran = run("Install", folder, str(folder / "bin"), {"requirements": requirements}, {})
    calls = (folder / "calls").read_text().splitlines() if (folder / "calls").exists() else []
    return ran.returncode, calls, ran.stderr


def test_it_installs_in_three_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, (locked, own, users), _ = installed(tmp_path, "-e .  numpy<2 $(touch there)", monkeypatch)
    assert code == 0 and "<--require-hashes><--only-binary><:all:>" in locked and f"<{ROOT}/action.lock>" in locked
    assert own.endswith(f"<--no-deps><--no-build-isolation><{ROOT}>")
    assert users.endswith("<install><--quiet><-e><.><numpy<2><$(touch><there)>") and not (tmp_path / "there").exists()


def test_without_requirements_nothing_else_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [
        len(found) if isinstance(found, list) else found for found in installed(tmp_path, " ", monkeypatch)[:2]
    ] == [0, 2]


@pytest.mark.parametrize("requirements", ["-e .\nnumpy<2", "-e .\n", "-e .\rnumpy<2"])
def test_requirements_of_several_lines_are_refused(
    requirements: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, calls, said = installed(tmp_path, requirements, monkeypatch)
    assert (code, calls) == (2, []) and "requirements: write all on one line" in said


@pytest.mark.parametrize("end", ["\ncode=0", "\rcode=0", "\r\ncode=0", "\n"])
def test_a_report_of_several_lines_turns_nothing_green(end: str, tmp_path: Path) -> None:
    ran = run("Judge", tmp_path, "", {"adapter": WRONG, "report": f"x/r.html{end}/y"}, {})
    assert ran.returncode == 2 and "report: name one file" in ran.stderr
    assert not (tmp_path / "OUTPUT").exists() and not (tmp_path / "x").exists()


@pytest.mark.slow
def test_the_checkout_is_trusted_whoever_owns_it(tmp_path: Path) -> None:
    """Its pyproject.toml counts in a container too, whose user is another; it would be skipped there."""
    (tmp_path / "pyproject.toml").write_text('[tool.fedspec.check]\nexpect = "e.toml"\n')
    (tmp_path / "pyproject.toml").chmod(0o666)
    (tmp_path / "e.toml").write_text('[[expect]]\noffer = "fedavg/server"\nreason = "known"\nlaw = "*"\n')
    assert judged(tmp_path, adapter=WRONG)[0]["code"] == "0"


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
    """Outputs of the step that judges, and the exit code of the last step."""
    mine = (ROOT / "examples" / "mine.py").read_text(encoding="utf-8")
    (folder / "mine.py").write_text(mine, encoding="utf-8")
    (folder / "wrong.py").write_text(mine.replace("+ self.h", "- self.h"), encoding="utf-8")
    path = str(Path(sys.executable).parent)
    ran = run("Judge", folder, path, {**ONE, **inputs}, {})
    assert ran.returncode == 0, ran.stderr
    outputs = dict(line.split("=", 1) for line in (folder / "OUTPUT").read_text(encoding="utf-8").splitlines())
    return outputs, run("Verdict", folder, path, {}, outputs).returncode


@pytest.mark.slow
def test_it_writes_a_report_and_a_summary_and_ends_as_the_check_does(tmp_path: Path) -> None:
    good, bad = tmp_path / "a b", tmp_path / "bad"
    for folder in (good, bad):
        folder.mkdir()
    assert judged(good, adapter=RIGHT) == ({"code": "0", "folder": "fedspec-report"}, 0)
    assert judged(bad, adapter=WRONG, report="report.html") == ({"code": "1", "folder": "."}, 1)
    assert {p.name for p in (good / "fedspec-report").iterdir()} == {
        *("index.html", "results.jsonl", "fedspec.md", "badge.json")
    }
    assert "1 of 1 claim conforms." in (good / "STEP_SUMMARY").read_text()
    assert "<h1>0 of 1 claim conforms, 1 does not.</h1>" in (bad / "report.html").read_text()
    assert json.loads((bad / "badge.json").read_text())["message"] == "deviates"


@pytest.mark.slow
def test_an_input_is_no_part_of_the_script(tmp_path: Path) -> None:
    evil = """$(touch there) "; touch there; ' `touch there` --help"""
    outputs, code = judged(tmp_path, adapter=evil, only=evil, expectations="")
    assert (outputs["code"], code) == ("2", 2)
    assert {p.name for p in tmp_path.iterdir()} >= {"fedspec-report", "OUTPUT"}
    assert not (tmp_path / "there").exists() and not (tmp_path / "STEP_SUMMARY").exists()


@pytest.mark.slow
def test_expected_failures_are_heeded(tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text('[[expect]]\noffer = "fedavg/server"\nreason = "known"\nlaw = "follows-*"\n')
    outputs, _ = judged(tmp_path, adapter=WRONG, expectations="e.toml")
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
