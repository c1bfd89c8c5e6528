"""Laws of local solvers: rounds reset the state, bounds hold, ties stay, steps act on singular values.

And of FedAda2's, whose preconditioner is updated every z steps and who do not take short steps. Where a step is O(M) of
a matrix M, O acts on its singular values alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array, digits, sqrt
from fedspec.contract import Begin, Gradient, Messages
from fedspec.covers import named_cover
from fedspec.facts import Fact
from fedspec.params import flatten, shapes
from fedspec.readings import CoverName, DeadZone
from fedspec_properties.closed_forms import delayed_solvers, muon
from fedspec_properties.closed_forms.adaptive import AMSGRAD, direction
from fedspec_suite.laws.applicability import both, fact, number, option, settable, unless
from fedspec_suite.laws.law import Law
from fedspec_suite.laws.relations import related, same_bits
from fedspec_suite.laws.special_cases import TIED, tied
from fedspec_suite.measure.bench import THRESHOLD, Bench
from fedspec_suite.measure.case_parts import blocks
from fedspec_suite.measure.cases import client_scenarios
from fedspec_suite.measure.hyper_pools import POOLS
from fedspec_suite.measure.running_error import RUNNING, bounds_of
from fedspec_suite.measure.scenario import Scenario, describe, running, with_dtype, with_hyper
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.verdict import Deviates, Deviation


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
        moving, eps_of = g != 0, h.get("eps", 0.0)
        longest, shortest = (
            np.where(moving, h["eta_l"] * np.abs(g) / (np.sqrt(np.where(moving, v, 1)) + eps_of), 0)
            for v in (total, least)
        )
        deviates(bench, k, step > longest + slack, step, longest, "longer than AdaGrad's: nu < sum of g^2")
        deviates(bench, k, step < shortest - slack, step, shortest, "shorter than a sum of set maxima allows")
        x = got["x"]


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


def one_round(setting: Setting, zeroed: tuple[str, ...] = (), **values: float) -> st.SearchStrategy[Scenario]:
    """Draw a round of at least two steps, with some hyper-parameters set to zero or to given values."""
    given = {**dict.fromkeys((n for n in zeroed if n in setting.numbers), 0.0), **values}
    return client_scenarios(setting, steps=(2, 6), rounds=(1, 1)).map(lambda s: with_hyper(s, **given))


def _cover(s: Scenario) -> tuple[tuple[int, ...], ...]:
    return named_cover(CoverName(s.case.options.get("cover", "one")), shapes(s.case.x0)).sets


def _gradients(s: Scenario) -> list[Array]:
    return [flatten(e.g) for e in s.events if isinstance(e, Gradient)]


def displacements(bench: Bench, s: Scenario) -> Iterator[tuple[int, Array, Array]]:
    """Yield the number, displacement and rounding allowance of every step in a one-round run."""
    expected = bench.expect(s)
    x, before = flatten(s.case.x0).astype(float), np.abs(flatten(s.case.x0).astype(float))
    for k, got in enumerate(bench.play(s)):
        bench.finite("x", got["x"], f"step {k + 1}")
        after = bounds_of(expected[k]["x"])
        yield k, got["x"] - x, THRESHOLD * float(np.finfo(s.case.dtype).eps) * (before + after)
        x, before = got["x"], after


def deviates(bench: Bench, k: int, broken: Array, got: Array, want: Array, note: str) -> None:
    """Raise a deviation at the first coordinate of step k for which ``broken`` is true, if there is one."""
    if broken.any():
        j = int(np.argmax(broken))
        raise Deviates(
            Deviation(
                bench.step_equation, f"step {k + 1}", j, float(got[j]), float(want[j]), None, f"the step is {note}"
            )
        )


def _frozen(bench: Bench, s: Scenario) -> None:
    louder = [Gradient({n: 2 * a for n, a in e.g.items()}) for e in s.events[1:] if isinstance(e, Gradient)]
    first = bench.play(s)[0]["x"]
    related(bench, s, replace(s, events=(s.events[0], *louder)), lambda k, x: first + 2 * (x - first))


def _bounded_between(bench: Bench, s: Scenario) -> None:
    h, sets = s.case.hyper, _cover(s)
    rows = [g.astype(float) for g in _gradients(s)]
    beta = h.get("beta2")
    for k, d, slack in displacements(bench, s):
        squares = [rows[j] * rows[j] for j in delayed_solvers.updating(k + 1, h["z"], h["epoch"])]
        n, v0 = len(squares), h.get("v0", 0.0)
        weights = [1.0] * n if beta is None else [beta**e * (1 - beta) / (1 - beta**n) for e in reversed(range(n))]
        low = v0 + sum(w * q for w, q in zip(weights, squares, strict=True))
        most = [v0 + sum(w * max(q[list(S)]) for w, q in zip(weights, squares, strict=True)) for S in sets]
        high = np.array([min(m for m, S in zip(most, sets, strict=True) if j in S) for j in range(len(low))])
        longest, shortest = (h["eta_l"] * np.abs(rows[k]) / (np.sqrt(v) + h["eps"]) for v in (low, high))
        deviates(
            bench, k, np.abs(d) > longest + slack, np.abs(d), longest, "longer than with a set for each coordinate"
        )
        deviates(bench, k, np.abs(d) < shortest - slack, np.abs(d), shortest, "shorter than the maxima of sets allow")


def _no_longer(bench: Bench, s: Scenario) -> None:
    for k, d, slack in displacements(bench, s):
        rate = np.full(d.shape, s.case.hyper["eta_l"])
        deviates(bench, k, np.abs(d) > rate + slack, np.abs(d), rate, "longer than eta_l, with the gradient in v")


DELAYED = number("z")
SUMMED = unless(number("beta2"), "its second moment is an average")
CARRIED = unless(option("idle", "reset"), "its accumulators are cleared between updates")


@st.composite
def _edge(draw: st.DrawFn, setting: Setting) -> Scenario:
    s: Scenario = draw(one_round(setting))
    return with_hyper(s, eps_s=draw(st.sampled_from([e for e in POOLS["eps_s"] if e > 0])))


def _none_or_long(bench: Bench, s: Scenario) -> None:
    least = s.case.hyper["eta_l"] * s.case.hyper["eps_s"]
    for k, d, slack in displacements(bench, s):
        length = float(np.linalg.norm(d))
        if 0 < length < least - float(np.linalg.norm(slack)):
            note = f"a step of length {length:.6g} is taken, shorter than eta_l eps_s = {least:.6g}"
            raise Deviates(Deviation(bench.step_equation, f"step {k + 1}", note=note))


DEAD = both(DELAYED, unless(option("dead_zone", DeadZone.MOMENTUM), "it takes its short steps"))

LAWS = (
    Law(
        id="round-afresh",
        words="what lives for one round starts afresh with the next",
        levels=("client",),
        source="FedNova, eqs. (35)-(36), u^(t,0) = 0; FedAda2, Algs. 8-10, local state re-initialised",
        cases=lambda setting: client_scenarios(setting, rounds=(2, 2)),
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
        cases=lambda setting: client_scenarios(setting, rounds=(1, 1)),
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
    Law(
        id="delay-frozen",
        words="a delay beyond the round: the first preconditioner stays, and later steps are linear in their gradients",
        levels=("client",),
        source="FedAda2, Algs. 2-4 and 7-10: updates at k = 1, z + 1, ...",
        cases=lambda setting: one_round(setting, ("eps_s", "beta1"), z=64, epoch=1),
        check=_frozen,
        applies=both(DELAYED, settable("eps_s", "beta1", fits=lambda v: v == 0)),
        needs=("z", "epoch"),
        zeroes=("eps_s", "beta1"),
    ),
    Law(
        id="delay-bound",
        words="the bound lies between what singleton sets would hold and the sum of the largest squares of a set",
        levels=("client",),
        source="FedAda2, Lemma 15 (L752): v_k is at least v_0 and the squares at the updates",
        cases=lambda setting: one_round(setting, ("eps_s", "beta1")),
        check=_bounded_between,
        applies=both(DELAYED, option("cover"), CARRIED, settable("eps_s", "beta1", fits=lambda v: v == 0)),
        zeroes=("eps_s", "beta1"),
    ),
    Law(
        id="delay-one-rate",
        words="with z = 1 the gradient is in its own preconditioner, and no coordinate moves further than eta_l",
        levels=("client",),
        source="FedAda2, App. F (L1510): only a delay breaks this bound",
        cases=lambda setting: one_round(setting, z=1),
        check=_no_longer,
        applies=both(DELAYED, SUMMED, settable("z", fits=lambda v: v == 1)),
    ),
    Law(
        id="dead-zone-edge",
        words="a step is not taken, or its whole length is at least eta_l eps_s",
        levels=("client",),
        source="FedAda2, Alg. 2, line 11 (L679)",
        cases=_edge,
        check=_none_or_long,
        applies=DEAD,
        needs=("eps_s",),
    ),
)
