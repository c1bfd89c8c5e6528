"""Coverage of a claim: a claim conforms, without more words, only if every equation of it shows."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import numpy as np
import pytest
from test_judge.diagnosing import offer_of
from test_judge.results import asked, printed, result
from test_judge.support import fedspec

from fedspec.algorithms.scaffold import server
from fedspec.catalogue import CATALOGUE
from fedspec.contract import Offer, Subject
from fedspec.mixing.control_variates import server_control
from fedspec.reference import SUBJECT
from fedspec.rules import RULES, equations
from fedspec_suite import DoesNotConform, check_subject
from fedspec_suite.judge.equation_coverage import compared_quantities, uncovered_equations, with_coverage
from fedspec_suite.judge.runner import judge_offer, result_of
from fedspec_suite.measure.edited_sessions import form_of
from fedspec_suite.measure.function_copies import Copy, plan_of
from fedspec_suite.measure.in_process import InProcess
from fedspec_suite.measure.verdict import Conformity, Result, Status, Unseen, exit_code
from fedspec_suite.mutants import MUTANTS, Mutated, edited, edits
from fedspec_suite.mutants.spoilt import moved, spoils, tilted
from fedspec_suite.report import badges, results_page
from fedspec_suite.report.junit import junit
from fedspec_suite.report.markdown import markdown
from fedspec_suite.report.partial_conformance import to_show
from fedspec_suite.report.results_file import ResultsFile, Run, line
from fedspec_suite.report.sarif import sarif
from fedspec_suite.report.sentences import head, tally

pytestmark = pytest.mark.table(1)

C = Unseen("scaffold.c", "c = c + sum over S of q_i (c_i^+ - c_i)", ("c",))

SCAFFOLD = offer_of("scaffold", "server")
SAID = "conforms in x; c was not seen"


def judged(subject: Subject, offer: Offer, law: str = "follows-*", unasked: int | None = 0) -> Result:
    """Judge an offer by these laws as if there were no others, without a diagnosis."""
    found = judge_offer(InProcess(subject), offer, law=law, cases=6)
    return with_coverage(
        result_of(subject, offer, found, unasked=unasked, profile="quick"), offer, compared_quantities(found)
    )


@pytest.mark.slow
def test_an_average_over_the_wrong_clients_that_does_not_show_is_no_bare_conforms() -> None:
    """The defect of the adapter that shows x alone: at level server, no model depends on c."""
    for shows, verdict, said in (
        ((), "conforms in part", SAID),
        (("delta",), "conforms in part", "conforms in x, delta; c was not seen"),
        (("c",), "does not conform", "does not conform"),
    ):
        r = judged(Mutated(MUTANTS["scaffold-participants"]), replace(SCAFFOLD, intermediates=shows))
        assert (r.verdict, r.said) == (verdict, said)
        assert r.unseen == (() if "c" in shows else (C,))


def test_the_specification_conforms_where_it_shows_all() -> None:
    assert judged(SUBJECT, SCAFFOLD).said == "conforms"
    assert judged(SUBJECT, offer_of("scaffold", "round", intermediates=())).said == "conforms"


@pytest.mark.parametrize(
    ("law", "said"),
    [
        ("dtype", "passes 1 check in quick cases"),
        ("dtype,repeats", "passes 2 checks in quick cases"),
        ("follows-c", "follows c in quick cases; x, delta were not seen"),
        ("follows-x,follows-c", "follows x, c in quick cases"),
        ("follows-*", "follows x, delta, c in quick cases"),
        ("*", "conforms"),
    ],
)
def test_an_offer_of_which_obligations_were_left_out_never_conforms(law: str, said: str) -> None:
    alone = replace(SCAFFOLD, dtypes=("float64",))
    r = judged(SUBJECT, alone, law, unasked=None)
    assert exit_code([r]) == 0 and exit_code([r], strict=True) == (3 if r.unasked else 0)
    assert r.unasked + r.required == len(judge_offer(InProcess(SUBJECT), alone, cases=1))
    assert r.said == (f"{said}; {r.unasked} checks not asked" if r.unasked else said)


def test_what_was_compared_is_what_passed_in_every_type() -> None:
    both = [asked("follows-x"), asked("follows-x", dtype="float32"), asked("far-rounds"), asked("mean")]
    assert compared_quantities(both) == ("x",) and compared_quantities([asked("mean")]) == ()
    assert compared_quantities([*both, asked("follows-c")]) == ("x", "c")
    assert compared_quantities([*both, asked("follows-c"), asked("follows-c", Status.XFAIL)]) == ("x",)
    assert compared_quantities([*both, asked("follows-c", Status.SKIP)]) == ("x",)


NOWHERE = {
    ("scaffold", "server"): {"scaffold.c": ("c",)},
    # w_i tau_eff d_i = p_i Delta_i: the norms cancel, whatever they are.
    ("fednova", "round", "implied-weights"): {"fednova.a": ("tau_eff",), "fednova.a_sgd": ("tau_eff",)},
}
"""Equations that no model shows, by the start of the claim, with the intermediates that do."""


def without_x(offer: Offer) -> dict[str, tuple[str, ...]]:
    mine = offer.algorithm, offer.level, offer.reading
    return next((shown for claim, shown in NOWHERE.items() if mine[: len(claim)] == claim), {})


@pytest.mark.parametrize("number", range(len(SUBJECT.info.offers)))
def test_every_claim_shows_in_the_model_but_for_two(number: int) -> None:
    offer = SUBJECT.info.offers[number]
    missing = without_x(offer)
    assert {u.equation: u.shown_by for u in uncovered_equations(offer, ("x",))} == missing
    assert uncovered_equations(offer, ("x", *{name for shown in missing.values() for name in shown})) == ()


@pytest.mark.slow
@pytest.mark.parametrize("level", ["server", "round"])
def test_defects_that_somebody_named_agree(level: str) -> None:
    """By another way: what a catalogued defect of SCAFFOLD's c changes, it changes in what is said to show c."""
    offer = offer_of("scaffold", level)
    missing = {u.equation for u in uncovered_equations(offer, ("x",))}
    for name in ("scaffold-c-sign", "scaffold-c-forgets"):
        subject, alone = InProcess(Mutated(MUTANTS[name])), replace(offer, dtypes=("float64",))
        found = judge_offer(subject, alone, law="follows-x,follows-c", cases=16)
        noticed = {o.law for o in found if o.status is Status.FAIL}
        assert "follows-c" in noticed and ("follows-x" in noticed) == ("scaffold.c" not in missing)


