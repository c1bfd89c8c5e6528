"""Laws choose whom they ask in the words of ``laws.asked`` alone, and say why and why not in terms of the row."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from test_judge.support import fedspec

from fedspec.catalogue import find
from fedspec.domains import Dimension
from fedspec.facts import Fact
from fedspec.reference import SUBJECT
from fedspec_properties import symmetries
from fedspec_properties.reductions import EDGES
from fedspec_suite.laws import asked, every
from fedspec_suite.laws.asked import both, either, fact, if_option, number, option, settable, unless, zero
from fedspec_suite.measure.setting import Setting, setting_of

HOME = Path(__file__).resolve().parents[2]
ROOM = HOME / "judge"
ROOMS = (ROOM / "fedspec_suite/laws", ROOM / "fedspec_properties")
FED_AGREE = str(HOME / "examples/fed_agree.py")
WORDS = {name for name, value in vars(asked).items() if getattr(value, "__module__", "") == asked.__name__} | {"Fact"}


def setting(name: str, level: str = "server", **more: object) -> Setting:
    """The canonical reading of an algorithm, with something pinned."""
    offer = next(o for o in SUBJECT.info.offers if (o.algorithm, o.level) == (name, level))
    return replace(setting_of(offer), **more)  # type: ignore[arg-type]


# One vocabulary.


def selections(tree: ast.Module) -> Iterator[ast.expr]:
    """What stands behind ``applies=``, but for the helpers that hand on what they are given."""
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "applies" and ast.unparse(node.value) != "applies":
            yield node.value


def strange(value: ast.expr, tree: ast.Module, others: dict[str, ast.Module]) -> Iterator[str]:
    """What of a selection is no word of ``laws.asked``, nor put together of such."""
    if isinstance(value, ast.Name) and value.id not in WORDS:
        made = [*_made(value.id, tree), *(m for other in others.values() for m in _made(value.id, other))]
        found = [[*strange(v, tree, others)] for v in made]
        yield from [value.id] if not made else min(found, key=len)
    elif isinstance(value, ast.Call):
        called = value.func.id if isinstance(value.func, ast.Name) else ast.unparse(value.func)
        if called not in WORDS:
            yield called
        if called in ("both", "either", "unless", "by_level"):
            inner = [*value.args, *(k.value for k in value.keywords)]
            inner = [a for a in inner if not isinstance(a, ast.Constant | ast.Starred)]
            yield from (s for a in inner for s in strange(a, tree, others))
    elif not isinstance(value, ast.Name):
        yield ast.unparse(value)


def _made(name: str, tree: ast.Module) -> list[ast.expr]:
    return [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and any(ast.unparse(t) == name for t in node.targets)
    ]


TREES = {
    str(p.relative_to(ROOM)): ast.parse(p.read_text(encoding="utf-8"))
    for room in ROOMS
    for p in sorted(room.rglob("*.py"))
}


def test_no_law_chooses_otherwise() -> None:
    found = {path: [s for v in selections(tree) for s in strange(v, tree, TREES)] for path, tree in TREES.items()}
    assert sum(len([*selections(tree)]) for tree in TREES.values()) > 60
    assert not {path: said for path, said in found.items() if said}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Law(applies=lambda s: '')", "lambda s: ''"),
        ("def _has(setting): ...\nLaw(applies=_has)", "_has"),
        ("Law(applies=both(fact(Fact.LATE), _has))", "_has"),
        ("MINE = unless(other(1))\nLaw(applies=MINE)", "other"),
        ("Law(applies=both(fact(Fact.LATE), unless(number('mu'), 'why')))", ""),
    ],
)
def test_the_scan_sees_a_selection_of_its_own(text: str, said: str) -> None:
    tree = ast.parse(text)
    assert [s for v in selections(tree) for s in strange(v, tree, {})] == ([said] if said else [])


def test_every_law_holds_a_word() -> None:
    assert {type(law.applies) for law in every().values()} == {asked.Word}


# What it says.


def test_a_fact_that_is_said_read_off_or_denied_is_told_apart() -> None:
    fedavgm = setting("fedavgm")
    assert fact(Fact.PLAIN_MEAN)(fedavgm) == (True, "Fact.PLAIN_MEAN")
    assert fact(Fact.JOINT)(fedavgm).words.startswith("its row says no Fact.JOINT (")
    assert fact(Fact.LATE)(fedavgm).words.startswith("its row shows no Fact.LATE (")
    denying = replace(fedavgm.algorithm, denies={Fact.PLAIN_MEAN: "it reads each"})
    words = fact(Fact.PLAIN_MEAN)(replace(fedavgm, algorithm=denying)).words
    assert words == f"its row denies Fact.PLAIN_MEAN ({Fact.PLAIN_MEAN}): it reads each"


def test_an_option_is_missing_or_has_another_value() -> None:
    here = setting("fedadam")
    assert option("epsilon", "outside")(here) == (True, "epsilon = outside")
    assert option("epsilon", "inside")(here) == (False, "its option epsilon is outside, not inside")
    assert option("cover")(here) == (False, "it has no option cover")
    assert if_option("cover", "axes")(here).asked and not if_option("epsilon", "inside")(here).asked


def test_words_are_put_together_by_what_they_say() -> None:
    here = setting("fedadam")
    late, rate = fact(Fact.LATE), number("eta")
    assert both(rate, unless(late))(here) == (True, "eta, no Fact.LATE")
    assert unless(rate, "it moves")(here) == (False, "it has eta: it moves")
    assert either(late, number("mu", "rho", "z"))(here).words.endswith("; and it has no hyper-parameter mu, rho or z")
    pinned = setting("fedadam", fixed={"eta": 1.0})
    # Who could be asked, were it not for what is pinned, is told that.
    assert either(late, settable("eta"))(pinned).words == "not offered: eta cannot be set"
    assert both(late, number("nothing"))(here) == late(here)


def test_what_is_pinned_where_it_fits_is_not_in_the_way() -> None:
    for value, is_asked in ((0.0, True), (0.5, False)):
        assert settable("v0", fits=zero)(setting("fedadam", fixed={"v0": value})).asked is is_asked
    assert settable("v0", "mu")(setting("fedavg", fixed={"v0": 1.0})).asked, "what plays no part may be pinned"


def test_whoever_has_a_unit_is_known_by_its_dimension() -> None:
    """A length of its own that cannot be set is in the way of the law of scales, whatever it is called."""
    here = setting("fedavgm", fixed={"beta": 0.5})
    scales = every()["scales"].applies
    assert scales(here).asked
    lengthy = replace(here.algorithm, dimensions={"beta": Dimension.LENGTH})
    assert scales(replace(here, algorithm=lengthy)).words == "not offered: beta cannot be set"
    s = next(iter(symmetries._scaled_hyper(_case(lengthy.id, beta=0.5), 4.0).items()), None)
    assert s is None, "a ratio stays"


def _case(name: str, **hyper: float) -> symmetries.Scenario:
    from fedspec_suite.measure.cases import scenarios
    from fedspec_suite.measure.drawn import drawn

    s = drawn(scenarios(setting(name)), 1, 0)[0]
    return symmetries.with_hyper(s, **hyper)


def test_each_answer_has_words() -> None:
    """Whoever is asked, and whoever is not, reads why."""
    for offer in SUBJECT.info.offers[:: 1 + len(SUBJECT.info.offers) // 60]:
        here = setting_of(offer)
        for law in every().values():
            is_asked, words = law.answer(here, offer.intermediates, concurrent=True)
            assert words.strip(" ,;:") == words != "", (law.id, offer)
            assert not is_asked or words.startswith(("has ", "shows ", "is judged at this level")), words


# Of an own algorithm.


@pytest.fixture(scope="module")
def own() -> dict[tuple[str, str], dict[str, str]]:
    command = [sys.executable, "-c", "from fedspec_suite.cli.start import main; main()", "laws", "--why", "fed-agree"]
    ran = subprocess.run([*command, "--json", "--plugin", FED_AGREE], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return {(row["law"], row["level"]): row for row in json.loads(ran.stdout)}


@pytest.mark.parametrize(
    ("law", "level", "why_not"),
    [
        ("mean", "server", f"its row denies Fact.PLAIN_MEAN ({Fact.PLAIN_MEAN}): its rate reads each "),
        ("coordinates", "server", "its row denies coordinates: its rate is one number over the whole model"),
        ("affine-round", "round", "it has no matrix of its round (MAPS in its file)"),
        ("path", "round", f"its row says no Fact.AFFINE ({Fact.AFFINE})"),
        ("rate", "server", "it has no hyper-parameter eta"),
        ("client-split", "server", "its option weights is uniform, not examples"),
        ("extrapolates", "server", "it has no option nova_weights"),
        ("fedadam-is-fedavgm", "server", "it is about fedadam"),
    ],
)
def test_a_plugin_reads_what_to_say_in_its_row(
    own: dict[tuple[str, str], dict[str, str]], law: str, level: str, why_not: str
) -> None:
    row = own[law, level]
    assert row["why_not"].startswith(why_not) and row["why"] == ""


@pytest.mark.parametrize(
    ("law", "level", "why"),
    [
        ("follows-delta", "server", "shows delta"),
        ("client-order", "server", "is judged at this level"),
        ("unrolled", "server", "has a closed form of its server (STEPS or MOVES in its file)"),
        ("objective-unit", "round", "has a Method as its run"),
        ("problem-translates", "round", "has no Fact.LAYERED, no Fact.DECAYING, no averaged = all"),
    ],
)
def test_a_plugin_reads_why_it_is_asked(
    own: dict[tuple[str, str], dict[str, str]], law: str, level: str, why: str
) -> None:
    assert (own[law, level]["why"], own[law, level]["why_not"]) == (why, "")


@pytest.mark.slow
def test_the_table_says_why_and_fits_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    ran = fedspec("laws", "--why", "fedamsgrad")
    assert ran.code == 0 and max(map(len, ran.out.splitlines())) <= 80
    lines = {line.split()[0]: line for line in ran.out.splitlines() if line.strip()}
    assert lines["follows-v-hat"].split(maxsplit=3)[3].strip() == "shows v_hat"
    about = sum({*edge.levels} & {*find("fedamsgrad").levels} != set() for edge in EDGES if edge.source != "fedamsgrad")
    assert f"{about} are about other algorithms" in " ".join(ran.out.split())
