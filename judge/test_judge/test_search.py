"""The search for a name is bounded by a count, runs beside others, and finds what is applied block by block."""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from test_judge.by_blocks import by_blocks
from test_judge.diagnosing import diagnosed, names, offer_of, setting_at, unguarded, written

from fedspec.catalogue import CATALOGUE
from fedspec.contract import Answer, Case, Event, Offer, Round, Subject
from fedspec.mixing import accumulation as norms
from fedspec.mixing.accumulation import accumulation
from fedspec.params import flatten, unflatten
from fedspec.readings import Solver
from fedspec.reference import SUBJECT
from fedspec.reference import SUBJECT as REFERENCE
from fedspec_suite.diagnosis import search
from fedspec_suite.diagnosis.defects.blockwise import of
from fedspec_suite.diagnosis.diagnosis import in_words
from fedspec_suite.diagnosis.edits.unguarded import MOST, few
from fedspec_suite.diagnosis.identify import identify
from fedspec_suite.diagnosis.known import Known, known_of
from fedspec_suite.diagnosis.search import Search
from fedspec_suite.diagnosis.variants import CANNOT, Variant
from fedspec_suite.judge.mutant_runs import offer_setting, offers_of
from fedspec_suite.measure.bench import bench_of
from fedspec_suite.measure.in_process import InProcess
from fedspec_suite.measure.setting import setting_of
from fedspec_suite.mutants import MUTANTS, Mutant, Mutated


def test_what_is_left_out_is_counted() -> None:
    far = Search()
    v = Variant(words="a", equation="", algorithm="sgd", options={})
    assert list(far.among(search.NAMES, [v, None, v], 3)) == [v, v] and str(far) == ""
    assert list(far.among(search.MECHANICAL, itertools.repeat(v), 2000, most=4)) == [v] * 4
    # No profile goes on with the rest, so that the sentence leaves it to --details.
    assert str(far) == ""
    assert far.passes == ("3 of 3 that have a name", "4 of 2,000 mechanical edits")


def test_a_search_tells_its_count_now_and_then_and_is_cut_at_its_bound() -> None:
    told: list[str] = []
    far = Search(most=250, tell=told.append)
    v = Variant(words="a", equation="", algorithm="sgd", options={})
    assert len(list(far.among(search.NAMES, [v] * 30, 30))) == 30
    assert len(list(far.among(search.MECHANICAL, itertools.repeat(v), 2000))) == 220 and far.is_cut()
    assert list(far.among(search.TWO_NAMES, [v], 5)) == []
    assert [re.sub(r"\d+ s$", "0 s", line) for line in told] == [
        f"searching for a known mistake: {n} of at most 250 candidates, 0 s" for n in (100, 200)
    ]
    assert str(far) == "search cut at 250 of 2,035 candidates (--profile full goes on)"


def test_a_cut_search_tries_no_pairs_and_says_so() -> None:
    offer, far = Offer("sgd", "client", "zinkevich-2003"), Search(most=60)
    setting = setting_of(replace(offer, reading=CATALOGUE["sgd"].readings[0].name))

    def start(case: Case) -> Any:
        inner = REFERENCE.start(case)
        return SimpleNamespace(step=lambda e: {"x": np.sin(inner.step(e)["x"])})

    d = identify(bench_of(written(offer, start), offer, setting), setting, search=far)
    assert sum(far.looked.values()) == 60 and search.TWO_NAMES not in far.there
    assert "search cut at 60 of" in in_words(d, True)


def known(algorithm: str = "fednova", level: str = "round", **options: str) -> Known:
    return known_of(setting_of(Offer(algorithm, level, "fednova", options)))  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_limit_that_a_rule_sets_stands_for_no_count() -> None:
    words = [v.words for v in known(solver="momentum").mechanical]
    assert len(words) > 1000
    assert [w for w in words if re.match(r"(the old )?(2 \*\* [12]4|longest) stands", w)] == []


def test_a_rule_that_loops_for_longer_than_a_case_gives_no_answer() -> None:
    far = known(solver="momentum")

    def answers(tau: str) -> int:
        count = Mutant(
            id=tau,
            words="",
            algorithms=(),
            rule="fedspec.mixing.accumulation.accumulation",
            old="range(tau)",
            new=f"range({tau})",
        )
        v = replace(far.claimed, mutants=(count,))
        try:
            return len(list(v.quick(far.samples[0], v.editions()())))
        except CANNOT:
            return 0

    assert answers("tau + 1") == len(far.samples[0].events)
    assert answers(f"tau + {MOST}") == 0


def test_outside_a_candidate_nothing_is_bounded() -> None:
    bounded: Any = unguarded(accumulation)  # type: ignore[arg-type]
    assert list(few(2, 5)) == [2, 3, 4]
    for solver, more in ((Solver.SGD, {}), (Solver.MOMENTUM, {"rho": 0})):
        with pytest.raises(ArithmeticError):
            bounded(solver, MOST + 1, **more)
    assert len(accumulation(Solver.SGD, MOST + 1)) == MOST + 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "algorithm", "level", "words"),
    [
        (
            "mixing.extrapolated.extrapolated",
            "fedexp",
            "server",
            "every block is stepped by itself: a length, a sum or a ",
        ),
        ("client.compress.top_k", "ef21", "round", "compress of p_i is taken block by block"),
    ],
)
def test_a_function_that_sees_a_block_at_a_time_is_named(function: str, algorithm: str, level: str, words: str) -> None:
    offer = offer_of(algorithm, level, dtypes=("float64",))
    found = diagnosed(written(offer, by_blocks(f"fedspec.{function}").start), further=False)
    assert names(found)[0].startswith(words)