def test_an_equation_is_spoilt_in_the_narrowest_place_first() -> None:
    """A record is returned whole in the last place only, where a wrong c would show in x."""
    adam = RULES["fedspec.server.adam.adam"]
    for e in equations(adam):
        mutants, *_ = spoils(adam, e)
        (symbol,) = {node.targets[0].id for node in ast.walk(ast.parse(mutants[0].new)) if is_spoilt(node)}
        assert symbol == ("x" if e.id.endswith(".step") else e.id.rpartition(".")[2])


def is_spoilt(node: ast.AST) -> bool:
    match node:
        case ast.Assign(value=ast.Call(func=ast.Name("spoilt"))):
            return True
    return False


def test_a_spoilt_equation_has_another_value_everywhere_or_the_same_sum() -> None:
    a = np.array([[0.25, 0.0, 0.5], [0.25, 1.0, 2.0]])
    assert (moved(a) != a).all() and (moved(a) > 0).all() and moved(a).dtype == a.dtype
    assert tilted(a).sum() == a.sum() and (tilted(a) != a).any()
    assert tilted([3.0, 1.0]) == [3.5, 0.5] and moved(2) != 2 and moved((a,))[0].shape == a.shape
    (c,) = equations(server_control)
    form = form_of(CATALOGUE["scaffold"], "server")
    for mutant in next(iter(spoils(server_control, c))):
        copy = Copy(plan_of(form.reach, frozenset({server_control}), False), edits({mutant: edited(mutant)[1]}))
        (own,) = (names for names in copy.spaces if names["__name__"] == server.__module__)
        assert own["server_control"] is copy.edited[server_control] is not server_control


PART = result(
    Conformity.IN_PART, asked("follows-x"), algorithm="scaffold", reading="karimireddy-2020", seen=("x",), unseen=(C,)
)


def test_every_form_says_what_was_seen() -> None:
    table = printed([PART])
    assert table[0] == f"0 of 1 claim conforms, 1 {SAID}." and sum(SAID in line for line in table) == 3
    assert head(PART) == f"{SAID}: x would be the same with another scaffold.c; return c too"
    assert SAID in markdown([PART], [], "") and "conforms in part" not in markdown([PART], [], "")
    suite = Xml.fromstring(junit([PART], [], "")).find("testsuite")
    assert suite is not None and suite.get("skipped") == "1" and head(PART) in str(suite.findtext("system-out"))
    assert [c.get("name") for c in suite.iter("testcase")] == ["follows-x/float64", "seen/any"]
    (finding,) = json.loads(sarif([PART], [], ""))["runs"][0]["results"]
    assert (finding["ruleId"], finding["kind"], finding["level"]) == ("seen", "open", "none")
    assert head(PART) in finding["message"]["text"]
    record = json.loads(json.dumps(PART.record()))
    assert record["verdict"] == "conforms in part" and record["said"] == SAID and record["seen"] == ["x"]
    assert record["unseen"] == [{"equation": "scaffold.c", "text": C.text, "shown_by": ["c"]}]


