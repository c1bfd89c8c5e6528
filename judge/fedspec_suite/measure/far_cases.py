"""Large cases: large models, many rounds or clients, full mantissas, hyper-parameters at the edges of their domains.

The small cases of ``cases`` are dyadic and few of everything, so that they shrink to something to look at. These are
drawn for what shows itself only outside them. One quantity is large in each; which other features it has (full
mantissas, other magnitudes, sparse vectors, edges of domains, unlike shares) is tossed for each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Any, Literal, TypeAlias

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array
from fedspec.catalogue import Program
from fedspec.contract import Arrival, Begin, ClientMessage, Event, Exchange, Messages, Quadratics, Round
from fedspec.facts import Fact
from fedspec_suite.measure.buffer_cases import far_buffers, sending_buffers
from fedspec_suite.measure.case_parts import (
    case,
    lengths,
    most_steps,
    of_batches,
    on_quadratics,
    step_of,
    with_constants,
)
from fedspec_suite.measure.cases import STRATEGIES
from fedspec_suite.measure.conditioning import Danger, dangers
from fedspec_suite.measure.hyper_pools import EDGES, POOLS, draw_hypers
from fedspec_suite.measure.message_cases import finer
from fedspec_suite.measure.part_cases import with_claimed
from fedspec_suite.measure.rounding_cases import alike, delicate
from fedspec_suite.measure.scenario import Scenario, arranged, sending
from fedspec_suite.measure.scheduled_cases import varied
from fedspec_suite.measure.setting import Reach, Setting
from fedspec_suite.measure.trace_cases import draw_clusters, draw_exchange

Side: TypeAlias = Literal["coordinates", "rounds", "clients", "numbers"]
"""Dimension in which a case is large; ``numbers``: no dimension is large, but its numbers are unusual."""


_ENTRIES = 20
"""Most coordinates of a case in which some are equal: more than a rule keeps, and than short lists have that are sorted
in another way.
"""

_MORE = 3
"""So many more clients there are than in usual cases, where a server leaves some out: an even number, of which two are
in the middle."""

WORK = 2000
"""Upper bound of coordinates times steps in a usual large case: a few hundredths of a second of judging."""

_NAMES = ("scales.10", "scales.1")
_OTHER_NAMES = ("encoder.norm1.weight", "bn1.bias", "bn1.running_mean", "embed.lora_A.weight", "classifier.head.bias")
"""Names of up to six blocks, as torch names those of a module: the first begins with the second, in its shape. Which of
the others there are goes by turns: nobody may leave out a block for its name.
"""

_AXES: tuple[tuple[int, ...], ...] = ((), (3,), (2, 2), (2, 3), (5, 1, 2))
"""The axes of a block before its last; of the last two, one is that of the first block of a case with many
coordinates."""

_FURTHER: dict[str, tuple[float, ...]] = {"levels": (300, 1000), "keep": (7, 9), "mu": (2.0**-20,)}
"""Edges beyond those that vectors have: more levels than a byte holds, more messages to keep than a round has, and a
small pull that is not none.
"""

_STEP = 12
"""Cost of a step beside its coordinates, in coordinates."""

_LIKELY = {"mantissas": 3, "magnitudes": 2, "sparse": 1, "edges": 3, "shares": 3, "steps": 2}
_SOMETIMES = {"mantissas": 2, "magnitudes": 1, "sparse": 1, "edges": 1, "shares": 2, "steps": 2}
"""Quarters of the cases that have each feature."""

_SEVERAL = 5
"""Number of clients above which two have no examples."""

_IMMENSE = 4096.0
"""Factor of the server's rate in some cases: no step is cut off, unless the rule says so."""

_LEFT_OVER = (33, 41, 17, 9)
"""Counts of clients of the second case, and the next: one is left over of groups of 4 to 32."""

_CONGRUENT = 65_536_000
"""Distance of clients' numbers in some cases: equal modulo powers of two and of ten, and some exceed 32 bits."""

