"""Laws choose their algorithms in the words of ``laws.applicability``; ``fedspec laws`` prints the reasons."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest
from test_judge.diagnosing import offer_of, setting_at, written
from test_judge.support import ROOT, fedspec, inside, with_own

from fedspec.catalogue import CATALOGUE, find
from fedspec.domains import Dimension
from fedspec.facts import Fact
from fedspec.reference import SUBJECT
from fedspec_properties import symmetries
from fedspec_properties.invariants import INVARIANTS
from fedspec_properties.reductions import EDGES
from fedspec_suite.judge.check import check
from fedspec_suite.judge.request import Request
from fedspec_suite.laws import all_laws, applicability, retired
from fedspec_suite.laws.applicability import both, either, fact, if_option, number, option, settable, unless
from fedspec_suite.measure.setting import setting_of
from fedspec_suite.report.sentences import head

# One vocabulary.


def test_every_law_holds_a_word() -> None:
    assert {type(law.applies) for law in all_laws().values()} == {applicability.Word}


def strangers(word: applicability.Word) -> list[str]:
    """Modules other than `laws.applicability` in which parts of a word were made."""
    held = [cell.cell_contents for cell in word.answer.__closure__ or ()]
    parts = [p for h in held for p in (h.values() if isinstance(h, dict) else h if isinstance(h, tuple) else [h])]
    made = word.answer.__module__
    own = [made] if made != applicability.__name__ else []
    return own + [s for p in parts if isinstance(p, applicability.Word) for s in strangers(p)]


def test_no_law_chooses_by_a_word_of_its_own() -> None:
    assert {law.id: strangers(law.applies) for law in all_laws().values() if strangers(law.applies)} == {}


@pytest.mark.parametrize("of", [unless, partial(both, applicability.always), partial(either, applicability.method)])
def test_the_scan_sees_a_word_of_a_laws_own(of: Callable[[applicability.Word], applicability.Word]) -> None:
    mine = applicability.Word("mine", lambda setting: applicability.Answer(True, "mine"))
    assert strangers(mine) == strangers(of(mine)) == strangers(applicability.by_level(server=of(mine))) == [__name__]


# What it says.


def test_a_fact_that_is_said_read_off_or_denied_is_told_apart() -> None:
    fedavgm = setting_at("fedavgm", "server")
    assert fact(Fact.PLAIN_MEAN)(fedavgm) == (True, "Fact.PLAIN_MEAN")
    assert fact(Fact.JOINT)(fedavgm).words.startswith("its row says no Fact.JOINT (")
    assert fact(Fact.LATE)(fedavgm).words.startswith("its row shows no Fact.LATE (")
    denying = replace(fedavgm.algorithm, denies={Fact.PLAIN_MEAN: "it reads each"})
    words = fact(Fact.PLAIN_MEAN)(replace(fedavgm, algorithm=denying)).words
    assert words == f"its row denies Fact.PLAIN_MEAN ({Fact.PLAIN_MEAN}): it reads each"


def test_an_option_is_missing_or_has_another_value() -> None:
    here = setting_at("fedadam")
    assert option("epsilon", "outside")(here) == (True, "epsilon = outside")
    assert option("epsilon", "inside")(here) == (False, "its option epsilon is outside, not inside")
    assert option("cover")(here) == (False, "it has no option cover")
    assert if_option("cover", "axes")(here).asked and not if_option("epsilon", "inside")(here).asked


def test_words_are_put_together_by_what_they_say() -> None:
    here = setting_at("fedadam")
    late, rate = fact(Fact.LATE), number("eta")
    assert both(rate, unless(late))(here) == (True, "eta, no Fact.LATE")
    assert unless(rate, "it moves")(here) == (False, "it has eta: it moves")
    assert either(late, number("mu", "rho", "z"))(here).words.endswith("; and it has no hyper-parameter mu, rho or z")
    pinned = setting_at("fedadam", fixed={"eta": 1.0})
    # Who could be asked, were it not for what is pinned, is told that.
    assert either(late, settable("eta"))(pinned).words == "skipped: eta cannot be set"
    assert both(late, number("nothing"))(here) == late(here)


def test_what_is_pinned_where_it_fits_is_not_in_the_way() -> None:
    for value, is_asked in ((0.0, True), (0.5, False)):
        assert settable("v0", fits=lambda v: v == 0)(setting_at("fedadam", fixed={"v0": value})).asked is is_asked
    assert settable("v0", "mu")(setting_at("fedavg", fixed={"v0": 1.0})).asked, "what plays no part may be pinned"


def test_whoever_has_a_unit_is_known_by_its_dimension() -> None:
    """A length of its own that cannot be set is in the way of the law of scales, whatever it is called."""
    here = setting_at("fedavgm", fixed={"beta": 0.5})
    scales = all_laws()["scales"].applies
    assert scales(here).asked
    lengthy = replace(here.algorithm, dimensions={"beta": Dimension.LENGTH})
    assert scales(replace(here, algorithm=lengthy)).words == "skipped: beta cannot be set"
    s = next(iter(symmetries._scaled_hyper(_case(lengthy.id, beta=0.5), 4.0).items()), None)
    assert s is None, "a ratio stays"


def _case(name: str, **hyper: float) -> symmetries.Scenario:
    from fedspec_suite.measure.cases import scenarios
    from fedspec_suite.measure.seeded_draws import draw_cases

    s = draw_cases(scenarios(setting_at(name)), 1, 0)[0]
    return symmetries.with_hyper(s, **hyper)


def test_each_answer_has_words() -> None:
    """Reason in words for each law and offer, asked or not."""
    for offer in SUBJECT.info.offers[:: 1 + len(SUBJECT.info.offers) // 60]:
        here = setting_of(offer)
        for law in all_laws().values():
            is_asked, words = law.answer(here, offer.intermediates, concurrent=True)
            assert words.strip(" ,;:") == words != "", (law.id, offer)
            assert not is_asked or words.startswith(("has ", "shows ", "is judged at this level")), words


# Of an own algorithm.


@pytest.fixture(scope="module")
def own() -> dict[tuple[str, str], dict[str, str]]:
    ran = with_own("laws", "--why", "fed-agree", "--json", "--plugin", str(ROOT / "examples/fed_agree.py"), cwd=ROOT)
    assert ran.code == 0, ran.err
    return {(row["law"], row["level"]): row for row in ran.rows}


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


@pytest.mark.slow
def test_all_of_them_with_what_their_laws_exercise() -> None:
    rows = inside("laws", "--invariants", "--json").rows
    assert [row["id"] for row in rows] == [v.id for v in INVARIANTS]
    (row,) = (row for row in rows if row["id"] == "afga.27")
    assert row["laws"] == ["scales", "gossip-stretches"] and row["source"] == "eq. (2) (L112-130)"
    assert {"fedamsgrad", "afga", "cafga"} <= set(row["algorithms"])
    assert {"fedamsgrad.v_hat", "fedamsgrad.step"} <= set(row["equations"])


def test_one_paper_as_a_table() -> None:
    ran = inside("laws", "--paper", "fednova")
    assert ran.code == 0
    assert "fednova.44" in ran.out and "afga.1" not in ran.out
    assert "test_inconsistency_grows_with_rho" in ran.out.replace("\n", "")


def test_a_paper_that_is_none_is_refused() -> None:
    inside("laws", "--invariants", "--paper", "gravity").refused("'gravity'", "fednova")


def test_one_law_with_whom_it_asks_and_what_it_notices() -> None:
    said = inside("laws", "control-is-mean").out
    assert said.startswith("control-is-mean\n") and "checks without running the published rule" in said
    asked = {row["law"] for row in inside("laws", "--why", "scaffold", "--json").rows if row["why"]}
    assert "control-is-mean" in asked and ": scaffold\n" in re.sub(" +\n", "\n", said)
    assert "asked by" in said and "check --properties" in said
    assert "fedspec mutants run --law control-is-mean" in said


def test_a_law_that_is_asked_no_more_is_told_with_what_shows_the_same() -> None:
    for id in retired():
        assert id not in all_laws()
        said = " ".join(inside("laws", id).out.split())
        assert said.startswith(f"{id}: ") and "no longer exists; instead, " in said
    inside("check", "spec", "--law", "buffers-order").refused("buffers-order", "no longer exists", "buffers-follow")


def test_of_a_law_that_everybody_is_asked_the_first_names_stand() -> None:
    assert re.search(
        rf"asked of +{len(CATALOGUE)} of {len(CATALOGUE)} .* and \d+\s+more", inside("laws", "follows-x").out, re.S
    )


def test_some_laws_by_their_ids() -> None:
    rows = inside("laws", "control-*", "--json").rows
    assert [row["id"] for row in rows] == [law for law in all_laws() if law.startswith("control-")] != []
    inside("laws", "gravity").refused("'gravity'", "fedspec laws")
    inside("laws", "control-*", "--why", "scaffold").refused("PATTERN", "leave it out")


@pytest.mark.parametrize(
    ("law", "told"),
    [
        ("resumes", "resumes=True in the claim, and save and restore in the session (docs/resume.md)"),
        ("faults-as-declared", "faults={...} in the claim (docs/faults.md)"),
        ("buffers-whole", "buffers={...} in the claim (docs/fields.md)"),
        ("rates-follow", 'rates="rounds" or "clients" in the claim (docs/fields.md)'),
    ],
)
def test_a_check_that_the_claim_does_not_ask_for_says_what_it_needs(law: str, told: str) -> None:
    subject = written(offer_of("fedavg", "server"), SUBJECT.start)
    (r,) = check(Request(("it",), law=law, profile="quick", given={"it": subject}))
    assert (r.verdict, head(r)) == ("inconclusive", f"the check {law} needs {told}")