RESTRICTED = replace(result(Conformity.ASKED_IN_PART, asked("follows-x")), seen=("x",), unasked=7, profile="quick")
FOLLOWS = "follows x in quick cases; 7 checks not asked"


def test_no_form_says_that_an_offer_conforms_that_was_asked_in_part() -> None:
    """Every word of every form: only the refusal of another offer may say so."""
    forms = {
        "terminal": "\n".join(printed([RESTRICTED])),
        "details": "\n".join(printed([RESTRICTED], details=True)),
        "markdown": markdown([RESTRICTED], [], ""),
        "junit": junit([RESTRICTED], [], ""),
        "sarif": sarif([RESTRICTED], [], ""),
        "lines": json.dumps(line(RESTRICTED, Run(law="follows-x"))),
        "page": re.sub(
            r"<style>.*</style>|<[^>]*>", "", results_page.page([ResultsFile("a", (RESTRICTED,), (Run(),))]), flags=re.S
        ),
        "badge": badges.of_results([RESTRICTED]).json() + badges.of_results([RESTRICTED]).svg(),
        "badge of two": badges.of_results([RESTRICTED, RESTRICTED]).json(),
        "tally": tally([RESTRICTED, replace(RESTRICTED, verdict=Conformity.DOES_NOT)]),
    }
    assert not {name: text for name, text in forms.items() if re.search(r"\bconforms?\b(?<!not conform)", text)}
    told = {name: " ".join(text.split()) for name, text in forms.items()}
    assert {name for name, text in told.items() if FOLLOWS not in text} == {"badge of two"}
    assert forms["tally"] == f"1 of 2 claims does not conform, 1 {FOLLOWS}."
    assert forms["badge of two"].count("2 of 2 asked in part") == 1
    assert tally([RESTRICTED] * 2) == "2 of 2 claims were checked in part."
    suite = Xml.fromstring(forms["junit"]).find("testsuite")
    assert suite is not None and [c.get("name") for c in suite.iter("testcase")] == ["follows-x/float64", "asked/any"]
    (finding,) = json.loads(forms["sarif"])["runs"][0]["results"]
    assert (finding["ruleId"], finding["kind"], finding["level"]) == ("asked", "open", "none")


def test_several_are_counted_and_fields_are_few() -> None:
    assert tally([PART, PART, result()]) == "1 of 3 claims conforms, 2 conform in part."
    two = (replace(C, shown_by=("c", "h")), Unseen("a.h", "h = 1", ("h",)), Unseen("a.q", "q = 1", ()))
    assert to_show(replace(PART, unseen=two)) == ["h"]
    assert replace(PART, unseen=two).said == "conforms in x; c, h, q were not seen"
    nothing = replace(PART, unseen=(Unseen("a.q", "q = 1", ()),))
    assert "nothing that an adapter can return at level server depends on a.q" in head(nothing)


def test_strict_is_inconclusive_where_something_was_not_seen() -> None:
    assert exit_code([PART]) == 0 and exit_code([PART], strict=True) == 3
    failed = result(Conformity.DOES_NOT, asked("follows-x", Status.FAIL))
    assert exit_code([PART, failed], strict=True) == 1 and exit_code([result()], strict=True) == 0
    few: dict[str, Any] = {"only": "scaffold/server/option-1", "law": "mean"}
    check_subject(InProcess(SUBJECT), **few)
    with pytest.raises(DoesNotConform, match=r"passes 1 check in quick cases; \d+ checks not asked"):
        check_subject(InProcess(SUBJECT), **few, strict=True)


@pytest.mark.slow
def test_the_command_says_it(tmp_path: Path) -> None:
    adapter = tmp_path / "mine.py"
    adapter.write_text(ADAPTER)
    few = ("check", f"py:{adapter}:SUBJECT", "--profile", "quick", "--jobs", "1")
    ran = fedspec(*few, cases=4)
    assert ran.code == 0 and ran.out.startswith(f"0 of 1 claim conforms, 1 {SAID}.\n"), ran
    ran = fedspec(*few, "--strict", "--json", cases=4)
    assert ran.code == 3 and [row["said"] for row in ran.rows] == [SAID]
    ran = fedspec("vectors", "check", f"py:{adapter}:SUBJECT", "--json")
    assert ran.code == 0 and [row["said"] for row in ran.rows] == [SAID], ran


ADAPTER = """
from dataclasses import replace
from fedspec.reference import Reference

SUBJECT = Reference()
offers = (o for o in SUBJECT.info.offers if (o.algorithm, o.level) == ("scaffold", "server"))
SUBJECT.info = replace(SUBJECT.info, claims=(replace(next(offers), intermediates=()),))
"""
