"""The native examples: judged over JSON lines, and by the vectors alone without any Python."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from test_judge.support import FEW, ROOT, fedspec, inside

pytestmark = pytest.mark.slow

SOURCE = ROOT / "examples" / "native.cpp"
OFFERED = {"fednova/server", "fednova/round", "fedadam/server", "sm3-ii/client"}

needs_cpp = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")


def built(source: str, folder: Path) -> Path:
    (folder / "native.cpp").write_text(source, encoding="utf-8")
    program = folder / "native"
    flags = ["-std=c++17", "-O0", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["g++", *flags, "-o", str(program), str(folder / "native.cpp")], check=True)
    return program


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(SOURCE.read_text(encoding="utf-8"), tmp_path_factory.mktemp("native"))


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vectors")
    only = [word for name in ("fednova", "fedadam", "sm3-ii") for word in ("--only", name)]
    assert inside("vectors", "export", str(folder), "--format", "jsonl", *only).code == 0
    return folder / "vectors.jsonl"


def judged(subject: str) -> None:
    ran = fedspec("check", subject, "--profile", "quick", "--jobs", "1", "--json", cwd=ROOT, cases=FEW)
    assert ran.code == 0, ran
    assert {f"{row['algorithm']}/{row['level']}" for row in ran.rows} == OFFERED
    assert {row["verdict"] for row in ran.rows} == {"conforms"}


def by_vectors(subject: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    ran = inside("vectors", "check", subject, "--json")
    assert ran.code == 0 and len(ran.rows) == 5
    assert all(row["verdict"] == "conforms" and row["passed"] > 1 for row in ran.rows)


@needs_node
def test_javascript_is_judged() -> None:
    judged("cmd:node examples/native.mjs")


@needs_node
def test_javascript_by_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    by_vectors("cmd:node examples/native.mjs", monkeypatch)


@needs_cpp
def test_cpp_is_judged(program: Path) -> None:
    judged(f"cmd:{program}")


@needs_cpp
def test_cpp_by_vectors(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    by_vectors(f"cmd:{program}", monkeypatch)


@needs_cpp
def test_cpp_judges_itself_by_the_vectors_alone(program: Path, lines: Path) -> None:
    ran = subprocess.run([str(program), str(lines)], capture_output=True, text=True, check=False)
    passed, _, played, *_ = ran.stdout.split()
    assert ran.returncode == 0 and passed == played and int(passed) > 10, ran


@needs_cpp
def test_a_defect_in_cpp_is_named_by_the_vectors_alone(lines: Path, tmp_path: Path) -> None:
    """Epsilon inside the root, a common variant: its totals are those of that reading."""
    text = SOURCE.read_text(encoding="utf-8")
    right, wrong = 'std::sqrt(v_[j]) + c_.hyper.at("tau")', 'std::sqrt(v_[j] + c_.hyper.at("tau"))'
    assert text.count(right) == 1
    ran = subprocess.run(
        [str(built(text.replace(right, wrong), tmp_path)), str(lines)], capture_output=True, text=True, check=False
    )
    named = [line for line in ran.stdout.splitlines() if " is: " in line]
    assert ran.returncode == 1 and set(named) == {"fedadam/server is: reading epsilon-inside"}
