"""Facts about a subject's steps, found by experiments: change one input, and observe the step.

The same experiments are made with the claimed rule. What differs is worth saying where no name and no equation fits:
``a step depends on Delta of t - 2 too; a step does not depend on beta2``.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from fedspec.arith import Array
from fedspec.contract import Begin, Blocks, Event, Messages
from fedspec.domains import COUNTS, DECAY, DOMAINS
from fedspec_suite.diagnosis.variants import Variant
from fedspec_suite.diagnosis.written.plays import REFUSED, generic_cases
from fedspec_suite.measure.bench import Bench, of_models
from fedspec_suite.measure.scenario import Scenario, change_events, with_blocks, with_hyper
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.verdict import listed

Play = Callable[[Scenario], Sequence[Array]]
"""Function that returns the models after each event of a case."""

CASES = 3
"""Number of cases in which each experiment is performed."""

BACK = 4
"""Number of past events whose input is changed."""

SAME = 1e-8
"""Largest difference of two steps that count as equal, relative to the model."""

STAYS = "stays the same"

FACTORS = {1: STAYS, 2: "doubles", 4: "is four times as large", 0.5: "halves"}
SIGNS = {-1: "changes its sign", 1: STAYS}
"""Words for a step by the factor that it gets, if inputs double and if they change their signs."""


def card(bench: Bench, setting: Setting, claimed: Variant) -> str:
    """Return a sentence with the facts in which a subject's steps differ from the claim; empty if there are none."""
    if setting.level not in ("server", "client") or setting.dtype != "float64":
        return ""
    input_ = "g" if setting.level == "client" else "Delta"
    cases = [s for s in generic_cases(setting) if len(s.events) >= BACK]
    models = of_models(bench)
    several = [s for s in cases if len(s.case.x0) > 1] or cases

    def asked(s: Scenario) -> Sequence[Array]:
        return [a["x"] for a in models.play(copy.deepcopy(s))]

    def wanted(s: Scenario) -> Sequence[Array]:
        return [np.asarray(a["x"], float) for a in claimed.quick(s, claimed.editions()())]

    found = []
    for s in islice(several, CASES):
        try:
            found.append((_facts(asked, s, setting, input_), _facts(wanted, s, setting, input_)))
        except REFUSED:
            continue
    return in_words(found, input_)


@dataclass(frozen=True)
class Facts:
    """Facts about the last step of a case.

    Attributes:
        reads: the inputs that it depends on.
        doubled: effect of doubling the clients' changes or the gradients.
        negated: effect of changing the signs of the clients' changes or the gradients.
        reach: the coordinates of the input that a coordinate depends on.
    """

    reads: frozenset[str]
    doubled: str
    negated: str
    reach: str


def in_words(found: Sequence[tuple[Facts, Facts]], input_: str) -> str:
    """Format the facts in which a subject differs from the claim in all cases; in one case it may be chance."""
    if not found:
        return ""
    more = frozenset.intersection(*(own.reads - claim.reads for own, claim in found))
    less = frozenset.intersection(*(claim.reads - own.reads for own, claim in found))
    said = [
        how.format(listed(sorted(names)))
        for how, names in (("a step depends on {} too", more), ("a step does not depend on {}", less))
        if names
    ]
    for how, name in (
        (f"if all {input_} double, a step {{}}, and the claimed step {{}}", "doubled"),
        (f"if all {input_} change their signs, a step {{}}, and the claimed step {{}}", "negated"),
        ("a coordinate depends on {}, not on {}", "reach"),
    ):
        sides = {(getattr(o, name), getattr(c, name)) for o, c in found}
        own, claimed = min(sides)
        if len(sides) == 1 and own != claimed:
            said.append(how.format(own, claimed))
    return "; ".join(said)