def test_it_is_looked_for_where_a_rule_reads_the_whole_model() -> None:
    asked = {o.algorithm for o in REFERENCE.info.offers if list(of(setting_of(o)))}
    assert {"fedexp", "normalised-sgd", "agdu"} <= asked and not {"fedavg", "fedadam", "adam", "median"} & asked


def test_of_a_rule_that_is_of_layers_nothing_is_said_to_go_block_by_block() -> None:
    for name, level in (("lamb", "client"), ("fed-lamb", "round"), ("muon", "client")):
        assert not [*of(setting_at(name, level))]


LEVELS = 16
OFFER = Offer("fedpaq", "round", "qsgd", fixed={"levels": float(LEVELS)}, dtypes=("float32",))


class Floors:
    """FedPAQ whose quantiser takes the level below, and one more where the draw is less than what is left."""

    def __init__(self, case: Case, drawn: bool = True) -> None:
        assert case.problem
        self.drawn, self.h, self.x0, self.x = drawn, case.hyper, case.x0, flatten(case.x0)
        self.H, self.e = (np.asarray(a, dtype=self.x.dtype) for a in (case.problem.H, case.problem.e))

    def step(self, event: Event) -> Answer:
        assert isinstance(event, Round)
        sent = [self.sent(*of) for of in zip(event.participants, event.steps, event.draws, strict=True)]
        self.x = (self.x + np.mean(sent, axis=0)).astype(self.x.dtype)
        return {"x": unflatten(self.x, self.x0)}

    def sent(self, i: int, tau: int, draws: Any) -> Any:
        y = self.x
        for _ in range(tau):
            y = y - self.h["eta_l"] * (self.H[i] @ y - self.e[i])
        v = (y - self.x).astype(self.x.dtype)
        length = np.linalg.norm(v)
        a = LEVELS * np.abs(v) / (length or 1)
        draw = np.asarray(draws if self.drawn else 0.5, v.dtype)
        return length * np.sign(v) * (np.floor(a) + (draw < a - np.floor(a))) / LEVELS


def test_levels_that_rounding_leaves_open_hide_nobody() -> None:
    assert diagnosed(written(OFFER, Floors), further=False).follows


@pytest.mark.slow
def test_they_hide_no_mistake_either() -> None:
    found = diagnosed(written(OFFER, lambda case: Floors(case, drawn=False)), further=False)
    assert not found.follows and "rounded to the nearest level" in found.instead("; ")


UNNAMED = Mutant(
    id="first-gradient-again",
    words="",
    algorithms=("adam",),
    rule="fedspec.client.adam.adam",
    old="beta1 * state.m",
    new="beta1 * (g if state.t == 1 else state.m)",
)
"""A mistake that has no name, so that everything is tried: edits, defects, and two at once."""


def watching(mutant: Mutant, call: Callable[[], None]) -> Any:
    """A mutant that calls something in each step."""

    def start(case: Case) -> Any:
        inner = Mutated(mutant).start(case)
        return SimpleNamespace(step=lambda event: call() or inner.step(event))

    return SimpleNamespace(info=Mutated(mutant).info, start=start)


def diagnosis_of(mutant: Mutant, subject: Subject | None = None) -> str:
    """Diagnosis of a mutant on its first offer."""
    number = offers_of(mutant)[0]
    offer, setting = SUBJECT.info.offers[number], offer_setting(number)
    found = identify(bench_of(InProcess(subject or Mutated(mutant)), offer, setting), setting, further=True)
    return f"{in_words(found, True)} {found}"


@pytest.mark.slow
def test_one_that_begins_inside_another_says_the_same() -> None:
    """And no name of a module and no row is another object, while a subject takes its steps or afterwards."""
    inner, outer, before = MUTANTS["scaffold-sent-whole"], UNNAMED, specification()
    alone = diagnosis_of(inner), diagnosis_of(outer)
    steps, found = iter(range(10**6)), list[str]()

    def call() -> None:
        if next(steps) in {3, 40}:
            now = specification()
            assert not [key for key, value in before.items() if now[key] is not value]
            found.append(diagnosis_of(inner))

    assert (found, diagnosis_of(outer, watching(outer, call))) == ([alone[0]] * 2, alone[1])
    now = specification()
    assert not [key for key, value in before.items() if now[key] is not value]


def specification() -> dict[tuple[str, Any], Any]:
    """All names of its modules and all rows, and the one table that closed forms need room in."""
    modules = {n: m for n, m in [*sys.modules.items()] if n.partition(".")[0] == "fedspec"}
    names = {(n, name): value for n, m in modules.items() for name, value in vars(m).items() if name != "__class__"}
    rows = {("row", i): a for i, a in CATALOGUE.items()}
    runs = {("run", i): a.run for i, a in CATALOGUE.items()}
    return {**names, **rows, **runs, **{("entry", solver): f for solver, f in norms._ENTRY.items()}}