_OUTLIER = 256.0
"""Factor of one client's change in some cases: no rule leaves out what is unlike the rest, unless its text says so."""


@dataclass(frozen=True)
class _Draws:
    """Sources of a case: nearly everything comes from a seed; what is connected comes from Hypothesis."""

    draw: st.DrawFn
    setting: Setting
    side: Side
    reach: Reach
    rng: np.random.Generator
    tossed: frozenset[str]
    scale: float
    turn: int = 0

    def size(self, side: Side, most: int, usual: int, least: int = 1) -> int:
        """Draw a size: up to ``most`` on the case's own side, the first time ``most`` itself, else a few."""
        if self.side != side or most <= usual:
            return int(self.rng.integers(least, max(least, min(most, usual)) + 1))
        if side == "clients" and 0 < self.turn <= len(_LEFT_OVER) and usual < _LEFT_OVER[self.turn - 1] <= most:
            return _LEFT_OVER[self.turn - 1]
        return most if self.rng.random() < 0.5 or not self.turn else int(self.rng.integers(usual + 1, most + 1))

    def pick(self, pool: Sequence[float]) -> float:
        """Draw from a few numbers."""
        return float(pool[int(self.rng.integers(len(pool)))])

    def array(self, *shape: int) -> Array:
        """Numbers of the case's magnitude: all bits of the mantissa in use, or eighths; many of them zero if sparse."""
        if "mantissas" in self.tossed:
            out = self.rng.uniform(-3, 3, shape) * self.scale
        else:
            out = self.rng.integers(-24, 25, shape) / 8 * self.scale
        if "sparse" in self.tossed:
            out = np.where(self.rng.random(shape) < 0.5, 0.0, out)
        return out.astype(self.setting.dtype)

    def loss(self) -> float:
        """A positive number: between 1/8 and 3, or some magnitudes around that."""
        loss = float(self.rng.uniform(0.1, 3)) if "mantissas" in self.tossed else int(self.rng.integers(1, 25)) / 8
        return float(np.dtype(self.setting.dtype).type(loss * self.scale**2))

    @property
    def unusual(self) -> str:
        """Another unusual feature of a case with unusual numbers; empty in most cases."""
        return _UNUSUAL.get(self.turn % len(_SCALES), "") if self.side == "numbers" else ""

    @property
    def work(self) -> int:
        """Largest cost of the case: more if it is to be larger than usual."""
        usual, mine = Reach(), self.reach
        more = (mine.coordinates / usual.coordinates, mine.rounds / usual.rounds, mine.clients / usual.clients)
        return int(WORK * max(1, *more))

    @property
    def heavy(self) -> bool:
        """True if all clients have so many examples that no 32-bit integer holds the sum of three."""
        return {"shares", "sums"} <= self.tossed and self.reach.clients >= 3

    @property
    def most(self) -> int:
        """Most clients: if the server compares each with all, the work grows by the cube of their number."""
        many = self.setting.crowd == 1 or self.side == "clients"
        return self.reach.clients if many else min(self.reach.clients, 3 * self.setting.crowd)

    def few_rounds(self, n: int) -> int:
        """Most rounds of a case that isn't long."""
        return 1 if n > 3 * self.setting.crowd > 3 else 2

    @property
    def least(self) -> int:
        """Fewest clients."""
        return max(self.setting.crowd, 3 if self.heavy else 1)

    @property
    def steps(self) -> int:
        """Most local steps of a client."""
        return (self.reach.steps if "steps" in self.tossed else min(self.reach.steps, 6)) + self.setting.longer

    def named(self, n: int) -> Array:
        """Numbers of n clients, which are names: neither consecutive nor in order."""
        if self.side == "clients" and self.turn % 2:
            return 7 + _CONGRUENT * self.rng.permutation(n)
        return self.rng.choice(10 * self.reach.clients, n, replace=False)

    def blocks(self, shape: Mapping[str, tuple[int, ...]]) -> dict[str, Array]:
        """A model's worth of arrays."""
        return {name: np.asarray(self.array(*s)) for name, s in shape.items()}

    def shape(self, most: int) -> dict[str, tuple[int, ...]]:
        """Up to six blocks of up to four axes; a single block if the subject takes no more."""
        d = self.size("coordinates", most, 3)
        count = 1 if self.setting.one_block or self.rng.random() < 0.5 else int(self.rng.integers(1, min(6, d) + 1))
        ends = np.linspace(0, d, count + 1).astype(int)
        first = self.turn % len(_OTHER_NAMES)
        names = (*_NAMES, *_OTHER_NAMES[first:], *_OTHER_NAMES[:first])
        found = {name: self._axes(int(n)) for name, n in zip(names, np.diff(ends), strict=False)}
        axes, size = _AXES[-1 - self.turn % 2], prod(found[_NAMES[0]])
        if self.side == "coordinates" and not self.setting.matrices and size >= 2 * prod(axes):
            # A few cases would have blocks of three and of four axes by luck.
            found[_NAMES[0]] = (*axes, size // prod(axes))
        if count > 1 and prod(found[_NAMES[1]]) == prod(found[_NAMES[0]]):
            found[_NAMES[1]] = found[_NAMES[0]]
        return with_claimed(self.setting, found)

    def _axes(self, n: int) -> tuple[int, ...]:
        """The shape of n numbers on up to four axes; about n on two axes if the subject takes matrices only."""
        if self.setting.matrices:
            rows = int(self.rng.integers(1, min(3, n) + 1))
            tall = self.setting.algorithm.has(Fact.MATRICES) and self.rng.random() < 0.5
            return (n // rows, rows) if tall else (rows, n // rows)
        if n == 1 and self.rng.random() < 0.5:
            return ()
        there = [axes for axes in _AXES if n % prod(axes) == 0 and n >= 2 * prod(axes)] or [()]
        axes = there[int(self.rng.integers(len(there)))]
        return (*axes, n // prod(axes))

    def hypers(self, usual: Mapping[str, tuple[float, ...]] | None = None) -> dict[str, float]:
        """Hyper-parameters, some of them at the edges of their domains."""
        pools = {**POOLS, **(usual or {})}
        if "edges" in self.tossed:
            pools = {n: (*EDGES[n], *_FURTHER.get(n, ())) or pool for n, pool in pools.items()}
            # No vector has it: which ones there are depends on the edges.
            pools |= {"gamma": (*pools["gamma"], 0.0)} if "gamma" in pools else {}
        if usual and "ns_steps" in usual:
            pools["ns_steps"] = usual["ns_steps"]
        if self.setting.algorithm.runs("accumulation"):
            # FedNova prints ||a_i||_1 in closed forms too, which lose the digits of 1/alpha and of 1/(1 - rho)^2.
            pools |= {"eta_l": (0.1,), "rho": (0.0, 0.9)}
        if "mix" in pools:
            # x + mix (y - x) rounds by x, which the bound of (1 - mix) x + mix y does not hold if mix = 1.
            pools["mix"] = tuple(v for v in pools["mix"] if v < 1)
        if self.setting.v0_is_tau_squared:
            # The subject squares it: the square must be exact.
            pools["tau"] = POOLS["tau"]
        reading = self.setting.algorithm.reading(self.setting.reading)
        if "edges" in self.tossed and not any("v0" in r.about for r in reading.requires):
            pools["v0"] = (0.0, 1.0, 4.0)
        refused = {*self.setting.nonzero, *(n for r in reading.requires if "v0" not in r.about for n in r.about)}
        taken = {n: tuple(v for v in pool if v or n not in refused) for n, pool in pools.items()}
        return draw_hypers(self.pick, self.setting, taken)

    def examples(self, n: int) -> Array:
        """Sample sizes: like one another, or from none to a thousand million, which all may have; never all zero."""
        if "shares" not in self.tossed:
            return self.rng.integers(1, 10, n).astype(float)
        out = np.floor(10.0 ** self.rng.uniform(8.9 if self.heavy else 0, 9, n))
        out[0] = 1e9
        if "weight" not in self.setting.nonzero and n > (3 if self.heavy else 1):
            out[-1] = 0.0
            if n > _SEVERAL and not self.heavy:
                out[n // 2] = 0.0
        # A client without examples comes first, or last.
        return out if self.turn % 2 else out[::-1].copy()


def _client(at: _Draws) -> Scenario:
    shape = at.shape(at.reach.coordinates)
    rows = of_batches(at.setting, shape)
    d = sum(map(prod, rows.values()))
    x0, h = at.blocks(shape), at.hypers()
    rounds = at.size("rounds", min(at.reach.rounds, max(1, at.work // (d + _STEP))), 2)
    events: list[Event] = []
    for r in range(rounds):
        if r:
            events.append(Begin(at.blocks(shape)))
        steps = int(at.rng.integers(1, max(1, min(at.steps, at.work // ((d + _STEP) * rounds))) + 1))
        events.extend(step_of(at.setting, at.blocks(rows), k + r) for k in range(steps))
    return Scenario(case(at.setting, x0, h), tuple(events))


def _server(at: _Draws) -> Scenario:
    shape = at.shape(at.reach.coordinates)
    d = sum(map(prod, shape.values()))
    x0, h = at.blocks(shape), at.hypers()
    if at.unusual == "rate" and "eta" in h and "eta" not in at.setting.fixed:
        h["eta"] *= _IMMENSE
    together = at.unusual in _OF_CLIENTS
    least = max(at.least, min(_TOGETHER, at.most)) if together else at.least
    n = at.size("clients", min(at.most, max(1, at.work // d)), at.setting.crowd + 2, least=least)
    rounds = at.size("rounds", min(at.reach.rounds, max(1, at.work // (d * n + _STEP))), at.few_rounds(n))
    events = []
    everybody = at.named(n) if at.setting.everyone else None
    for _ in range(rounds):
        all_of_them = at.side == "clients" or at.heavy or at.setting.everyone or together
        count = n if all_of_them else int(at.rng.integers(min(n, at.setting.crowd), n + 1))
        names = at.named(count) if everybody is None else everybody
        steps = at.rng.integers(1, at.steps + 1, count)
        norms = steps if at.setting.steps_only else at.rng.uniform(0.1, at.steps, count)
        rows = zip(names, at.examples(count), steps, norms, strict=True)
        events.append(
            Messages(
                tuple(
                    ClientMessage(
                        client=int(i),
                        delta=at.blocks(shape),
                        weight=int(w),
                        steps=int(k),
                        a_norm=int(a) if a == int(a) else float(a),
                        control=at.blocks(shape) if at.setting.controls else None,
                        loss=at.loss() if at.setting.losses else None,
                    )
                    for i, w, k, a in rows
                )
            )
        )
    N = None
    if at.setting.counts_all:
        named = {m.client for e in events for m in e.messages}
        N = len(named) + (0 if at.setting.everyone else int(at.rng.integers(0, at.reach.clients)))
    if "outlier" in at.tossed:
        events = [_with_outlier(e) for e in events]
    s = Scenario(case(at.setting, x0, h, population=N), tuple(events))
    return _carrying(at, s) if at.setting.buffers else s


def _with_outlier(e: Messages) -> Messages:
    """The event with a larger change from the client in the middle."""
    sent, k = e.messages, len(e.messages) // 2
    larger = sending(sent[k], lambda blocks: {n: np.asarray(a * _OUTLIER, a.dtype) for n, a in blocks.items()})
    return replace(e, messages=(*sent[:k], larger, *sent[k + 1 :]))


def _carrying(at: _Draws, s: Scenario) -> Scenario:
    """The case with buffers, and some in every message."""
    buffers = partial(far_buffers, at.rng, int(at.rng.integers(1, 4)), at.setting.dtype, at.scale)
    held = replace(s, case=replace(s.case, buffers=buffers()))
    return sending_buffers(held, lambda m: buffers())


def _problem(at: _Draws, n: int, d: int) -> Quadratics:
    """H_i = A A' / (2 d) + I / 4 with entries of A in [-1, 1]; exactly symmetric."""
    A = at.rng.uniform(-1, 1, (n, d, d)) if "mantissas" in at.tossed else at.rng.integers(-2, 3, (n, d, d)) / 2
    H = A @ A.swapaxes(1, 2) / (2 * 2 ** int(np.ceil(np.log2(d)))) + np.eye(d) / 4
    H = ((H + H.swapaxes(1, 2)) / 2).astype(at.setting.dtype)
    problem = Quadratics(H, at.array(n, d), at.examples(n))
    if not at.setting.losses:
        return problem
    return with_constants(problem, [int(k) for k in at.rng.integers(1, 25, n)])


def _posed(at: _Draws, n: int) -> tuple[dict[str, Array], Quadratics, int]:
    """A model in the shape that the algorithm takes, and the objectives of n clients."""
    shape = at.shape(max(1, at.reach.coordinates // 30))
    if "peers" in at.setting.takes or (at.setting.one_block and "layers" not in at.setting.takes):
        shape = {"w": (sum(map(prod, shape.values())),)}
    d = sum(map(prod, shape.values()))
    x0 = {"w": np.tile(at.array(d), (n, 1))} if "peers" in at.setting.takes else at.blocks(shape)
    return x0, _problem(at, n, d), d


def _round(at: _Draws) -> Scenario:
    setting, takes = at.setting, at.setting.takes
    everybody = "everyone" in takes or at.side == "clients" or at.heavy
    # In some long runs a client comes in the first round and not again before the last; others have many steps.
    lasting = at.side == "rounds" and at.turn % 3 == 1
    absent = at.side == "rounds" and not lasting and not everybody and at.most > at.least
    n = at.least if lasting else at.size("clients", at.most, at.setting.crowd + 2, least=at.least + absent)
    x0, problem, d = _posed(at, n)
    h = at.hypers(on_quadratics(at.setting))
    cost = d * max(1, d // 3) + _STEP
    work = at.work * (2 if lasting else 1)
    rounds = at.size("rounds", min(at.reach.rounds, max(1, work // (cost * n))), at.few_rounds(n))
    steps = at.reach.steps + setting.longer if lasting else at.steps
    if "steps" in at.tossed or lasting:
        rounds = min(rounds, max(1, work // (cost * n * steps)))
    # Of a single step each, what a client keeps of another may cancel in the mean.
    most = min(most_steps(setting, steps), max(2, work // (cost * n * rounds)))
    least = most if lasting else 1
    events = []
    for k in range(rounds):
        away = absent and 0 < k < rounds - 1
        some = n if everybody else int(at.rng.integers(min(n, at.setting.crowd), n + 1 - away))
        chosen = [int(i) for i in at.rng.choice(n - away, some, replace="repeats" in takes)]
        if absent and not away and n - 1 not in chosen:
            chosen[-1] = n - 1
        if not problem.examples[chosen].any():
            chosen = [int(np.argmax(problem.examples))]
        if "everyone" in takes:
            chosen = list(range(n))
        elif "repeats" not in takes:
            chosen.sort()
        more: dict[str, Any] = {}
        if "strategies" in takes:
            kinds = setting.algorithm.run.strategies if isinstance(setting.algorithm.run, Program) else STRATEGIES
            more["strategies"] = tuple(str(at.rng.choice([*map(str, kinds)])) for _ in chosen)
        if "scales" in takes:
            more["scales"] = tuple(float(c) for c in at.rng.choice([0.1, 0.5, 1.0, 2.0], len(chosen)))
        if "noise" in takes:
            more["noise"] = tuple(at.rng.standard_normal(d).tolist())
        if "draws" in takes:
            more["draws"] = tuple(map(tuple, at.rng.random((len(chosen), d)).tolist()))
        counts = lengths(takes, [int(k) for k in at.rng.integers(least, most + 1, len(chosen))])
        events.append(Round(tuple(chosen), counts, **more))
    return Scenario(case(setting, x0, h, problem), tuple(events))


def _exchange(at: _Draws) -> Scenario:
    n = at.size("clients", at.reach.clients, 3) + ("clusters" in at.setting.takes)
    clusters = draw_clusters(at.draw, at.setting, n)
    x0, problem, d = _posed(at, n)
    h = at.hypers(on_quadratics(at.setting))
    rounds = at.size("rounds", min(at.reach.rounds, max(1, at.work // (d * d * n * n))), 2)
    cost = n * (d * max(1, d // 3) + _STEP)
    if "steps" in at.tossed:
        rounds = max(1, min(rounds, at.work // (cost * at.steps)))
    most = max(3, min(at.steps, at.work // (cost * rounds)))
    # All begin at one model: who weighs how much shows in the second step.
    steps = (2 if at.side == "clients" else 1, most)
    events = (draw_exchange(at.draw, at.setting, clusters, many_neighbours=True, steps=steps) for _ in range(rounds))
    return Scenario(case(at.setting, x0, h, problem), tuple([_now_and_then_idle(at, e) for e in events]))


def _now_and_then_idle(at: _Draws, e: Exchange) -> Exchange:
    """Let some local steps have no computing client, if the algorithm draws the clients at every step."""
    fixed = {"peers", "everyone", "one-set", "senders"} & {*at.setting.takes}
    if fixed or at.setting.options.get("sampling") == "round":
        return e
    return replace(e, computing=tuple(() if at.rng.random() < 0.25 else S for S in e.computing))


def _arrival(at: _Draws) -> Scenario:
    n = at.size("clients", at.reach.clients, 3)
    x0, problem, d = _posed(at, n)
    h = at.hypers(on_quadratics(at.setting))
    count = at.size("rounds", at.reach.rounds, 9, least=2)
    cost = d * max(1, d // 3) + _STEP
    if "steps" in at.tossed:
        count = max(2, min(count, at.work // (cost * at.steps)))
    most = max(1, min(at.steps, at.work // (cost * count)))
    if at.side == "rounds" and "buffer" in h and "buffer" not in at.setting.fixed:
        # Under a large buffer there are few versions, and no delay is long.
        h["buffer"] = int(at.rng.integers(1, max(1, count // max(1, at.reach.delay)) + 1))
    buffer, events = int(h.get("buffer", 1)), []
    for k in range(count):
        oldest = min(k // buffer, at.reach.delay)
        delay = oldest if at.rng.random() < 0.25 else int(at.rng.integers(0, oldest + 1))
        events.append(Arrival(int(at.rng.integers(n)), int(at.rng.integers(1, most + 1)), delay))
    return Scenario(case(at.setting, x0, h, problem), tuple(events))


_KINDS: dict[str, Callable[[_Draws], Scenario]] = {
    "client": _client,
    "server": _server,
    "round": _round,
    "exchange": _exchange,
    "arrival": _arrival,
}


_SCALES = (1.0, 1e-6, 1.0, 1e3, 1e-3, 1e6)
"""The magnitudes of the cases whose numbers are unusual, in turn: few are drawn, and none is to be left out."""


_UNUSUAL = {2: "alike", 3: "cancelling", 5: "rate"}
"""Another unusual feature of a case, by the turn of its magnitude."""

_OF_CLIENTS = {"alike", "cancelling"}
"""Unusual features of clients beside one another."""

_TOGETHER = 3
"""Fewest clients that are unusual beside one another, at a server."""


def far_scenarios(setting: Setting, side: Side) -> st.SearchStrategy[Scenario]:
    """Return the strategy of cases large on one side; with ``numbers``, half of them target a danger of the rule."""
    threatening = dangers(setting) if side == "numbers" else ()
    turns: dict[int, int] = {}

    @st.composite
    def scenarios(draw: st.DrawFn) -> Scenario:
        # One number for nearly everything: Hypothesis would repeat itself, and ``simpler`` does what its shrinking
        # would. What must not be missed goes by turns; a seed that comes again has the turn that it had.
        seed = draw(st.integers(0, 2**32 - 1))
        turn, odd = divmod(turns.setdefault(seed, len(turns)), 2 if threatening else 1)
        danger = threatening[turn % len(threatening)] if odd else None
        return _far(draw, setting, side, seed, turn, danger)

    return scenarios()


def _far(draw: st.DrawFn, setting: Setting, side: Side, seed: int, turn: int, danger: Danger | None) -> Scenario:
    rng = np.random.default_rng(seed)
    run = setting.algorithm.run
    kind = run.event if setting.level == "trace" and isinstance(run, Program) else setting.level
    if danger:
        side, reach = _room_for(danger, setting, kind)
        plain = _Draws(draw, setting, side, reach, rng, frozenset(), 1.0)
        return varied(setting, finer(setting, delicate(danger, setting, _KINDS[kind](plain), rng)), plain.pick)
    often = _LIKELY if side == "numbers" else _SOMETIMES
    tossed = frozenset(name for name, quarters in often.items() if rng.random() < quarters / 4)
    tossed |= {"sums"} if seed % 2 else frozenset()
    # Short numbers tie, and a root that is squared again decides a tie; ties that no root decides are a danger's.
    tossed |= {"mantissas"} if setting.crowd > 1 else frozenset()
    # A rule that compares clients leaves an outlier out itself, and would show less of what it makes of the others.
    tossed |= {"outlier"} if side == "clients" and turn % 2 == 0 and setting.crowd == 1 else frozenset()
    if side == "numbers":
        scale = _SCALES[turn % len(_SCALES)]
    else:
        scale = float(rng.choice((1e-6, 1e-3, 1e3, 1e6))) if "magnitudes" in tossed else 1.0
    at = _Draws(draw, setting, side, setting.reach, rng, tossed, scale, turn)
    s = _KINDS[kind](at)
    if at.unusual in _OF_CLIENTS:
        s = alike(setting, s, cancelling=at.unusual == "cancelling")
    return varied(setting, finer(setting, _in_turn(s)), at.pick)


def _in_turn(s: Scenario) -> Scenario:
    """The case whose every second round has its participants in the opposite order, as results arrive in any order."""
    return replace(s, events=tuple(_reversed(e) if k % 2 else e for k, e in enumerate(s.events)))


def _reversed(e: Event) -> Event:
    return arranged(e, range(len(e.participants))[::-1]) if isinstance(e, Round) else e


def _room_for(danger: Danger, setting: Setting, kind: str) -> tuple[Side, Reach]:
    """Side in which a case of a danger is larger than usual, and the reach of the case."""
    reach = setting.reach
    if danger in {"near", "unlike"} or (danger == "equal" and setting.crowd > 1):
        return "clients", replace(reach, clients=min(reach.clients, setting.crowd + _MORE))
    if danger == "equal":
        most = _ENTRIES * (1 if kind in {"client", "server"} else 30)
        # The mean of three is rounded, and nothing that is made of it is equal for everybody.
        return "coordinates", replace(reach, coordinates=min(reach.coordinates, most), clients=min(reach.clients, 2))
    return "numbers", reach
