"""First play of a claim: one small case and a second session, which reveal gross faults of an adapter at once.

An answer in a wrong shape, without a declared intermediate or without a finite number makes checks pointless. So the
judge looks for these faults first, and a fault ends the claim.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from math import sqrt
from typing import Any

import numpy as np

from fedspec.arith import Array
from fedspec.contract import Arrival, Begin, Offer, Subject
from fedspec.facts import Fact
from fedspec_suite.judge.refused_zeros import refused_by
from fedspec_suite.laws import Law, law_named
from fedspec_suite.laws.follows_rule import law_of
from fedspec_suite.measure.bench import Bench, Shown, bench_of
from fedspec_suite.measure.case_summary import call_of
from fedspec_suite.measure.edge_cases import plain_case
from fedspec_suite.measure.process import SubjectError
from fedspec_suite.measure.scenario import Scenario, change_events, describe
from fedspec_suite.measure.setting import Setting, setting_of
from fedspec_suite.measure.verdict import ADAPTER, Beyond, Deviates, Deviation, Obligation, Status, Undecided

RETURNED = "x comes back as"

WHOLE = re.compile(r"\b(u?int\d*|bool)\b")
"""Pattern of dtypes that hold no fractions."""


def first_play(subject: Subject, offer: Offer) -> Obligation | None:
    """Return the check that the adapter fails in one small case; None if its answers can be compared with the rule."""
    setting = setting_of(offer)
    bench, s = bench_of(subject, offer, setting), first_case(setting)
    law = law_of("x")
    case: Scenario | tuple[Scenario, Scenario] = s
    try:
        answers = bench.play(s)
        _look_at(bench, s, answers)
        law, case = ("isolated", (s, _another(s))) if subject.info.concurrent else ("repeats", s)
        _keeps_apart(bench, law_named(law), case)
    except Deviates as broken:
        d = broken.deviation
        law = "dtype" if RETURNED in d.note else law_of(d.shown) if d.shown in offer.intermediates else law
        o = Obligation(law, setting.dtype, Status.FAIL, (d.equation,), 1, deviation=d, case=case)
        return replace(o, call=call_of(setting, case, d.where), reads=law.startswith(law_of("")))
    except (Beyond, Undecided):
        return None
    except SubjectError as error:
        said = str(error).removeprefix(ADAPTER).replace("ContractError: ", ADAPTER, 1)
        silent = Obligation("follows-x", setting.dtype, Status.ERROR, (), reason=said, detail=error.detail)
        # A refused zero, or a refusal of several blocks, asks for another claim.
        return None if refused_by(subject, offer, [silent])[0] else silent
    return None


def is_nowhere_finite(fault: Obligation) -> bool:
    """True if the answers can be read and hold no finite number, so that a mistake may be named."""
    return fault.law == "follows-x" and fault.deviation is not None and not fault.deviation.unread


def first_case(setting: Setting) -> Scenario:
    """Return a case without unusual features, whose blocks have different shapes."""
    matrices = setting.matrices or setting.algorithm.has(Fact.MATRICES)
    blocks = {"w": (2, 3), "b": (3, 1) if matrices else (3,)}
    return plain_case(setting, {"w": (2, 3)} if setting.one_block else blocks)


def _another(s: Scenario) -> Scenario:
    def halved(a: Array) -> Array:
        return (a / 2).astype(a.dtype)

    return change_events(s, halved, halved)


def _look_at(bench: Bench, s: Scenario, answers: Sequence[Shown]) -> None:
    """Refuse a model that is nowhere finite where the rule's is, or that comes in a whole type.

    Refuse an answer without a declared intermediate where the rule shows it, too. If an earlier event deviates already,
    the checks report that event.
    """
    follows = True
    for k, got in enumerate(answers):
        where = f"{describe(s.events[k])} {k + 1}"
        rule = bench.expect(s)[k]
        shows = () if isinstance(s.events[k], Begin) else bench.offer.intermediates
        x, want = np.asarray(got["x"], float), np.array([float(v) for v in rule["x"]])
        near = np.allclose(x, want, rtol=sqrt(np.finfo(bench.dtype).eps))
        if missing := [n for n in shows if n in rule and n not in got]:
            if isinstance(s.events[k], Arrival) and not near:
                # A server that steps at other arrivals shows nothing here.
                return
            raise bench.missing(missing, where)
        if follows and not np.isfinite(x).any() and np.isfinite(want).all():
            kinds = " or ".join(dict.fromkeys("nan" if np.isnan(v) else "infinite" for v in x))
            note = f"every number of x is {kinds}, the claim's are finite: look for a division by 0 or a root below 0"
            raise Deviates(Deviation(bench.step_equation, where, note=note))
        follows = follows and near
        kind = str(got["dtype"][0]) if "dtype" in got else ""
        if WHOLE.search(kind):
            raise _fault(bench, f"{RETURNED} {kind} after {where}; return it in {s.case.dtype}")


def _keeps_apart(bench: Bench, law: Law | None, case: Any) -> None:
    """Ask whether a second session changes the first by more than rounding, which is a matter of the checks."""
    assert law is not None
    try:
        law.check(bench, case)
    except Deviates as broken:
        d = broken.deviation
        numbers = d.note
        if d.got is not None and d.want is not None:
            if np.isclose(d.got, d.want, rtol=sqrt(np.finfo(bench.dtype).eps)):
                return
            numbers = f"after {d.where} {d.shown or 'x'}[{d.component}] is {d.got:.9g} and, alone, {d.want:.9g}"
        remedy = "keep all state in the session object, not in its class or module"
        raise _fault(bench, f"sessions share state: {numbers}; {remedy}", whose="") from broken


def _fault(bench: Bench, words: str, whose: str = ADAPTER) -> Deviates:
    return Deviates(Deviation(bench.step_equation, "", note=whose + words))