def _facts(play: Play, s: Scenario, setting: Setting, input_: str) -> Facts:
    """The facts of a case.

    Raises:
        ArithmeticError: the model is not finite.
    """
    base = _step(play, s)
    size = SAME * (1 + float(np.abs(play(s)[-1]).max()))
    if not np.isfinite(base).all():
        raise ArithmeticError("the model is not finite")

    def moves(other: Scenario) -> bool:
        return bool((np.abs(_step(play, other) - base) > size).any())

    reads = {what for what, other in _other_inputs(s, setting, input_) if moves(other)}
    return Facts(frozenset(reads), *_shape(play, s, base, size), _reach(play, s, base, size))


def _other_inputs(s: Scenario, setting: Setting, input_: str) -> Iterator[tuple[str, Scenario]]:
    """Yield the name of each input, with the case in which this input is changed."""
    for n in setting.numbers:
        if n in s.case.hyper and n not in setting.fixed and n not in COUNTS:
            value = float(s.case.hyper[n])
            other = 0.5 * (1 + value) if DOMAINS[n].domain is DECAY else 1.5 * value
            yield n, with_hyper(s, **setting.tied({**s.case.hyper, n: other}))
    time = "t" if setting.level == "server" else "k"
    for back in range(BACK):
        yield f"{input_} of {time}{f' - {back}' * bool(back)}", _at(s, back, lambda a: 1.25 * a + 0.1)
    yield "x", replace(s, case=replace(s.case, x0={n: a + 0.3 for n, a in s.case.x0.items()}))
    match s.events[-1]:
        case Messages(messages=(first, _, *_) as sent) as last:
            more = (replace(first, weight=3 * first.weight), *sent[1:])
            yield "the numbers of examples", replace(s, events=(*s.events[:-1], replace(last, messages=more)))
            turned = replace(last, messages=(*sent[1:], first))
            yield "the order of the clients", replace(s, events=(*s.events[:-1], turned))


def _step(play: Play, s: Scenario) -> Array:
    models = play(s)
    return np.asarray(models[-1], float) - models[-2]


def _at(s: Scenario, back: int, change: Callable[[Array], Array]) -> Scenario:
    """The case with another input so many events before the last."""
    k = len(s.events) - 1 - back
    return replace(s, events=tuple(_changed(e, change) if j == k else e for j, e in enumerate(s.events)))


def _changed(e: Event, change: Callable[[Array], Array]) -> Event:
    return e if isinstance(e, Begin) else with_blocks(e, lambda b: {n: change(a) for n, a in b.items()})


def _shape(play: Play, s: Scenario, base: Array, size: float) -> tuple[str, str]:
    """Describe the step if all inputs are doubled, and if all are negated."""
    doubled, negated = (_step(play, change_events(s, lambda a, by=by: by * a)) for by in (2, -1))  # type: ignore[misc]
    factor = next((said for by, said in FACTORS.items() if (np.abs(doubled - by * base) <= size).all()), "")
    turned = [said for by, said in SIGNS.items() if (np.abs(negated - by * base) <= size).all()]
    return factor or "changes by no fixed factor", turned[0] if len(turned) == 1 else "is another step"


def _reach(play: Play, s: Scenario, base: Array, size: float) -> str:
    """The coordinates of the input that a coordinate of the step depends on."""
    names = [n for n, a in s.case.x0.items() if a.size > 1]
    if not names:
        return ""
    first, start = names[0], 0
    for n, a in s.case.x0.items():
        if n == first:
            break
        start += a.size
    inside = slice(start, start + s.case.x0[first].size)

    def put(blocks: Blocks) -> Blocks:
        new = {n: np.array(a) for n, a in blocks.items()}
        new[first].reshape(-1)[0] *= 1.5
        return new

    moved = np.abs(_step(play, replace(s, events=(*s.events[:-1], with_blocks(s.events[-1], put)))) - base) > size
    block = moved[inside][1:].any()
    rest = np.delete(moved, range(inside.start, inside.stop)).any()
    where = "the whole model" if rest else "its block" if block else "itself alone"
    return where
