"""Settings of ``[tool.fedspec.check]`` in a project's pyproject.toml, beside the options of a command line."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from test_judge.support import fedspec, py

from fedspec.errors import FedspecError
from fedspec.plugins import VARIABLE
from fedspec_suite.cli.plugin_files import prepare
from fedspec_suite.cli.project import LARGEST, defaults, nearest
from fedspec_suite.judge import locate
from fedspec_suite.subjects.environments import python_reference

TABLE = '[tool.fedspec.check]\nprofile = "quick"\nseed = 3\nreport = ["out.jsonl"]\n'


def project(folder: Path, text: str) -> Path:
    """A folder of a project that says so, below the one where it is said."""
    (folder / "pyproject.toml").write_text(text, encoding="utf-8")
    (folder / "below").mkdir()
    return folder / "below"


@pytest.mark.slow
def test_check_does_what_the_project_says_and_tells_it(tmp_path: Path) -> None:
    where = project(tmp_path, TABLE)
    ran = fedspec("check", py("right:fedavg"), cwd=where, cases=2)
    assert ran.code == 0 and "profile quick, seed 3" in ran.out
    assert "profile = quick, seed = 3" in ran.err and str(tmp_path / "pyproject.toml") in ran.err
    # A file lies where the project does, wherever the command is run.
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {row["level"] for row in rows} == {"server", "round"}


@pytest.mark.slow
def test_the_command_line_counts(tmp_path: Path) -> None:
    where = project(tmp_path, TABLE)
    ran = fedspec("check", py("right:fedavg"), "--seed", "4", "--only", "fedavg/round", cwd=where)
    assert "profile quick, seed 4" in ran.out and "fedavg     round" in ran.out and "fedavg     server" not in ran.out
    # A part of it is no report of the project.
    assert "doesn't write the project's reports" in ran.err and not (tmp_path / "out.jsonl").exists()


def test_no_other_command_reads_it(tmp_path: Path) -> None:
    ran = fedspec("smoke", py("right:fedavg"), cwd=project(tmp_path, TABLE))
    assert ran.code == 0 and "pyproject" not in ran.err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("sead = 3", "[tool.fedspec.check] has sead; known: profile, seed, jobs"),
        ('jobs = "2"', "jobs = '2'; it must be of type int"),
        ("jobs = true", "jobs = True; it must be of type int"),
        ("report = 'a.jsonl'", "report = 'a.jsonl'; it must be of type list of str"),
        ("report = [3]", "report = [3]; it must be of type list of str"),
        ("strict = 1", "strict = 1; it must be of type bool"),
        ("limit = true", "limit = True; it must be of type float"),
        ("report = ['../out.jsonl']", "report = '../out.jsonl' is not below"),
        ("report = ['/etc/out.jsonl']", "report = '/etc/out.jsonl' is not below"),
        ("report = ['a.jsonl', 'link/out.jsonl']", "report = 'link/out.jsonl' is not below"),
        ("report = ['.']", "report = '.' is not below"),
        ("capsules = '..'", "capsules = '..' is not below"),
    ],
)
def test_what_it_cannot_mean_is_refused(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "link").symlink_to("/tmp")
    with pytest.raises(FedspecError) as error:
        defaults(project(tmp_path, f"[tool.fedspec.check]\n{text}\n"))
    assert says in str(error.value) and str(tmp_path / "pyproject.toml") in str(error.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("tool = 3", "tool = 3; it must be a table, [tool]"),
        ("tool.fedspec = [1]", "tool.fedspec = [1]; it must be a table, [tool.fedspec]"),
        ("tool.fedspec.check = 3", "check = 3; it must be a table, [tool.fedspec.check]"),
        ("tool.fedspec.plugins = [3]", "plugins = [3]; write plugins"),
        ("tool = " + "[" * 100_000, "cannot be read (its lists or objects are nested too deeply"),
        ("a." * 100_000 + "b = 1", "cannot be read (a key has more than"),
        ("tool =", "cannot be read (Invalid value"),
        ("#" * (LARGEST + 1), "cannot be read (it is larger than 1 MB)"),
    ],
    ids=range(8),
)
def test_a_broken_file_stops_what_needs_it_alone(
    tmp_path: Path, text: str, says: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked(monkeypatch, project(tmp_path, f"{text}\n"))
    with pytest.raises(FedspecError) as error:
        prepare(["check", "spec"])
        defaults(Path.cwd())
    assert says in str(error.value) and str(error.value).startswith(str(tmp_path / "pyproject.toml"))
    assert "\n" not in str(error.value)
    for words in (["list"], ["report", "x"], ["--help"], ["check", "--help"], ["check", "spec", "--no-project"]):
        assert prepare(words) == [w for w in words if w != "--no-project"] and VARIABLE not in os.environ
        told = capsys.readouterr().err
        assert (told == "") is (words != ["list"] or "check" in says) and told.count("\n") <= 1
    assert defaults(Path.cwd()) == {}


NAMES = '[tool.fedspec]\nplugins = ["own.py"]\n' + TABLE


def asked(monkeypatch: pytest.MonkeyPatch, folder: Path, **env: str) -> None:
    """As a command is asked for in a folder, which no test before has trusted or named anything for."""
    monkeypatch.chdir(folder)
    # As it is set here it is taken back, whatever a command line sets meanwhile.
    for name in (VARIABLE, "FEDSPEC_PROJECT"):
        monkeypatch.setenv(name, env.get(name, ""))
        if name not in env:
            del os.environ[name]


def strangers(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make somebody else own a file."""
    if os.geteuid() == 0:
        os.chown(path, 54321, -1, follow_symlinks=False)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 54321)


