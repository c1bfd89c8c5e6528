"""Laws of local solvers and of adaptive memory: rounds start afresh, neutral parameters vanish, bounds hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array, digits, sqrt
from fedspec.contract import Begin, Gradient, Messages
from fedspec.covers import named_cover
from fedspec.facts import Fact
from fedspec.params import flatten, shapes
from fedspec.readings import CoverName
from fedspec_properties.closed_forms import muon
from fedspec_properties.closed_forms.adaptive import AMSGRAD, direction
from fedspec_suite.laws.asked import both, fact, number, option, unless
from fedspec_suite.laws.law import Law
from fedspec_suite.laws.made import TIED, tied
from fedspec_suite.laws.relations import same_bits
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.cases import client_scenarios
from fedspec_suite.measure.parts import blocks
from fedspec_suite.measure.running import RUNNING
from fedspec_suite.measure.scenario import Scenario, describe, running, with_dtype
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.verdict import Deviates, Deviation


def _fresh(setting: Setting) -> st.SearchStrategy[Scenario]:
    return client_scenarios(setting, rounds=(2, 2))


def _starts_afresh(bench: Bench, s: Scenario) -> None:
    cut = next(k for k, e in enumerate(s.events) if isinstance(e, Begin))
    begin = s.events[cut]
    assert isinstance(begin, Begin)
    late = Scenario(replace(s.case, x0=begin.x), s.events[cut + 1 :])
    note = "the second round depends on what came before it"
    same_bits(bench, late, bench.play(late), bench.play(s)[cut + 1 :], note)


@st.composite
def _flat_blocks(draw: st.DrawFn, setting: Setting) -> Scenario:
    s: Scenario = draw(client_scenarios(setting, rounds=(1, 1)))
    d = draw(st.integers(1, 4))
    shape = {"w": (d,)}
    events = tuple(Gradient(draw(blocks(shape, setting.dtype))) for _ in s.events)
    return Scenario(replace(s.case, x0=draw(blocks(shape, setting.dtype))), events)


def _vectors_are_adagrad(bench: Bench, s: Scenario) -> None:
    with digits():
        lifted = running(s)
        h = lifted.case.hyper
        x = flatten(lifted.case.x0)
        total = x * 0
        want: list[Array] = []
        for event in lifted.events:
            assert isinstance(event, Gradient)
            g = flatten(event.g)
            total = total + g * g
            below = sqrt(total) + h.get("eps", 0)
            x = x - h["eta_l"] * np.array([a / b if b > 0 else a for a, b in zip(g, below, strict=True)], dtype=object)
            want.append(x)
    for k, got in enumerate(bench.play(s)):
        bench.compare("x", got["x"], want[k], f"step {k + 1}")


def _between(bench: Bench, s: Scenario) -> None:
    """AdaGrad's accumulator is below SM3's, which is below that of the coarsest set."""
    cover = named_cover(CoverName(s.case.options["cover"]), shapes(s.case.x0))
    h = s.case.hyper
    total = np.zeros(cover.d)
    most = np.zeros(len(cover.sets))
    eps = float(np.finfo(s.case.dtype).eps)
    x = flatten(s.case.x0).astype(float)
    for k, (event, got) in enumerate(zip(s.events, bench.play(s), strict=True)):
        assert isinstance(event, Gradient)
        g = flatten(event.g).astype(float)
        total = total + g * g
        most = most + np.array([max(g[list(S)] ** 2) for S in cover.sets])
        least = np.array([min(most[r] for r in cover.holding(j)) for j in range(cover.d)])
        step = (x - got["x"]) * np.sign(g)
        slack = 30 * eps * (np.abs(x) + np.abs(step))
        moving = g != 0
        longest = np.where(
            moving, h["eta_l"] * np.abs(g) / (np.sqrt(np.where(moving, total, 1)) + h.get("eps", 0.0)), 0
        )
        shortest = np.where(
            moving, h["eta_l"] * np.abs(g) / (np.sqrt(np.where(moving, least, 1)) + h.get("eps", 0.0)), 0
        )
        for kind, broken in (
            ("longer than AdaGrad's: nu < sum of g^2", step > longest + slack),
            ("shorter than a sum of set maxima allows", step < shortest - slack),
        ):
            if broken.any():
                j = int(np.argmax(broken))
                bound = longest if "longer" in kind else shortest
                note = f"the step is {kind}"
                where = f"step {k + 1}"
                raise Deviates(Deviation(bench.step_equation, where, j, float(step[j]), float(bound[j]), None, note))
        x = got["x"]


def _one_round(setting: Setting) -> st.SearchStrategy[Scenario]:
    return client_scenarios(setting, rounds=(1, 1))


COVERED = both(
    unless(number("z"), "its accumulators are updated with a delay, which has laws of its own"), option("cover")
)


MUON = "Jordan et al. (2024), with X = U diag(s) V': "


def _decomposed(bench: Bench, s: Scenario) -> None:
    # In double precision, whatever that of the subject.
    bench.follows(s, muon.models(with_dtype(s, "float64"), muon.by_singular_values))


def _still(s: Scenario) -> Array:
    """The model after the event, its denominator made of v_0, in numbers that carry their rounding."""
    lifted, server = running(s), s.case.level == "server"
    h, o, x, event = lifted.case.hyper, lifted.case.options, flatten(lifted.case.x0), lifted.events[0]
    number = RUNNING[s.case.dtype]
    with digits():
        if isinstance(event, Messages):
            rows = [flatten(event.messages[0].delta)]
        else:
            assert isinstance(event, Gradient)
            rows = [flatten(event.g)]
        # The one average of v_0 and a square that equals it: its rounding covers that of a v that stays.
        assert all(a * a == number(h["v0"].value) for a in rows[0])
        step = direction(AMSGRAD, rows, h, o, h["tau" if server else "eps"])
        end: Array = x + h["eta"] * step if server else x - h["eta_l"] * step
    return end


def _stays(bench: Bench, s: Scenario) -> None:
    (got,), where = bench.play(s), f"{describe(s.events[0])} 1"
    if "v" in got:
        v0 = np.full(got["v"].shape, s.case.hyper["v0"])
        bench.compare("v", got["v"], v0, where, v0)
    bench.compare("x", got["x"], _still(s), where)


LAWS = (
    Law(
        id="round-afresh",
        words="what lives for one round starts afresh with the next",
        levels=("client",),
        source="FedNova, eqs. (35)-(36), u^(t,0) = 0; FedAda2, Algs. 8-10, local state re-initialised",
        cases=_fresh,
        check=_starts_afresh,
    ),
    Law(
        id="sm3-vectors",
        words="on one-dimensional blocks the slices are coordinates, and SM3 without eps is AdaGrad with 0/0 = 0",
        levels=("client",),
        source="FedAda2, Algs. 3-4 with singleton sets",
        cases=_flat_blocks,
        check=_vectors_are_adagrad,
        applies=both(
            COVERED,
            unless(option("zero", "epsilon"), "AdaGrad of the catalogue is what it is with eps"),
            option("cover", "axes", "singletons"),
        ),
    ),
    Law(
        id="sm3-bound",
        words="SM3's accumulator lies between AdaGrad's and the sum of the largest squares of a set",
        levels=("client",),
        source="FedAda2, Lemma 15 (L752) and Lemma 17 (L796)",
        cases=_one_round,
        check=_between,
        applies=COVERED,
    ),
    Law(
        id="singular-values",
        words="each singular value of the momentum goes through the quintic by itself, and its two directions stay",
        levels=("client",),
        source=MUON + "a X + (b X X' + c (X X')^2) X is U diag(a s + b s^3 + c s^5) V'",
        cases=client_scenarios,
        check=_decomposed,
        applies=fact(Fact.MATRICES),
    ),
    Law(
        id="tie-stays",
        words="if v equals the square of what arrives, v stays: the sign of 0 is 0",
        levels=("client", "server"),
        source="external: Zaheer et al. (2018), Algorithm 2",
        cases=tied,
        check=_stays,
        applies=TIED,
    ),
)
