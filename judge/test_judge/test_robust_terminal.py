"""Text of a subject does nothing to the terminal, and the command's output is as intended for every reader."""

from __future__ import annotations

import io
import os
import shlex
import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
from test_judge.support import MAIN, ROOT, START, hostile, inside, py, python

from fedspec_suite.cli import start
from fedspec_suite.judge.request import Request, command
from fedspec_suite.measure.escaping import escape_controls
from fedspec_suite.report.terminal import Plain

SOME = ("--profile", "quick", "--jobs", "1", "--law", "repeats")
GOOD = hostile("right")


def test_what_is_not_printed_is_spelled_out() -> None:
    assert escape_controls("a\x1b[2J\r\nb\a\x9b\u202e\ud800 é") == r"a\x1b[2J\r\nb\x07\x9b\u202e\ud800 é"
    assert escape_controls("a\nb", keep="\n") == "a\nb"
    assert escape_controls("x" * 10, most=4) == "xxxx..."


def test_the_console_makes_inert_what_was_not_made_so_before() -> None:
    out = io.StringIO()
    Plain(file=out, width=60).print("[/x] \x1b[31m :smile:\nb")
    assert out.getvalue() == "[/x] \\x1b[31m :smile:\nb\n"


@pytest.mark.table(1)
@pytest.mark.parametrize("columns", ["200", "80"])
@pytest.mark.parametrize("more", [(), ("--details",)])
def test_names_and_notes_are_inert(columns: str, more: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    ran = inside("check", hostile("markup"), GOOD, *SOME, *more)
    assert ran.code == 0, ran.err
    said = "".join(ran.out.split())
    assert r"[/x]\x1b[31m:smile:\r\n\x07" in said and "[bold]1" in said
    assert (r"a\x1b[2Jb\nc[/x]" in said) is bool(more)
    assert not {c for c in ran.out if not c.isprintable()} - {"\n"}


def test_refusals_are_inert() -> None:
    said = inside("check", "py:\x1b[31m[/x]:smile:.py:it", *SOME)
    said.refused(r"\x1b[31m[/x]:smile:")


@pytest.mark.parametrize("name", ["py:package:Subject", "py:[bold]:x", "cmd:./[/x] 'a b'"])
def test_commands_can_be_copied(name: str) -> None:
    line = command(Request([name], law="rat[a-f]", budget=7.5, start_limit=3.0), name, None, ())
    out = io.StringIO()
    Plain(file=out, width=60).print(f"  {line}", style="dim", soft_wrap=True)
    assert out.getvalue() == f"  {line}\n"
    assert shlex.split(line)[:3] == ["fedspec", "check", name]
    assert shlex.split(line)[3:] == ["--law", "rat[a-f]", "--start-limit", "3", "--budget", "7.5"]


@pytest.mark.table(1)
@pytest.mark.parametrize("encoding", ["ascii:strict", "utf-8"])
def test_every_encoding_is_good_enough(encoding: str, tmp_path: Path) -> None:
    """The table has a line that is no ASCII, and a path may hold any letter."""
    source = Path(py("right:fedavg").split(":")[0]).read_text(encoding="utf-8")
    (tmp_path / "méine_…_𝄞.py").write_text(source, encoding="utf-8")
    name = "méine_…_𝄞.py:fedavg"
    words = ("check", name, "--only", "fedavg/round", *SOME)
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "COLUMNS": "60"}

    def ran(*more: str) -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-c", MAIN, *words, *more]
        return subprocess.run(command, capture_output=True, check=False, cwd=tmp_path, timeout=300, env=environment)

    done = ran("--details")
    said, name = done.stdout.decode(encoding.partition(":")[0]), name if encoding == "utf-8" else "m\\xe9ine"
    assert (done.returncode, done.stderr) == (0, b"") and name in said
    assert ("─" if encoding == "utf-8" else "-") * 20 in said
    assert encoding == "utf-8" or r"m\xe9ine_..._\U0001d11e.py" in said


