"""Test whether a subject refuses zeros, or models of several blocks, although its claim allows them.

A case without any zero is played, then with one of them; a case with a single block, then one with several.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from fedspec.contract import Offer, Subject
from fedspec.domains import DOMAINS
from fedspec.errors import FedspecError
from fedspec.reference import SUBJECT
from fedspec_suite.measure.bench import Bench, bench_of
from fedspec_suite.measure.cases import scenarios
from fedspec_suite.measure.declared_limits import with_zero, zeros
from fedspec_suite.measure.edge_cases import plain_case
from fedspec_suite.measure.in_process import InProcess
from fedspec_suite.measure.input_ranges import extent_of
from fedspec_suite.measure.process import SubjectHangs, SubjectRaised
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.seeded_draws import draw_cases
from fedspec_suite.measure.setting import Setting, setting_of
from fedspec_suite.measure.verdict import Beyond, Deviates, Obligation, Status, Undecided

CASES, SEED = 6, 0
"""Number of drawn cases, of which the one with the most clients is used, and their seed."""

TAKES_ZERO = "takes-zero"
"""Prefix of the id of the obligation that a refused zero breaks; it runs only if an answer was missing."""


TAKES_BLOCKS = "takes-blocks"
"""Id of the obligation that a refusal of models of several blocks breaks."""

REFUSALS = (TAKES_ZERO, TAKES_BLOCKS)


def refused_by(subject: Subject, offer: Offer, obligations: Sequence[Obligation]) -> tuple[dict[str, str], Offer]:
    """If an answer was missing, return the zeros and models that the subject refuses, and the offer without them."""
    silent = [o.reason for o in obligations if o.status in {Status.ERROR, Status.FAIL} and o.reason]
    # A subject that hangs refuses nothing.
    hangs = any(reason.endswith("it was stopped") for reason in silent)
    if not silent or hangs:
        return {}, offer
    found = refused(subject, offer)
    taken = replace(offer, nonzero=(*offer.nonzero, *found))
    if said := refuses_blocks(subject, taken):
        found, taken = {**found, TAKES_BLOCKS: said}, replace(taken, blocks="one")
    return found, taken


def refuses_blocks(subject: Subject, offer: Offer) -> str:
    """Return the subject's error for a model of two blocks if it accepts one block; else empty."""
    setting = setting_of(offer)
    if setting.one_block or setting.matrices or setting.parts or "peers" in setting.takes:
        return ""
    one = replace(offer, blocks="one")
    try:
        if _says(bench_of(subject, one, setting_of(one)), plain_case(setting_of(one), {"w": (3,)})):
            return ""
        return _says(bench_of(subject, offer, setting), plain_case(setting, {"w": (2,), "b": (1,)}))
    except SubjectHangs:
        return ""


def refused(subject: Subject, offer: Offer) -> dict[str, str]:
    """Return the names that may not be zero, each with the subject's error; ``weight`` is a client's sample size.

    Empty where it does not answer without any zero either, for then another thing is wrong.
    """
    names = _allowed(setting_of(offer))
    setting = setting_of(replace(offer, nonzero=tuple(dict.fromkeys((*offer.nonzero, *names)))))
    bench = bench_of(subject, offer, setting)
    out: dict[str, str] = {}
    try:
        # Where several clients take part, one of them may have no examples.
        plain = max(draw_cases(scenarios(setting), CASES, SEED), key=lambda s: extent_of(s).get("clients", (0, 0))[1])
        if _says(bench, plain):
            return {}
        for name, s in _with_zeros(setting, plain, names):
            if said := _says(bench, s):
                out[name] = said
    except SubjectHangs:
        pass
    return out


def obligations(found: dict[str, str]) -> list[Obligation]:
    """Return a failed obligation for each refused zero, and for a refusal of models of several blocks."""
    laws = {name: name if name == TAKES_BLOCKS else f"{TAKES_ZERO}-{name}" for name in found}
    return [Obligation(laws[name], "any", Status.ERROR, (), reason=said) for name, said in found.items()]


def _allowed(setting: Setting) -> list[str]:
    """List quantities that the claim allows to be zero and the subject neither pins nor declares as refused."""
    mine = [n for n in setting.numbers if n not in setting.fixed and DOMAINS[n].domain.holds(0)]
    if setting.v0_is_tau_squared:
        mine = [n for n in mine if n not in {"v0", "tau"}]
    return [n for n in (*mine, "weight") if n not in setting.nonzero]


def _with_zeros(setting: Setting, plain: Scenario, names: list[str]) -> Iterator[tuple[str, Scenario]]:
    """The case with each zero alone, where the claimed reading allows it and the specification answers."""
    known = bench_of(InProcess(SUBJECT), Offer(setting.algorithm.id, setting.level, setting.reading), setting)
    for name in names:
        s = with_zero(plain, name)
        held = all(r.holds(s.case.hyper) for r in setting.algorithm.reading(setting.reading).requires)
        if held and name in zeros(s) and not _says(known, s):
            yield name, s


def _says(bench: Bench, s: Scenario) -> str:
    """Why there is no answer; empty where there is one, right or wrong.

    Raises:
        SubjectHangs: it does not come in time.
    """
    try:
        # A zero may be divided by.
        with np.errstate(all="ignore"):
            bench.play(s)
    except SubjectHangs:
        raise
    except (Deviates, Beyond):
        return ""
    except SubjectRaised as error:
        # The zero is why, in whatever event it counts first.
        return error.said
    except Undecided as error:
        # Nobody is asked for what the specification itself may not say.
        return str(error)
    except FedspecError as error:
        return str(error)
    return ""
