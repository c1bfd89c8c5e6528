"""No distribution is on an index: every line that is printed anywhere and installs one does so from source or wheel."""

from __future__ import annotations

import ast
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest

from fedspec.errors import SOURCES, to_install
from fedspec_suite.extensions import OURS

ROOT = Path(__file__).resolve().parents[2]
PROJECTS = {
    place: tomllib.loads((ROOT / place / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for place in SOURCES.values()
}
"""Table ``[project]`` of each distribution, by the place of its source."""

WHEEL = f"fedspec-{PROJECTS['.']['version']}-py3-none-any.whl"
READ = ("*.md", "*/*.md", ".ci/*", ".github/**/*", "Makefile", "constraints.txt", "pyproject.toml", "*/pyproject.toml")
READ += ("docs/**/*", "examples/*")
PACKAGES = ("benchmarks", "impl", "proofs_check", "scripts", "spec", "judge/fedspec_suite")
INSTALLS = re.compile(r"\b((?:pip3?|uv pip) install|uvx|uv tool run|pipx (?:run|install))(?= ([^\n`]*))")
FROM = re.compile(
    rf"(?:(?P<place>{'|'.join(map(re.escape, PROJECTS))})|(?:\S*/)?(?P<name>fedspec\w*)-"
    rf"{re.escape(PROJECTS['.']['version'])}-py3-none-any\.whl)(?:\[(?P<extras>[a-z,]+)\])?"
)
"""The forms that install a distribution: from its source, or from its wheel."""

WITH_VALUE = ("--from", "--spec", "--with", "-c", "-r", "--target")

RUN_BY = {
    ("pip", "source"): "test_a_line_of_each_kind_installs_the_command",
    ("uvx", "source"): "test_a_line_of_each_kind_installs_the_command",
    ("uvx", "wheel"): "test_a_line_of_each_kind_installs_the_command",
    ("pipx", "wheel"): "test_a_line_of_each_kind_installs_the_command",
    ("pip", "wheel"): "scripts/wheel_smoke.sh",
}
"""Test or script that runs each kind of line: make outside, or make wheel."""


def requirements_of(tool: str, rest: str) -> list[str]:
    """Requirements that such a line installs, without options and text behind them."""
    words = re.findall(r"-\S+|'[^']*'|\"[^\"]*\"|[^\s()]+", rest)
    found: list[str] = []
    while words:
        word = words.pop(0)
        if word in WITH_VALUE and words:
            value = words.pop(0).strip("'\"")
            found += [value] if word in ("--from", "--spec", "--with") else []
        elif not word.startswith("-"):
            if tool in ("uvx", "pipx run", "uv tool run"):
                return found or [word.strip("'\"")]
            if found and not word.startswith(("'", '"', ".", "/")):
                break
            found.append(word.strip("'\";,"))
    return found


def files() -> Iterator[Path]:
    everywhere = [path for pattern in READ for path in ROOT.glob(pattern)]
    everywhere += [path for package in PACKAGES for path in (ROOT / package).rglob("*")]
    left = (".json", ".jsonl", ".png", ".svg", ".safetensors", ".pyc")
    yield from (path for path in everywhere if path.is_file() and path.suffix not in left)


def lines() -> list[tuple[str, str, str]]:
    """Place, installer and requirements of each line that installs something."""
    said = [("to_install", to_install("suite")), ("to_install", to_install("simulate", "fedspec-torch"))]
    said += [(str(p.relative_to(ROOT)), p.read_text(encoding="utf-8", errors="replace")) for p in files()]
    found = [(where, m[1], m[2]) for where, text in said for m in INSTALLS.finditer(text)]
    # What it makes stands in the first entry.
    return [(where, tool, rest) for where, tool, rest in found if where != "spec/fedspec/errors.py"]


def kind(tool: str, requirement: str) -> tuple[str, str] | None:
    """Installer and origin of fedspec in a line; None if the line is about another package.

    Raises:
        AssertionError: it takes fedspec from a place where it is not.
    """
    if (ours := FROM.fullmatch(requirement)) is not None:
        place = ours["place"] or SOURCES[ours["name"].replace("_", "-")]
        unknown = {*filter(None, (ours["extras"] or "").split(","))} - PROJECTS[place]["optional-dependencies"].keys()
        assert not unknown, f"{requirement}: {place}/pyproject.toml has no extra {', '.join(unknown)}"
        return tool.partition(" ")[0], "source" if ours["place"] else "wheel"
    assert "fedspec" not in requirement and "://" not in requirement, f"{requirement}: it is on no index"
    return None


def test_every_line_installs_from_the_source_or_the_wheel() -> None:
    kinds = {kind(tool, requirement) for _, tool, rest in lines() for requirement in requirements_of(tool, rest)}
    assert kinds - {None} == set(RUN_BY)


@pytest.mark.parametrize(
    "line",
    [
        "pip install fedspec",
        "pip install 'fedspec[suite]' -e .",
        "pip install -e . 'fedspec[suite]'",
        "uvx --from 'fedspec[suite]' fedspec",
        "uvx fedspec check spec",
        "pipx run --spec 'fedspec[suite]' fedspec check spec",
        "pip install git+https://example.org/fedspec",
        "pip install '.[sweet]'",
        "pip install '.[simulate]'",
        "pip install './impl[suite]'",
        "pip install fedspec-torch",
        "pip install fedspec-9.9-py3-none-any.whl",
    ],
)
def test_a_line_that_would_not_work_is_refused(line: str) -> None:
    (m,) = INSTALLS.finditer(line)
    with pytest.raises(AssertionError):
        [kind(m[1], requirement) for requirement in requirements_of(m[1], m[2])]


@pytest.mark.slow
def test_messages_name_extras_that_there_are() -> None:
    calls = [
        # Extras that an argument says are looked up where it is passed on.
        [ast.literal_eval(argument) if isinstance(argument, ast.Constant) else "" for argument in node.args]
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "to_install"
        if path != ROOT / "judge/fedspec_suite/extensions.py"
    ]
    # What entry points are missed by stands in a table of its own.
    calls += [[extras, distribution] for distribution, extras in OURS.values()]
    assert len(calls) >= 14
    for extras, *of in calls:
        known = PROJECTS[SOURCES[of[0] if of else "fedspec"]]["optional-dependencies"]
        assert {*filter(None, extras.split(","))} <= known.keys(), (extras, of)


def test_the_distributions_are_of_one_version_and_ask_for_each_other_by_it() -> None:
    versions = {project["version"] for project in PROJECTS.values()}
    assert len(versions) == 1 and [*SOURCES] == [project["name"] for project in PROJECTS.values()]
    needed = {r for project in PROJECTS.values() for r in project["dependencies"] if r.startswith("fedspec")}
    assert needed == {f"fedspec{extra}=={PROJECTS['.']['version']}" for extra in ("", "[suite]")}
    assert len(PROJECTS["."]["optional-dependencies"]) <= 4


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Packages of a clone, with the wheel beside them."""
    folder = tmp_path_factory.mktemp("source")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for package in project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]:
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("LICENSE", "README.md", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    shutil.copytree(ROOT / "examples", folder / "examples")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(folder)]
    subprocess.run(build, check=True, capture_output=True)
    return folder


@pytest.mark.table(1)
@pytest.mark.outside
@pytest.mark.parametrize(
    "line",
    [
        "pip install -q '.[suite]' && fedspec",
        "uvx -q --from '.[suite]' fedspec",
        f"uvx -q --from '{WHEEL}[suite]' fedspec",
        f"pipx run --spec './{WHEEL}[suite]' fedspec",
    ],
)
def test_a_line_of_each_kind_installs_the_command(line: str, source: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    inside = f"cd {shlex.quote(str(source))} && . {shlex.quote(str(tmp_path / 'venv/bin/activate'))}"
    tool = line.partition(" ")[0]
    # uv and pipx keep environments of their own, here in the folder of the test.
    homes = " ".join(f"{name}={shlex.quote(str(tmp_path / name))}" for name in ("UV_CACHE_DIR", "PIPX_HOME"))
    given = "true" if tool == "pip" else f"pip install -q {'uv' if tool == 'uvx' else tool}"
    judge = "check examples/mine.py --law follows-x --profile quick"
    command = f"{inside} && {given} && export {homes} && {line} {judge}"
    ran = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, timeout=600)
    assert ran.returncode == 0 and "1 of 1 claim follows x in quick cases" in ran.stdout, ran
