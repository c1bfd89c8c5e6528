"""Check by vectors alone: play every vector that fits an offer twice, and diagnose the failing ones."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from fedspec.contract import BESIDE, Arrival, Offer
from fedspec.errors import FedspecError
from fedspec_suite.diagnosis.comparing import agrees
from fedspec_suite.diagnosis.diagnosis import NONE
from fedspec_suite.diagnosis.found import NAMED, Found, found_as
from fedspec_suite.diagnosis.variants import Variant, as_claimed, single
from fedspec_suite.judge import equation_coverage
from fedspec_suite.judge.all_offers import ask_all_offers
from fedspec_suite.judge.refused_zeros import obligations as refusals
from fedspec_suite.judge.refused_zeros import refused_by
from fedspec_suite.judge.runner import PATIENCE, requirement_obligations, result_of
from fedspec_suite.measure.bench import WORDS, Bench, Measured, Shown
from fedspec_suite.measure.case_summary import call_of
from fedspec_suite.measure.declared_limits import broken_limit, unsettable_hyper
from fedspec_suite.measure.input_ranges import extent_of
from fedspec_suite.measure.process import SubjectError
from fedspec_suite.measure.scenario import Scenario, describe, with_dtype
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.verdict import (
    Conformity,
    Deviates,
    Obligation,
    Result,
    Status,
    Undecided,
    head_of,
)
from fedspec_suite.vectors.alternatives import PLAYS, id_of_variant
from fedspec_suite.vectors.lint import refuse_unsound
from fedspec_suite.vectors.store import FOLDER, AlgorithmVectors, load
from fedspec_suite.vectors.vector import Vector, options_of, read, scenario


@dataclass(frozen=True)
class PlayedVector:
    """Outcome of a vector on a subject in one floating-point type.

    Attributes:
        vector: the vector.
        scenario: its case, as the subject was told it.
        obligation: the outcome.
        answers: the subject's answers; empty if it gave none.
    """

    vector: Vector
    scenario: Scenario
    obligation: Obligation
    answers: tuple[Shown, ...] = ()


def judge(
    implementations: Sequence[str],
    *,
    only: Sequence[str] = (),
    folder: Path = FOLDER,
    limit: float,
    progress: Callable[[str], None] = lambda text: None,
) -> Iterator[Result]:
    """Check every offer of some subjects by vectors and yield one result each.

    Raises:
        FedspecError: a name is unknown, a file of vectors is refused, or there is nothing that can be judged.
    """
    refused: list[FedspecError] = []

    def ask(bench: Bench, setting: Setting) -> Result:
        try:
            (stored,) = load(folder, [setting.algorithm.id])
            refuse_unsound(stored, folder)
        except FedspecError as error:
            refused.append(error)
            raise
        return judged(bench, setting, stored)

    for asked in ask_all_offers(implementations, ask, only=only, limit=limit, progress=progress):
        if refused:
            raise refused[0]
        if asked.answer:
            yield asked.answer
            continue
        yield Result(
            **head_of(asked.info, asked.offer, asked.name),
            verdict=Conformity.ERROR,
            exercised=0,
            passed=0,
            required=1,
            first_deviation=asked.error,
        )


def fits(offer: Offer, setting: Setting, vector: Vector) -> str:
    """Return why a vector does not fit an offer; empty if it does."""
    case = vector["case"]
    s = scenario(vector)
    reading = setting.algorithm.reading
    same = case["level"] == offer.level and reading(case["reading"]) is reading(offer.reading)
    if not same or options_of(case) != dict(setting.options):
        return "another definition"
    if any(getattr(offer, name) for name in BESIDE):
        return "rates, gradients, messages and blocks as they are, and it changes them"
    if unsettable_hyper(offer, s):
        return "rates of rounds, which it does not say that it takes"
    if any(case["hyper"].get(n, v) != v for n, v in offer.fixed.items()):
        return "skipped: what it fixes has another value there"
    if setting.v0_is_tau_squared and case["hyper"]["v0"] != case["hyper"]["tau"] ** 2:
        return "skipped: v0 is tau^2"
    if beyond := broken_limit(offer, s):
        return f"skipped: {beyond}"
    return "" if set(vector["dtypes"]) & set(offer.dtypes) else "skipped: decided in other types only"


def _played(bench: Bench, setting: Setting, stored: AlgorithmVectors) -> tuple[list[PlayedVector], list[Obligation]]:
    """Every vector that fits an offer, played; and what is said of those that would fit if it took more."""
    offer, played, withheld, silent = bench.offer, list[PlayedVector](), dict[str, str](), 0
    for vector in stored.vectors:
        if why := fits(offer, setting, vector):
            withheld[vector["id"]] = why
            continue
        for dtype in (d for d in offer.dtypes if d in vector["dtypes"]):
            if silent >= PATIENCE:
                break
            one = play(replace(bench, dtype=dtype), setting, vector)
            silent += one.obligation.status is Status.ERROR
            played.append(one)
    skipped = [
        Obligation(name, "any", Status.SKIP, (), reason=why) for name, why in withheld.items() if why.startswith("not")
    ]
    return played, skipped


def judged(bench: Bench, setting: Setting, stored: AlgorithmVectors) -> Result:
    """Check an offer by the vectors of its algorithm; if it refuses a zero, vectors with that zero are left out."""
    played, skipped = _played(bench, setting, stored)
    zeros, taken = refused_by(bench.subject, bench.offer, [p.obligation for p in played])
    if zeros:
        # What it does take is played, as if the offer had said what it does not.
        played, skipped = _played(replace(bench, offer=taken), replace(setting, nonzero=taken.nonzero), stored)
        skipped = [*skipped, *refusals(zeros)]
    # One that is met is no sign that anything was computed.
    broken = [o for o in requirement_obligations(setting) if o.status is Status.FAIL]
    asked = [*(p.obligation for p in played), *skipped, *broken]
    result = result_of(bench.subject, bench.offer, asked, unasked=0)
    deviating = [p.obligation for p in played if p.obligation.deviation]
    if not played and not broken and not zeros:
        said = "no vector fits its claims; `fedspec check` draws cases for it"
        return replace(result, first_deviation=said)
    if not deviating:
        held = {name for p in played for want in p.vector["want"] for name in want}
        return equation_coverage.with_coverage(
            result, taken, [name for name in ("x", *taken.intermediates) if name in held]
        )
    first = min(deviating, key=_event)
    found = named(setting, played)
    return replace(
        result,
        first_deviation=first.said,
        nearest="; or ".join(f"{f.said}{f.equation and f' at {f.equation}'}" for f in found) or NONE,
        nearest_data=tuple(f.data | {"decided": None, "ratio": None} for f in found),
    )


def _event(o: Obligation) -> tuple[int, bool]:
    return (o.deviation.event if o.deviation else 0, o.dtype != "float64")


def play(bench: Bench, setting: Setting, vector: Vector) -> PlayedVector:
    """Play a vector twice in a row, and compare the answers with its values."""
    told = scenario(vector)
    told = replace(told, case=replace(told.case, variant=setting.variant))
    s = with_dtype(told, bench.dtype)
    obligation = Obligation(
        law=vector["id"],
        dtype=bench.dtype,
        status=Status.PASS,
        equations=(vector["equations"]["x"],),
        cases=1,
        extent=extent_of(s),
        reads=True,
    )
    answers: list[Shown] = []
    try:
        for _ in range(PLAYS):
            # A subject may write into what it is given.
            answers = bench.play(copy.deepcopy(s))
            ratio = max(_compared(bench, s, vector, answers), obligation.ratio)
            obligation = replace(obligation, ratio=ratio)
    except Deviates as broken:
        call = call_of(setting, s, broken.deviation.where)
        obligation = replace(obligation, status=Status.FAIL, deviation=broken.deviation, call=call)
    except Undecided as reason:
        obligation = replace(obligation, status=Status.INCONCLUSIVE, reason=str(reason))
    except SubjectError as error:
        obligation = replace(obligation, status=Status.ERROR, reason=str(error), detail=error.detail)
    return PlayedVector(vector, s, obligation, tuple(answers))


def _compared(bench: Bench, s: Scenario, vector: Vector, answers: Sequence[Shown]) -> float:
    """The largest ratio; the first event that deviates ends it, and there what is computed first.

    Raises:
        Deviates: a number is another, or an intermediate that is offered is not shown.
    """
    bench = replace(bench, measured=Measured())
    for k, (got, want, scale) in enumerate(zip(answers, vector["want"], vector["scale"], strict=True)):
        where = f"{describe(s.events[k])} {k + 1}"
        offered = [n for n in want if n != "x" and n in bench.offer.intermediates]
        for name in (*offered, "x"):
            if name not in got:
                raise bench.missing([name], where, waits=isinstance(s.events[k], Arrival))
            numbers = np.array([float(read(v, name)) for v in want[name]])
            bench.compare(name, got[name], numbers, where, np.array(scale[name], dtype=float))
    return bench.measured.worst


def named(setting: Setting, played: Sequence[PlayedVector]) -> tuple[Found, ...]:
    """Return the variants that reproduce the subject's numbers, or its models, in every vector; listed ones first."""
    played = [p for p in played if p.answers and len(p.answers) == len(p.scenario.events)]
    failed = [p.vector for p in played if p.obligation.status is Status.FAIL]
    suspects = {name for vector in failed for names in vector["kills"].values() for name in names}
    variants = sorted(single(setting), key=lambda v: id_of_variant(v) not in suspects)
    shown = sorted({n for p in played for answer in p.answers for n in answer} - {"x", *WORDS})
    near = [(v, tuple(n for n in shown if not _gives(v, played, n))) for v in variants if _gives(v, played, "x")]
    whole = [(v, unlike) for v, unlike in near if not unlike]
    # Where the models are right, what gives them alone explains nothing.
    right = not whole and _gives(as_claimed(setting), played, "x")
    return tuple(
        found_as(setting, v, v.words, 0.0, 1.0, unlike) for v, unlike in (whole or ([] if right else near))[:NAMED]
    )


def _gives(v: Variant, played: Sequence[PlayedVector], name: str) -> bool:
    """True if a variant gives what the subject shows by this name in every vector."""
    return bool(played) and all(agrees(v, p.scenario, list(p.answers), (name,)) for p in played)
