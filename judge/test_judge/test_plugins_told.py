"""Messages to the author of an own algorithm: the place of the fault, and the remedy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest
from test_judge.support import python, with_own


@pytest.fixture
def gossip(tmp_path: Path) -> Path:
    """The file of a gossip method, as `fedspec new` writes it."""
    assert with_own("new", "my-gossip", "--kind", "gossip", cwd=tmp_path).code == 0
    return tmp_path / "my_gossip.py"


def changed(file: Path, old: str, new: str) -> None:
    """Change one piece of a file."""
    text = file.read_text(encoding="utf-8")
    assert text.count(old) == 1, (old, text.count(old))
    file.write_text(text.replace(old, new), encoding="utf-8")


OWN = ("--plugin", "my_gossip.py")


@pytest.mark.slow
def test_a_row_without_a_vector_is_refused_and_nothing_is_written(gossip: Path) -> None:
    changed(gossip, "MUTANTS = (", "UNREAD = (")
    done = with_own("vectors", "make", "my-gossip", "--folder", "made", "--jobs", "1", *OWN, cwd=gossip.parent)
    done.refused("my-gossip has none", "MUTANTS")
    assert not (gossip.parent / "made").exists()


@pytest.mark.slow
def test_a_mistake_that_no_law_was_asked_about_is_not_laid_at_its_authors_door(gossip: Path) -> None:
    asked = ("mutants", "run", "my-gossip-undamped", "--law", "unrolled", "--jobs", "1")
    done = with_own(*asked, *OWN, cwd=gossip.parent)
    assert done.code == 1 and "no law was asked about it; why not: is about level client and server" in done.out
    assert "second route" not in done.out and "killed none" not in done.out, done.out


FOLLOWS = ("check", "spec", "--law", "follows-*", "--profile", "quick", "--jobs", "1", "--json", *OWN)


def test_a_name_that_nothing_holds_is_refused(gossip: Path) -> None:
    changed(gossip, "    run=", '    shows=("M", "zz"),\n    run=')
    done = with_own(*FOLLOWS, "--only", "my-gossip", cwd=gossip.parent, cases=4)
    (result,) = done.rows
    assert done.code == 2 and result["verdict"] == "error", done.out
    # Four drawn, and four at the edges.
    assert "my-gossip shows zz in none of 8 cases" in result["first_deviation"], done.out


@pytest.mark.slow
def test_what_a_state_holds_is_compared_though_no_step_returns_it(gossip: Path) -> None:
    """In an exchange its rows, which are of all clients: each is compared, as the other one's ratios show."""
    changed(gossip, 'return state, {"M": state.M.reshape(-1)}', "return state, {}")
    done = with_own(*FOLLOWS, "--only", "my-gossip", cwd=gossip.parent, cases=4)
    assert done.code == 0, done.out
    wrong = ("check", "mutant:my-gossip-undamped", *FOLLOWS[2:])
    (result,) = with_own(*wrong, cwd=gossip.parent, cases=4).rows
    assert {o["law"] for o in result["obligations"] if o["status"] == "fail"} == {"follows-x", "follows-M"}


NUMBER = """
from fedspec.contract import Offer, SubjectInfo
from fedspec.reference import SUBJECT


class Session:
    def __init__(self, case):
        self.case, self.inner = case, SUBJECT.start(case)

    def step(self, event):
        answer = dict(self.inner.step(event))
        moved = float(answer["b"]) * 1.25
        return {**answer, "b": moved} if WRONG else answer


class Subject:
    info = SubjectInfo("mine", "1", (Offer("own", "server", "published", intermediates=("b",)),))
    start = Session
"""


@pytest.mark.slow
def test_a_number_of_the_state_is_compared(tmp_path: Path) -> None:
    """The server keeps the sum of its momentum's entries beside it."""
    assert with_own("new", "own", cwd=tmp_path).code == 0
    file = tmp_path / "own.py"
    changed(file, "    m: Vector\n", "    m: Vector\n    b: Scalar\n")
    changed(file, "return State(x=x, m=m)", "return State(x=x, m=m, b=total(m))")
    changed(file, "return State(x=x, m=zeros(x))", "return State(x=x, m=zeros(x), b=total(zeros(x)))")
    changed(file, "Vector, zeros", "Vector, total, zeros")
    changed(file, "    run=", '    shows=("delta", "m", "b"),\n    run=')
    for name in ("True", "False"):
        (tmp_path / f"{name}.py").write_text(f"WRONG = {name}\n{NUMBER}", encoding="utf-8")
    words = ("check", "py:True.py:Subject", "py:False.py:Subject", "--law", "follows-b", "--json")
    done = with_own(*words, "--profile", "quick", "--jobs", "1", "--plugin", "own.py", cwd=tmp_path, cases=4)
    assert [row["verdict"] for row in done.rows] == ["does not conform", "asked in part"], done.out + done.err


RETURNS = {
    "alone": ("return state", "returned State; want (state, shown): the new State"),
    "nothing": ("pass", "returned None; want (state, shown)"),
}
"""Wrong results of a step, in the place of a state and intermediates, and the message of each."""


