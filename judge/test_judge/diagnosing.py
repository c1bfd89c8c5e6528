"""Helpers of tests that judge or diagnose a subject which they write or edit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np

from fedspec.arith import Array
from fedspec.contract import Case, ClientMessage, Messages, Offer, SubjectInfo
from fedspec.reference import SUBJECT
from fedspec_suite.diagnosis.diagnosis import Diagnosis, in_words
from fedspec_suite.diagnosis.edits.unguarded import refuse_nothing
from fedspec_suite.diagnosis.identify import identify
from fedspec_suite.diagnosis.search import QUICK, Search
from fedspec_suite.judge.runner import judge_offer
from fedspec_suite.measure.bench import Bench, bench_of
from fedspec_suite.measure.function_copies import copy_parts
from fedspec_suite.measure.in_process import InProcess
from fedspec_suite.measure.setting import Setting, setting_of, with_reading
from fedspec_suite.measure.verdict import Status
from fedspec_suite.mutants import Mutant, Mutated


def offer_of(algorithm: str, level: str, reading: str = "", **more: object) -> Offer:
    """The first offer of the specification for it, with something else said."""
    found = (o for o in SUBJECT.info.offers if (o.algorithm, o.level) == (algorithm, level))
    return replace(next(o for o in found if reading in ("", o.reading)), **more)  # type: ignore[arg-type]


def setting_at(algorithm: str, level: str = "server", dtype: str = "float64", **more: object) -> Setting:
    """Setting in which that offer is judged, with some fields pinned."""
    return replace(setting_of(offer_of(algorithm, level), dtype), **more)  # type: ignore[arg-type]


def written(offer: Offer, start: Callable[[Case], Any]) -> Any:
    """A subject of one offer."""
    return SimpleNamespace(info=SubjectInfo("written", "1", (offer,)), start=start)


def server(algorithm: str, move: Callable[[Case, tuple[ClientMessage, ...], str], Array], reading: str = "") -> Any:
    """A server of its own: what it makes of a case and the changes of a round is the move of each block."""

    def start(case: Case) -> Any:
        kept = {n: a.copy() for n, a in case.x0.items()}

        def step(e: Messages) -> dict[str, Mapping[str, Array]]:
            for n, x in kept.items():
                kept[n] = (x + case.hyper.get("eta", 1) * move(case, e.messages, n)).astype(x.dtype)
            return {"x": {**kept}}

        return SimpleNamespace(step=step)

    return written(offer_of(algorithm, "server", reading, dtypes=("float64",), intermediates=()), start)


def benched(subject: Any) -> tuple[Bench, Setting]:
    """The bench of a subject's first offer, and the setting in which it is judged."""
    offer = with_reading(subject.info.offers[0])
    setting = setting_of(offer)
    return bench_of(InProcess(subject), offer, setting), setting


def diagnosed(subject: Any, further: bool = True, search: Search | None = None) -> Diagnosis:
    """The diagnosis of a subject's first offer."""
    with np.errstate(all="ignore"):
        return identify(*benched(subject), further=further, search=search)


def deviates(subject: Any, law: str = "follows-x") -> bool:
    """True if a law of a quick check fails; the check looks for no name, which takes longer."""
    offer = with_reading(subject.info.offers[0])
    judged = judge_offer(InProcess(subject), offer, profile="quick", law=law, stop=True)
    return any(o.status is Status.FAIL for o in judged)


def named(subject: Any) -> str:
    """Name of a deviation as a quick check gives it, by the subject's answers to the cases of the diagnosis alone."""
    return in_words(diagnosed(subject, search=Search(most=QUICK[subject.info.offers[0].level])), True)


def edited(
    algorithm: str, rule: str, old: str, new: str, reading: str = "", leaks: bool = False, level: str = ""
) -> Diagnosis:
    """The diagnosis of a rule with a piece of its text changed by hand."""
    flaw = Mutant(
        id="by-hand",
        words="by hand",
        algorithms=(algorithm,),
        rule=f"fedspec.{rule}",
        old=old,
        new=new,
        leaks="session" if leaks else "",
    )
    subject = Mutated(flaw)
    offer = next(o for o in subject.info.offers if reading in ("", o.reading) and level in ("", o.level))
    return diagnosed(written(replace(offer, dtypes=("float64",)), subject.start), further=False)


def names(d: Diagnosis) -> list[str]:
    """The names that fit."""
    return [f.words for f in d.found]


def unguarded(function: FunctionType) -> FunctionType:
    """A function of the specification by itself without its refusals."""
    open_: FunctionType = copy_parts([function], refuse_nothing).of(function)
    return open_
