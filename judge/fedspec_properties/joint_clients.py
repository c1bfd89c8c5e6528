"""Laws of the clients of FedAda2's methods: dead zones, how far they reach, and the weights of their changes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from fedspec.contract import Round
from fedspec.facts import Fact
from fedspec.params import flatten
from fedspec.readings import Clipped, DeadZone, Strategy, WarmUp
from fedspec_properties.closed_forms.fedada2 import sent
from fedspec_properties.joint import FAR, law, quiet, refuse, rounds_of, shown, slack_of
from fedspec_suite.laws.asked import both, fact, number, option, takes, unless, where
from fedspec_suite.laws.relations import related
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.cases import round_scenarios
from fedspec_suite.measure.scenario import Scenario, louder, with_hyper
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.verdict import Deviates, Deviation


def _asleep(bench: Bench, s: Scenario) -> None:
    x = flatten(s.case.x0)
    for k, got in enumerate(bench.play(s)):
        note = f"every step is shorter than eps_s = {s.case.hyper['eps_s']:g}, and the model moves"
        refuse(bench, "x", k, got["x"] != x, got["x"], x, note)


def _single_steps(setting: Setting) -> st.SearchStrategy[Scenario]:
    """Rounds of one client that takes one step, with a dead zone."""

    def single(s: Scenario) -> Scenario:
        return replace(s, events=tuple(_first_step(e) for e in rounds_of(s)))

    drawn = round_scenarios(setting, clients=(1, 1), everyone=True).map(single)
    return drawn.map(lambda s: with_hyper(s, eps_s=s.case.hyper["eps_s"] or 1.1875))


def _first_step(e: Round) -> Round:
    return replace(e, steps=(1,) * len(e.steps))


def _none_or_long(bench: Bench, s: Scenario) -> None:
    h, expected = s.case.hyper, bench.expect(s)
    for k, (e, got) in enumerate(zip(rounds_of(s), bench.play(s), strict=True)):
        delta = shown(got, "delta")[0]
        least = (e.scales or (1.0,))[0] * h["eta_l"] / h.get("warm_up", 1) * h["eps_s"]
        size, slack = float(np.linalg.norm(delta)), float(np.linalg.norm(slack_of(s, expected[k], "delta")))
        if 0 < size < least - slack:
            note = f"a client's only step has length {size:.6g}, shorter than its rate times eps_s = {least:.6g}"
            raise Deviates(Deviation(bench.equation_of("delta"), f"round {k + 1}", note=note))


def _one_rate(bench: Bench, s: Scenario) -> None:
    expected = bench.expect(s)
    for k, (e, got) in enumerate(zip(rounds_of(s), bench.play(s), strict=True)):
        delta = shown(got, "delta")[0]
        scales = e.scales or (1.0,) * len(e.steps)
        reach = s.case.hyper["eta_l"] * np.mean([c * tau for c, tau in zip(scales, e.steps, strict=True)])
        longest = np.full(len(delta), reach) + slack_of(s, expected[k], "delta")
        refuse(bench, "delta", k, np.abs(delta) > longest, delta, longest, "a client moved further than tau_i eta_l")


def _louder(c: float, s: Scenario) -> Scenario:
    """The clients' objectives times c, and with them eps and what the clients' moments start from."""
    scaled = {n: s.case.hyper[n] * c**power for n, power in (("eps", 1), ("m0_l", 1), ("v0_l", 2)) if n in s.case.hyper}
    return with_hyper(louder(s, c), **scaled)


def _same_when_louder(bench: Bench, s: Scenario) -> None:
    related(bench, s, _louder(4.0, s), lambda k, x: x)


def _first_rate(bench: Bench, s: Scenario) -> None:
    """Its rate at the first step, without a warm-up."""
    written = with_hyper(s, eta_l=s.case.hyper["eta_l"] / s.case.hyper["warm_up"], warm_up=1)
    related(bench, s, written, lambda k, x: x)


def _one_step_each(setting: Setting) -> st.SearchStrategy[Scenario]:
    """Rounds of one step, under a warm-up by a power of 2, which divides exactly."""

    def first(s: Scenario) -> Scenario:
        events = tuple(_first_step(e) for e in rounds_of(s))
        return with_hyper(replace(s, events=events), warm_up=2 ** s.case.hyper["warm_up"])

    return round_scenarios(setting).map(first)


def _slower_and_higher(bench: Bench, s: Scenario) -> None:
    h = s.case.hyper
    related(bench, s, with_hyper(s, eta_l=2 * h["eta_l"], warm_up=2 * h["warm_up"]), lambda k, x: x)


def _all_warming(setting: Setting) -> st.SearchStrategy[Scenario]:
    return round_scenarios(setting).map(lambda s: with_hyper(s, warm_up=64))


def _no_sgd(setting: Setting) -> st.SearchStrategy[Scenario]:
    def spared(s: Scenario) -> Scenario:
        events = [replace(e, strategies=tuple(_adaptive(n) for n in e.strategies)) for e in rounds_of(s)]
        return replace(s, events=tuple(events))

    return round_scenarios(setting).map(spared)


def _adaptive(name: str) -> str:
    return str(Strategy.ADAGRAD) if name == Strategy.SGD else name


def _heavier(bench: Bench, s: Scenario) -> None:
    h = s.case.hyper
    events = tuple(replace(e, scales=tuple(2 * c for c in e.scales)) for e in rounds_of(s))
    heavy = with_hyper(replace(s, events=events), tau=2 * h["tau"], v0=4 * h["v0"])
    related(bench, s, heavy, lambda k, x: x)


def _twice(bench: Bench, s: Scenario) -> None:
    """Of three draws the first is doubled: as a second draw, or as twice the weight among 3/4 of the weights."""

    def once(e: Round) -> Round:
        c = [0.75 * a for a in e.scales]
        return replace(e, scales=(2 * c[0], *c[1:]))

    def again(e: Round) -> Round:
        return Round(
            (*e.participants, e.participants[0]),
            (*e.steps, e.steps[0]),
            (*e.strategies, *e.strategies[:1]),
            (*e.scales, e.scales[0]),
        )

    heavy, drawn = (replace(s, events=tuple(map(f, rounds_of(s)))) for f in (once, again))
    related(bench, drawn, heavy, lambda k, x: x)


def _three(setting: Setting) -> st.SearchStrategy[Scenario]:
    return round_scenarios(setting, clients=(3, 3), everyone=True)


def _on_their_own(setting: Setting) -> bool:
    return not sent(setting.options)


DEAD = both(
    fact(Fact.JOINT), number("eps_s"), unless(option("dead_zone", DeadZone.MOMENTUM), "it takes its short steps")
)
LAWS = (
    law(
        id="joint-dead-zone",
        words="where every step is shorter than eps_s the server never moves, whatever the gradients",
        source="Alg. 2, line 11 (L679)",
        cases=lambda setting: round_scenarios(setting).map(lambda s: with_hyper(s, eps_s=FAR)),
        check=_asleep,
        applies=DEAD,
        needs=("eps_s",),
    ),
    law(
        id="joint-dead-zone-edge",
        words="a client that takes one step is not changed by it, or by eps_s times its rate at least",
        source="Alg. 2, line 11 (L679)",
        cases=_single_steps,
        check=_none_or_long,
        applies=DEAD,
        shows="delta",
        needs=("eps_s",),
    ),
    law(
        id="joint-one-rate",
        words="without delay a client of AdaGrad's kind moves no coordinate further than tau_i eta_l, times its weight",
        source="App. F (L1510): only a delay breaks this bound",
        cases=lambda setting: round_scenarios(setting).map(
            lambda s: quiet(with_hyper(s, z=1) if "z" in s.case.hyper else s)
        ),
        check=_one_rate,
        applies=both(
            fact(Fact.JOINT),
            unless(takes("strategies"), "some of its strategies do not bound their steps"),
            unless(number("beta2_l"), "its clients' second moment is an average"),
        ),
        shows="delta",
        needs=("z",),
    ),
    law(
        id="joint-warm-up-first",
        words="a warm-up under rounds of one step: the rate is eta_l over its length, without a warm-up",
        source="App. H.2 (L1663): a linear warm-up over the first local steps",
        cases=_one_step_each,
        check=_first_rate,
        applies=both(
            fact(Fact.JOINT),
            number("warm_up"),
            unless(option("warm_up_from", WarmUp.ZERO), "its first step is taken at 0"),
        ),
        needs=("warm_up", "eta_l"),
    ),
    law(
        id="joint-warm-up-whole",
        words="where the warm-up outlasts every round, twice its length and twice eta_l are the same path",
        source="App. H.2 (L1663): the rate is linear",
        cases=_all_warming,
        check=_slower_and_higher,
        applies=both(fact(Fact.JOINT), number("warm_up")),
        needs=("warm_up", "eta_l"),
    ),
    law(
        id="joint-louder",
        words="the clients' objectives, eps and m_0 times 4, v_0 times 16: adaptive clients change as before",
        source="Algs. 2, 8 and 10: u is a quotient",
        cases=_no_sgd,
        check=_same_when_louder,
        applies=both(
            fact(Fact.JOINT),
            unless(option("clipped", Clipped.GRADIENTS), "its clients clip their gradients"),
            where(_on_their_own, "clients that begin with their own moments", "its clients receive a second moment"),
        ),
        needs=("eps", "m0_l", "v0_l"),
    ),
    law(
        id="joint-weights",
        words="all weights times 2, tau with them and v_0 times 4: the same path, since the mean divides by |S|",
        source="Algs. 5 and 8 (L1177, L1425)",
        cases=round_scenarios,
        check=_heavier,
        applies=both(fact(Fact.JOINT), takes("scales")),
        needs=("tau", "v0"),
    ),
    law(
        id="joint-drawn-twice",
        words="to be drawn twice is to weigh twice as much",
        source="Alg. 5 (L1172): S is a multiset",
        cases=_three,
        check=_twice,
        applies=both(fact(Fact.JOINT), takes("scales")),
    ),
)
