"""Every input of a rule varies by itself: in the cases of the comparison no input determines another one.

A server that divides by tau_i in place of ||a_i||_1 conforms wherever the two are one number. ``DETERMINED`` lists the
pairs that are allowed, each with its reason; the cases show that there is no other pair, and that each listed one is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import combinations, product
from typing import Any, TypeAlias

import pytest

from fedspec.catalogue import CATALOGUE, Program
from fedspec.contract import Arrival, Exchange, Level, Messages, Offer, Round
from fedspec.errors import ParameterError
from fedspec.reference import SUBJECT
from fedspec_suite.judge.runner import judge_offer
from fedspec_suite.judge.smoke import plain_scenario
from fedspec_suite.laws import PROPERTIES
from fedspec_suite.measure.cases import scenarios
from fedspec_suite.measure.edge_cases import edge_cases
from fedspec_suite.measure.far_cases import far_scenarios
from fedspec_suite.measure.in_process import InProcess
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.seeded_draws import draw_cases
from fedspec_suite.measure.setting import Setting, setting_of
from fedspec_suite.measure.verdict import Status

Inputs: TypeAlias = Mapping[str, Any]
"""Inputs of a rule by name, for one participant of one event."""


def inputs(s: Scenario) -> Iterator[Inputs]:
    for number, e in enumerate(s.events):
        match e:
            case Messages(messages=sent):
                whole = sum(m.weight for m in sent)
                for place, m in enumerate(sent):
                    more = {} if m.loss is None else {"loss": m.loss}
                    counted = {} if s.case.population is None else {"N": s.case.population}
                    yield {
                        "event": number,
                        "place": place,
                        "client": m.client,
                        "participants": len(sent),
                        "examples": m.weight,
                        "share": m.weight / whole if whole else 0,
                        "steps": m.steps,
                        "a_norm": m.a_norm,
                        **more,
                        **counted,
                    }
            case Round(participants=who, steps=steps, scales=scales, strategies=strategies):
                assert s.case.problem is not None
                sizes = s.case.problem.examples
                for place, (i, tau) in enumerate(zip(who, steps, strict=True)):
                    yield {
                        "event": number,
                        "place": place,
                        "client": i,
                        "participants": len(who),
                        "clients": len(sizes),
                        "examples": sizes[i],
                        "steps": tau,
                        **({"scale": scales[place]} if scales else {}),
                        **({"strategy": strategies[place]} if strategies else {}),
                    }
            case Arrival(client=i, steps=tau, delay=delay):
                assert s.case.problem is not None
                version = number // int(s.case.hyper.get("buffer", 1))
                yield {
                    "event": number,
                    "version": version,
                    "begun at": version - delay,
                    "client": i,
                    "clients": len(s.case.problem.examples),
                    "examples": s.case.problem.examples[i],
                    "steps": tau,
                    "delay": delay,
                }
            case Exchange(computing=computing):
                assert s.case.problem is not None
                for step, some in enumerate(computing):
                    for place, i in enumerate(some):
                        yield {
                            "event": number,
                            "step": step,
                            "steps": len(computing),
                            "place": place,
                            "client": i,
                            "clients": len(s.case.problem.examples),
                            "computing": len(some),
                        }


def _everyone(setting: Setting) -> bool:
    return bool({"everyone", "peers"} & {*setting.takes})


def _one_version(setting: Setting) -> bool:
    """True if every arrival makes a version."""
    return "buffer" not in setting.numbers


DETERMINED: Mapping[tuple[str, str], tuple[Callable[[Setting], bool], str]] = {
    ("a_norm", "steps"): (lambda s: s.steps_only, "the claim, or the row, says that clients take plain SGD steps"),
    ("steps", "a_norm"): (lambda s: s.steps_only, "the same"),
    ("participants", "clients"): (lambda s: s.level == "round" and _everyone(s), "the row asks everybody"),
    ("clients", "participants"): (lambda s: s.level == "round" and _everyone(s), "the row asks everybody"),
    ("computing", "clients"): (_everyone, "the row asks everybody"),
    ("clients", "computing"): (_everyone, "the row asks everybody"),
    ("version", "event"): (_one_version, "every arrival makes a version"),
    ("event", "version"): (_one_version, "every arrival makes a version"),
}
"""Inputs that determine another one: (determined input, by which) -> in which settings, and why that is right."""

ROWS = (
    *(
        ("server", name)
        for name in ("fedavg", "fednova", "scaffold", "feddyn", "q-fedavg", "krum", "diloco", "fedadam")
    ),
    *(
        ("round", name)
        for name in ("fedavg", "fednova", "fedada2", "fedblended", "scaffold", "ef21", "scaffnew", "mifa")
    ),
    *(("trace", name) for name in ("fedbuff", "fedasync", "cc-fedadam", "dsgd", "afga", "cafga", "choco")),
)


def offers() -> list[Offer]:
    named = [next(o for o in SUBJECT.info.offers if (o.level, o.algorithm) == row) for row in ROWS]
    return [*named, Offer("fednova", "server", "fednova"), Offer("fednova", "server", "fednova", {"solver": "sgd"})]


def determined(rows: list[Inputs], one: str, by: str) -> bool:
    """True if an input never differs where another one is the same."""
    seen: dict[Any, Any] = {}
    return all(seen.setdefault(r[by], r[one]) == r[one] for r in rows)


@pytest.mark.table(1)
@pytest.mark.parametrize("offer", offers(), ids=lambda o: f"{o.algorithm}-{o.level}-{'-'.join(o.options.values())}")
def test_no_input_determines_another_one(offer: Offer) -> None:
    setting = setting_of(offer)
    cases = [*draw_cases(scenarios(setting), 60, seed=0), *edge_cases(setting)]
    cases += draw_cases(far_scenarios(setting, "numbers"), 20, seed=0)
    rows = [r for s in cases for r in inputs(s)]
    values = {name: {r[name] for r in rows if name in r} for name in dict.fromkeys(name for r in rows for name in r)}
    # A row that has one gradient a round has one step of everybody.
    assert {name for name, some in values.items() if len(some) == 1} == (
        {"steps"} if "one-step" in setting.takes else set()
    )
    names = [name for name, some in values.items() if len(some) > 1]
    found = {
        (a, b) for a in names for b in names if a != b and determined([r for r in rows if a in r and b in r], a, b)
    }
    assert found == {pair for pair, (where, _) in DETERMINED.items() if where(setting) and {*pair} <= {*names}}


def test_what_a_program_reads_is_looked_at() -> None:
    """A new kind of event, or a new field of one, is a new input."""
    kinds = {o.level if not isinstance(r := setting_of(o).algorithm.run, Program) else r.event for o in offers()}
    assert kinds >= {"server", "round", "exchange", "arrival"}


Chosen = frozenset[tuple[str, str]]


def said(offer: Offer) -> Chosen:
    """The reading and every option of an offer, resolved."""
    options = CATALOGUE[offer.algorithm].resolve(offer.reading, dict(offer.options))
    return frozenset({("reading", offer.reading), *options.items()})


def pairs(offer: Offer) -> set[frozenset[tuple[str, str]]]:
    return set(map(frozenset, combinations(said(offer), 2)))


def all_offers(algorithm: str, level: Level) -> Iterator[Offer]:
    """Every reading with every choice that it leaves, but those that the rule refuses."""
    a = CATALOGUE[algorithm]
    for reading in a.readings_at(level):
        free: Mapping[str, list[str]] = {n: [*map(str, k)] for n, k in a.options.items() if n not in reading.fixes}
        for values in product(*free.values()):
            offer = Offer(algorithm, level, reading.name, dict(zip(free, values, strict=True)), dtypes=("float64",))
            try:
                SUBJECT.start(plain_scenario(setting_of(offer)).case)
            except ParameterError:
                continue
            yield offer


def unasked(algorithm: str, level: Level) -> list[Offer]:
    """Offers in which every pair of options stands that no offer of `spec` has, few of them."""
    there = [o for o in SUBJECT.info.offers if (o.algorithm, o.level) == (algorithm, level)]
    offers = list(all_offers(algorithm, level))
    left = set().union(*map(pairs, offers)) - set().union(*map(pairs, there))
    chosen = []
    while left:
        best = max(offers, key=lambda o: len(pairs(o) & left))
        left -= pairs(best)
        chosen.append(best)
    return chosen


OPTIONED = [
    (a.id, level) for a in CATALOGUE.values() if len(a.options) + (len(a.readings) > 1) > 1 for level in a.levels
]


@pytest.mark.table(1)
@pytest.mark.outside
@pytest.mark.parametrize(("algorithm", "level"), OPTIONED)
def test_the_specification_keeps_every_law_under_every_pair_of_options(algorithm: str, level: Level) -> None:
    for offer in unasked(algorithm, level):
        shows = CATALOGUE[algorithm].shows_at(level)
        bench = replace(offer, intermediates=shows)
        found = judge_offer(InProcess(SUBJECT), bench, cases=2, law=f"{PROPERTIES},repeats,isolated,dtype,inputs")
        assert found
        wrong = [(o.law, str(o.deviation)) for o in found if o.status in {Status.FAIL, Status.ERROR}]
        assert not wrong, (offer.reading, dict(offer.options), wrong)


def test_pairs_that_are_asked_already_are_not_asked_again() -> None:
    extra = unasked("vrl-sgd", "round")
    assert [(o.reading, dict(o.options)["weights"]) for o in extra] == [("mean-steps", "examples")]
    assert unasked("fedavg", "server") == []