@pytest.mark.table(1)
@pytest.mark.parametrize("name", RETURNS)
def test_who_returns_something_else_from_a_step_is_told_where_and_what(name: str, gossip: Path) -> None:
    text, said = RETURNS[name]
    changed(gossip, 'return state, {"M": state.M.reshape(-1)}', text)
    lines = gossip.read_text(encoding="utf-8").splitlines()
    line = 1 + next(i for i, text in enumerate(lines) if text.startswith("def step("))
    judged = with_own(*FOLLOWS, "--only", "my-gossip", cwd=gossip.parent, cases=4)
    told = judged.rows[0]["first_deviation"]
    assert judged.code == 2 and f"step (my_gossip.py, line {line}) {said}" in told and "bug" not in told, told


@pytest.mark.outside
def test_who_trains_with_it_is_told_the_same(gossip: Path) -> None:
    changed(gossip, 'return state, {"M": state.M.reshape(-1)}', "return state")
    run = with_own("simulate", "my-gossip", "--rounds", "1", *OWN, cwd=gossip.parent)
    run.refused("step (my_gossip.py, line ", "returned State; want (state, shown): the new State")


SCRIPT = """
from fedspec_suite.api import check_subject
import my_gossip
from fedspec.contract import Offer, SubjectInfo
from fedspec.reference import SUBJECT


class Subject:
    info = SubjectInfo("mine", "1", (Offer("my-gossip", "trace", "published"),))
    start = SUBJECT.start


(result,) = check_subject(Subject(), algorithms=[my_gossip.ROW], law="follows-x")
print(result.verdict)
"""


@pytest.mark.slow
def test_a_number_may_be_declared_after_the_suite_was_imported(gossip: Path) -> None:
    """Imports at the top of a script come in any order."""
    text = gossip.read_text(encoding="utf-8").replace("rho", "laziness")
    declared = "from fedspec.domains import DECAY, Parameter, declare\n\n"
    declared += 'declare("laziness", Parameter(DECAY, "how lazy"))\n\n\n@dataclass(frozen=True)'
    gossip.write_text(text.replace("@dataclass(frozen=True)", declared, 1), encoding="utf-8")
    (gossip.parent / "script.py").write_text(SCRIPT, encoding="utf-8")
    done = python("script.py", cwd=gossip.parent)
    assert done.stdout.strip() == "asked in part", done.stdout + done.stderr


class Named(NamedTuple):
    """The words of a command that names an algorithm, and where modules are looked for."""

    words: tuple[str, ...]
    path: Path


@pytest.fixture(scope="module")
def ways(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Named]:
    """Own algorithm as a file, as a module, in a package, and in a package that an entry point names."""
    there = tmp_path_factory.mktemp("named")
    assert with_own("new", "my-gossip", "--kind", "gossip", cwd=there).code == 0
    text = (there / "my_gossip.py").read_text(encoding="utf-8")
    for name in ("module", "package/rules", "installed/rules", "installed/rules-1.dist-info", "empty"):
        (there / name).mkdir(parents=True)
    (there / "module" / "gossip_module.py").write_text(text, encoding="utf-8")
    for folder in ("package", "installed"):
        (there / folder / "rules" / "__init__.py").write_text("", encoding="utf-8")
        (there / folder / "rules" / "own.py").write_text(text, encoding="utf-8")
    # The package says rows and mistakes that stand in a module of it.
    said = "from .own import EDGES, MUTANTS, ROW, STEPS\n"
    (there / "installed" / "rules" / "__init__.py").write_text(said, encoding="utf-8")
    info = there / "installed" / "rules-1.dist-info"
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: rules\nVersion: 1\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[fedspec.algorithms]\nown = rules\n", encoding="utf-8")
    return {
        "file": Named(("--plugin", str(there / "my_gossip.py")), there / "empty"),
        "module": Named(("--plugin", "gossip_module"), there / "module"),
        "package": Named(("--plugin", "rules.own"), there / "package"),
        "installed": Named((), there / "installed"),
    }


OTHERS = ("module", "package", "installed")


@pytest.mark.table(1)
@pytest.mark.parametrize("way", OTHERS)
def test_its_mistakes_are_made_where_laws_ask(way: str, ways: dict[str, Named], tmp_path: Path) -> None:
    words, path = ways[way]
    asked = ("mutants", "run", "my-gossip-*", "--law", "peers-unrolled", "--jobs", "1", "--json")
    done = with_own(*asked, *words, cwd=tmp_path, env={"PYTHONPATH": str(path)})
    assert [row["killed"] for row in json.loads(done.out)] == [["peers-unrolled"]] * 2, done.err
    assert done.code == 0


@pytest.mark.slow
def test_its_mistakes_are_named(ways: dict[str, Named], tmp_path: Path) -> None:
    words, path = ways["installed"]
    judged = ("check", "mutant:my-gossip-undamped", "--law", "follows-x", "--profile", "quick", "--jobs", "1", "--json")
    done = with_own(*judged, *words, cwd=tmp_path, env={"PYTHONPATH": str(path)}, cases=4)
    (result,) = json.loads(done.out)
    assert done.code == 1 and "M = rho M + G" in result["nearest"], done.out


@pytest.mark.slow
def test_its_vectors_are_the_same(ways: dict[str, Named], tmp_path: Path) -> None:
    both = ("file", "installed")
    for name, (words, path) in ((name, ways[name]) for name in both):
        make = ("vectors", "make", "my-gossip", "--folder", name, "--jobs", "1")
        done = with_own(*make, *words, cwd=tmp_path, env={"PYTHONPATH": str(path)})
        assert done.code == 0, done.err
    made = {(tmp_path / name / "my-gossip.json").read_text(encoding="utf-8") for name in both}
    assert len(made) == 1 and json.loads(made.pop())["vectors"]
