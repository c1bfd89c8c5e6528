"""Description of cases for ``fedspec show``: initial state, meanings of option values, and parts that may be empty."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from fedspec.catalogue import Algorithm
from fedspec.contract import Level, Offer, Round
from fedspec.facts import Fact
from fedspec.given import VARYING
from fedspec.reference import SUBJECT
from fedspec_suite.judge.smoke import plain_scenario
from fedspec_suite.measure.setting import RATES_AT, setting_of

STARTS = {"v0": 0.21875, "v_hat0": 0.34375, "m0": 0.40625, "v0_l": 0.46875, "m0_l": 0.53125, "eps": 0.59375}
"""Initial values that differ from every other number of a plain case, so that their origin is recognisable."""


def starts(a: Algorithm) -> dict[str, str]:
    """Return the initial value of each vector in the state: 0, the model, or a hyper-parameter.

    If an option changes the start, the value names the option.
    """
    level = a.levels[-1]
    canonical, *others = a.readings_at(level)
    found = starts_of(Offer(a.id, level, canonical.name))
    begin: Any = getattr(a.run, "init", None) or getattr(a.run, "begin", None)
    asked = {*inspect.unwrap(begin).__code__.co_names} & {*a.options} if begin else set()
    offers = {("in ", r.name): Offer(a.id, level, r.name) for r in others if asked & {*r.fixes}}
    for option in sorted(asked - {*canonical.fixes}):
        values = (str(v) for v in a.options[option])
        offers |= {(f"under {option} = ", v): Offer(a.id, level, canonical.name, {option: v}) for v in values}
    other: dict[str, dict[tuple[str, str], list[str]]] = {}
    for (where, value), offer in offers.items():
        for n, words in starts_of(offer).items():
            if words != found.get(n, words):
                other.setdefault(n, {}).setdefault((words, where), []).append(value)
    for n, said in other.items():
        listed = ", ".join(f"{words} {where}{' or '.join(values)}" for (words, where), values in said.items())
        found[n] = f"{found[n]} ({listed})"
    return found


def starts_of(offer: Offer) -> dict[str, str]:
    """Return the initial value of each vector in the state of one offer."""
    s = plain_scenario(setting_of(offer))
    given = {n: v for n, v in STARTS.items() if n in s.case.hyper}
    session: Any = SUBJECT.start(replace(s.case, hyper={**s.case.hyper, **given}))
    x0 = np.concatenate([np.ravel(array) for array in s.case.x0.values()])
    found = {n: _called(v, x0, given) for n, v in _vectors(session.state) if n not in {"x", "server"} and v.size}
    return {name: words for name, words in found.items() if words}


def _vectors(state: Any) -> Iterator[tuple[str, Any]]:
    """Yield the vectors of a state by name, the vectors of inner states included."""
    for field in fields(state) if is_dataclass(state) else ():
        value = getattr(state, field.name)
        # What the first step fills in is empty before it.
        if isinstance(value, np.ndarray) and (getattr(state, "begun", True) or field.name == "X"):
            yield field.name, value
        yield from _vectors(value)


def _called(value: Any, x0: Any, given: dict[str, float]) -> str:
    known = {"0": 0.0, **given}
    same = [name for name, number in known.items() if (value == number).all()]
    return same[0] if same else "x0" if value.size == x0.size and (value.reshape(-1) == x0).all() else ""


def shapes(a: Algorithm) -> dict[str, str]:
    """Return the shapes of those shown quantities that are not as long as the model."""
    s = plain_scenario(setting_of(Offer(a.id, a.levels[-1], a.readings[0].name)))
    session: Any = SUBJECT.start(s.case)
    answers = [session.step(event) for event in s.events]
    # Where not everybody has to take part, somebody does not, so that the two numbers differ.
    sizes = {len(last.participants): "participants"} if isinstance(last := s.events[-1], Round) else {}
    if s.case.problem is not None:
        sizes[len(s.case.problem.e)] = "clients"
    found = {}
    for n in a.shows:
        shape = np.shape(answers[-1].get(n))
        if len(shape) == 2 or n in ("w", "b_i"):
            found[n] = f"[{', '.join((sizes[shape[0]], *'d' * (len(shape) - 1)))}]"
        elif not shape and n in answers[-1]:
            found[n] = "(a number)"
    return found


def only_with(a: Algorithm) -> dict[str, str]:
    """Return the hyper-parameters that a case holds only under some values of an option, with these values."""
    out: dict[str, list[str]] = {}
    for option, kind in a.options.items():
        values = [str(v) for v in kind]
        held = [{n for level in a.levels for n in a.numbers_under(level, {**a.defaults(), option: v})} for v in values]
        for n in a.numbers:
            by = [v for v, names in zip(values, held, strict=True) if n in names]
            if 0 < len(by) < len(values):
                out.setdefault(n, []).append(f"{option} = {' or '.join(by)}")
    return {n: ", ".join(said) for n, said in out.items()}


def settable(a: Algorithm, numbers: Collection[str] = (), levels: Collection[Level] = ()) -> list[str]:
    """List the declarations about hyper-parameters, other than values, that a claim may make."""
    out = []
    numbers, levels = numbers or a.numbers, levels or a.levels
    if "client" in levels and "eta_l" in numbers:
        out.append('rates="each" in a claim at level client: every step is told its eta_l, or none is')
    for level in levels:
        kinds = [f'"{kind}"' for kind, there in RATES_AT.items() if level in there]
        if kinds and (names := [n for n in VARYING if n in a.numbers_at(level) and n in numbers]):
            out.append(
                f"rates={' or '.join(kinds)} in a claim at level {level}: an event tells {', '.join(names)} anew"
            )
    if {"v0", "tau"} <= {*numbers}:
        out.append('options={"v0": "tau-squared"} in a claim: v0 is tau^2')
    return out


def holds(a: Algorithm, level: Level) -> list[str]:
    """List the contents of a case at a level, the inputs that are rejected, and what the rule does with empty parts."""
    if level == "client":
        out = ["a round may have no steps: one Begin may follow another; a gradient may be zero, and counts as a step"]
        return [*out, "a layer is a block of x0"] if a.has(Fact.LAYERED) else out
    if level == "trace":
        return _exchanged(a) if a.event == "exchange" else _arrived()
    steps = "steps are whole numbers >= 1: who takes none does not take part"
    if level == "server":
        out = ["a round has one message at least", steps]
        if a.served:
            out.append("no more messages than population, the number of all clients, which comes with the case")
            if a.served.controls:
                out.append("each message brings control, the change c_i^+ - c_i of the client's control variate")
        if a.losses:
            out.append("each message brings loss, F_i at the model that the round began with; it is > 0")
    else:
        who = "everybody takes part, each once" if "everyone" in a.takes else "one participant at least"
        twice = "; a client may be named twice where clients are drawn with replacement"
        once = "" if "everyone" in a.takes else ", each once"
        same = {"one-length": "; all take equally many", "one-step": "; here each takes one"}
        steps += "".join(words for name, words in same.items() if name in a.takes)
        out = [who + (twice if "repeats" in a.takes else once), steps]
        if a.losses:
            out.append("problem has f, F_i(0) of every client, so that F_i(x) is known; it is > 0 along the path")
        if "draws" in a.takes:
            out.append("a draw is in [0, 1); there is one for each participant and coordinate")
    if "tau_eff" in a.shows and level == "server":
        out.append("a_norm is > 0; it is steps unless another solver than sgd is declared")
        out.append("eta_l is not told, and counts as 1 where an equation has it")
    return [*out, *_weighed(a, level)]


def _weighed(a: Algorithm, level: Level) -> list[str]:
    values = [str(v) for v in a.options.get("weights", ())]
    if "sampled_weights" in a.options:
        return ["a sample size may be 0; where weights or tau_eff are made of them, not those of all drawn"]
    if not values or (a.served and level == "server"):
        return []
    if "steps" in values:
        return [
            "a sample size may be 0: that client has no say under weights=examples, where all zero is refused; "
            "under the other weights sample sizes play no part"
        ]
    return ["a sample size may be 0; under weights=examples those of all clients may not all be"]


def _exchanged(a: Algorithm) -> list[str]:
    if a.has(Fact.PEERS):
        return ["there is one local step or more, and everybody computes at each", "row i of W is client i's"]
    out = ["computing may be empty: then nobody steps or mixes, and the models stay"]
    if "clusters" in a.takes:
        out.append("there is one cluster or more, and every client is in one")
    free = a.has(Fact.FREE_SETS) or ("clusters" in a.takes and "senders" not in a.takes)
    where = " of each cluster" if "clusters" in a.takes else ""
    return [
        *out,
        "a set of computing may be empty: then nobody steps, and all mix"
        if free
        else "a set of computing is not empty: those who send compute, or as many as send",
        f"one sender{where} at least",
        "row k of W is that of the k-th client of computing[t], in the order given"
        if "senders" in a.takes
        else "row i of W is client i's",
    ]


def _arrived() -> list[str]:
    return [
        "steps are whole numbers >= 1",
        "a delay is >= 0 and, in the versions that a right server has, never reaches back before x0, the first one",
    ]