BLOCKED = """
import sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"hypothesis", "rich", "typer"}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Finder())
import importlib.util
real = importlib.util.find_spec
def find(name, package=None):
    try:
        return real(name, package)
    except ModuleNotFoundError:
        return None
importlib.util.find_spec = find
from fedspec_suite.cli.start import main
main()
"""


def test_without_its_extra_the_command_says_what_to_install() -> None:
    ran = python("-c", BLOCKED, timeout=60)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("fedspec: the command needs hypothesis, rich, typer")
    assert "pip install '.[suite]'" in ran.stderr and ran.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("typer", "click", "works"),
    [
        ("0.12.5", "8.5.1", False),
        ("0.15.4", "8.2.1", False),
        ("0.12.4", "8.1.8", True),
        ("0.16.1", "8.5.1", True),
        ("0.29.2", "", True),
        ("1.0rc1", "9.0", True),
    ],
)
def test_a_typer_that_its_click_breaks_is_refused(
    typer: str, click: str, works: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pairs of versions that were run, except for the last: options lost their defaults, and help ended in an error."""

    def version(name: str) -> str:
        if found := {"typer": typer, "click": click}[name]:
            return found
        raise PackageNotFoundError(name)

    monkeypatch.setattr(start, "version", version)
    words = start.clash()
    assert (words == "") is works
    assert works or (f"typer {typer}" in words and f"click {click}" in words and "pip install" in words)


@pytest.mark.slow
def test_the_command_of_the_package_starts_there() -> None:
    import tomllib

    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert tomllib.loads(text)["project"]["scripts"]["fedspec"] == "fedspec_suite.cli.start:main"
    ran = python("-c", START, "check", "nobody", timeout=60)
    assert ran.returncode == 2 and "'nobody'" in ran.stderr


SHADOWS = ("json", "random", "typing", "numpy", "colorsys")
"""The last is one that nothing has imported before the subject does."""


@pytest.mark.slow
def test_the_users_folder_shadows_nothing(tmp_path: Path) -> None:
    for name in SHADOWS:
        (tmp_path / f"{name}.py").write_text("raise SystemExit('shadowed')\n")
    source = Path(py("right:fedavg").split(":")[0]).read_text(encoding="utf-8")
    # Its own module is found, and what it imports of the standard library is that.
    (tmp_path / "helper.py").write_text("import colorsys, random\nNUMBER = colorsys.rgb_to_hsv(0, 0, 1)\n")
    (tmp_path / "mine.py").write_text(f"import helper\n{source}".replace("from __future__ import annotations\n", ""))
    some = ("--profile", "quick", "--jobs", "1", "--only", "fedavg/round", "--law", "repeats", "--json")
    for name in ("py:mine.py:fedavg", "py:mine:fedavg"):
        ran = python("-P", "-c", MAIN, "check", name, *some, timeout=300, cwd=tmp_path)
        assert ran.returncode == 0, ran.stdout + ran.stderr


def test_an_adapter_runs_as_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    text = "class Subject:\n    info = {sign}1\n    start = print\n"
    code = "import sys; from fedspec.serve import load; print(load(sys.argv[1]).info)"

    def info(sign: str) -> str:
        path.write_text(text.format(sign=sign))
        # Of the same size and saved in the same second: Python's cache is of the file before.
        os.utime(path, (10**9, 10**9))
        return python("-c", code, f"{path}:Subject").stdout.strip()

    assert (info("+"), info("-")) == ("1", "-1")


def test_an_adapter_may_have_the_name_of_a_module(tmp_path: Path) -> None:
    source = Path(py("right:fedavg").split(":")[0]).read_text(encoding="utf-8")
    (tmp_path / "json.py").write_text(source)
    ran = inside("check", f"py:{tmp_path / 'json.py'}:fedavg", *SOME, "--only", "fedavg/round")
    assert ran.code == 0, ran.err