def owned(folder: Path) -> Path:
    """A project that names an own algorithm; the folder below it."""
    (folder / "own.py").write_text("", encoding="utf-8")
    return project(folder, NAMES)


NOT_ASKED = (["--help"], ["--version"], [], ["report", "x"], ["list", "--help"], ["check", "--help"])


@pytest.mark.parametrize("words", NOT_ASKED, ids=" ".join)
def test_what_shows_something_alone_runs_nothing(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked(monkeypatch, owned(tmp_path))
    for project_too in ([], ["--project", ".."]):
        assert prepare([*words, *project_too]) == words
        assert VARIABLE not in os.environ and capsys.readouterr().err == ""
    assert prepare(["replay", "x", "spec"]) and os.environ[VARIABLE] == "-"
    assert prepare(["list"]) and os.environ[VARIABLE].endswith("own.py")
    assert "running own.py, which" in capsys.readouterr().err


def test_an_option_of_the_project_turns_it_on_and_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    below = owned(tmp_path)
    (elsewhere := tmp_path / "elsewhere").mkdir()
    (elsewhere / "pyproject.toml").write_text("", encoding="utf-8")
    for words, env, runs in (
        (["list"], "", True),
        (["list", "--no-project"], "", False),
        (["--no-project", "list"], str(tmp_path), False),
        (["list"], "-", False),
        (["list"], str(elsewhere), False),
        (["list", "--project", ".."], str(elsewhere), True),
        (["--project=..", "list"], "-", True),
    ):
        asked(monkeypatch, below, FEDSPEC_PROJECT=env)
        assert prepare(words) == ["list"]
        assert (VARIABLE in os.environ) is runs, words
        assert (defaults(Path.cwd()) != {}) is runs, words
    for words in (["list", "--project", str(below)], ["list", "--project"], ["list", "--project", "--json"]):
        with pytest.raises(FedspecError, match="project: "):
            prepare(words)


@pytest.mark.parametrize("which", ["pyproject.toml", "own.py"])
@pytest.mark.parametrize("how", ["owner", "link", "mode"])
def test_a_strangers_file_is_skipped_in_a_line(
    which: str, how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    below = owned(tmp_path)
    path = tmp_path / which
    if how == "link":
        # The file is the user's own, and what the link leads to next is whatever its owner wants.
        path.rename(tmp_path / "mine")
        path.symlink_to("mine")
    if how == "mode":
        path.chmod(0o666)
    else:
        strangers(path, monkeypatch)
    asked(monkeypatch, below)
    assert prepare(["check", "spec"]) == ["check", "spec"] and defaults(below) == {}
    assert VARIABLE not in os.environ
    told = capsys.readouterr().err
    assert told.startswith(f"fedspec: skipped {tmp_path / 'pyproject.toml'}: ") and told.count("\n") == 1
    assert which in told and told.endswith(f"to trust it, pass --project {tmp_path}\n")
    for words, env in ((["list", "--project", ".."], ""), (["list"], str(tmp_path))):
        asked(monkeypatch, below, FEDSPEC_PROJECT=env)
        prepare(words)
        assert os.environ[VARIABLE].endswith("own.py" if which != "own.py" or how != "link" else "mine")


def test_a_strangers_file_of_something_else_is_not_worth_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked(monkeypatch, project(tmp_path, "[tool.ruff]\nline-length = 100\n"))
    strangers(tmp_path / "pyproject.toml", monkeypatch)
    assert prepare(["list"]) and VARIABLE not in os.environ and capsys.readouterr().err == ""


@pytest.mark.parametrize("root", [".git", ".git file", "home"])
def test_nothing_above_the_project_is_looked_at(root: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked(monkeypatch, owned(tmp_path))
    assert nearest(Path.cwd()) == tmp_path / "pyproject.toml"
    (within := Path.cwd() / "within").mkdir()
    if root == "home":
        monkeypatch.setenv("HOME", str(tmp_path / "below"))
    elif root == ".git":
        (tmp_path / "below" / root).mkdir()
    else:
        (tmp_path / "below" / ".git").write_text("gitdir: elsewhere\n")
    assert nearest(Path.cwd()) is None and nearest(within) is None and defaults(within) == {}
    assert prepare(["list"]) and VARIABLE not in os.environ
    # At the root itself it is.
    (tmp_path / "below" / "pyproject.toml").write_text(TABLE, encoding="utf-8")
    assert nearest(within) == tmp_path / "below" / "pyproject.toml" and defaults(within)["seed"] == "3"


@pytest.mark.slow
def test_quiet_prints_a_line_for_each_claim() -> None:
    ran = fedspec("check", py("right:fedavg"), "--only", "fedavg/server", "--profile", "quick", "-q")
    assert (ran.code, ran.out.count("\n"), ran.err) == (0, 2, "")
    assert re.search(r": conforms, (\d+) of \1 checks passed; covers 1 to \d+ rounds", ran.out)
    ran = fedspec("check", py("wrong:zero"), "--only", "fedavg/*", "--profile", "quick", "-q", explained=False)
    assert ran.code == 1 and ran.out.count(": does not conform, ") == ran.out.count("\n") == 1


def test_a_name_that_is_nearly_right_is_suggested() -> None:
    ran = fedspec("check", "flower")
    assert ran.code == 2 and "unknown 'flower'; nearest: flwr" in ran.err


@pytest.mark.parametrize(
    ("typed", "printed", "loaded"),
    [
        ("mine.py", "mine.py", "mine.py"),
        ("py:mine.py:Adapter", "mine.py:Adapter", "mine.py:Adapter"),
        ("py:pkg.python_adapters:Adapter", "py:pkg.python_adapters:Adapter", "pkg.python_adapters:Adapter"),
        ("py:my.pyproj/mine.py:Adapter", "my.pyproj/mine.py:Adapter", "my.pyproj/mine.py:Adapter"),
        ("cmd:python mine.py", "cmd:python mine.py", ""),
        ("flwr:new", "flwr:new", ""),
        ("spec", "spec", ""),
    ],
)
def test_an_adapter_is_printed_so_that_it_can_be_typed_again(typed: str, printed: str, loaded: str) -> None:
    assert locate.expand(typed) == (printed,) == locate.expand(printed)
    assert python_reference(typed) == python_reference(printed) == loaded


@pytest.mark.slow
def test_a_file_that_holds_one_subject_needs_no_more(tmp_path: Path) -> None:
    text = Path("examples/mine.py").resolve().read_text(encoding="utf-8")
    mine = tmp_path / "mine.py"
    mine.write_text(f"{text}\n\nADAPTER = Adapter()\n", encoding="utf-8")
    for said in ("mine.py", "py:mine.py", "mine.py:Adapter", "mine.py:ADAPTER"):
        assert fedspec("check", said, "--law", "follows-x", cwd=tmp_path).code == 0
    mine.write_text(f"{text}\n\nclass Other(Adapter): ...\n", encoding="utf-8")
    fedspec("check", "mine.py", cwd=tmp_path).refused("as in mine.py:NAME", "Adapter, Other")
    fedspec("check", "yours.py", cwd=tmp_path).refused("no file yours.py")


@pytest.mark.parametrize("width", ["60", "80"])
def test_a_narrow_terminal_wraps_the_list_and_cuts_no_word(width: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from fedspec.catalogue import CATALOGUE
    from fedspec.plugins import BETWEEN

    monkeypatch.setenv("COLUMNS", width)
    head, _, *lines = fedspec("list").out.partition("\nafter, what")[0].splitlines()
    assert head.split() == ["id", "after", "what"] and max(map(len, lines)) <= int(width)
    assert "…" not in "".join(lines)
    # A pair of a server and another local solver is in the catalogue from when it is asked for.
    assert [line.split()[0] for line in lines if line[0] != " "] == [n for n in CATALOGUE if BETWEEN not in n]
