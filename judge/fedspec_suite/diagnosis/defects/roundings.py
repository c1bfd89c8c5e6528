"""Defects of what messages pass on their way into the average: rounding elsewhere, other draws, noise elsewhere."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial, reduce
from itertools import product
from types import FunctionType
from typing import Any, TypeAlias, cast

from fedspec.algorithms.synchronous import model
from fedspec.arith import numbers, ratio, sign, stack
from fedspec.averaging import Sent, at_random, counts, delivered, drawn, noisy
from fedspec.chain import Word, as_number
from fedspec.contract import Event
from fedspec.plan import Messages
from fedspec.readings import Weighting
from fedspec.rounding import CLIPS, FIXED, PASSED, TYPES, Grid, in_bits, on_grid, passage, passed
from fedspec_suite.diagnosis.defects.defect import Defect, Running, Stepping, behind, calling, stepping, with_x
from fedspec_suite.diagnosis.defects.lagging import clients_of
from fedspec_suite.diagnosis.defects.limits import MEAN, around_mean
from fedspec_suite.measure.function_copies import Around
from fedspec_suite.measure.scenario import Scenario, with_messages
from fedspec_suite.measure.setting import Setting
from fedspec_suite.mutants import functions

DONE = {
    **{name: "passed through {0} {1}" for name in CLIPS},
    **{name: f"rounded to {name}" for name in TYPES},
    "bfloat16-truncated": "truncated to bfloat16",
    "fixed": "rounded to multiples of 2^-{1}",
    "fixed-floor": "rounded down to multiples of 2^-{1}",
    "fixed-truncated": "truncated to multiples of 2^-{1}",
    "masks": "masked",
    "fixed-random": "rounded at random to multiples of 2^-{1}",
    "weight-cap": "weighted by min(n / {1}, 1)",
    "divisor": "divided by {1}",
    "divisor-at-least": "divided by {1} or the sum of weights",
    "mean-clip-norm": "clipped in their mean to {1}",
    "noise": "given noise {1}",
}
"""Participles of messages after a link, with places for its name and number."""

_Way: TypeAlias = Callable[[Callable[[Any], Any], Callable[..., Any], Any, Any], Any]
"""Function from a rounding, the mean, the changes and their weights to what the server takes for the mean."""


def _times(w: Any, rounding: Callable[..., Any], d: Any, *more: Any) -> Any:
    """Change that is rounded after it is multiplied by a weight, and divided by the weight again."""
    return ratio(rounding(w * d, *more), 0 * d + w)


def _weighed(rounding: Callable[[Any], Any], mean: Callable[..., Any], deltas: Any, p: Any) -> Any:
    return mean(stack([_times(w, rounding, d) for w, d in zip(p, deltas, strict=True)]), p)


def _summed(rounding: Callable[[Any], Any], mean: Callable[..., Any], deltas: Any, p: Any) -> Any:
    rows = [w * d for w, d in zip(p, deltas, strict=True)]
    return reduce(lambda total, row: rounding(total + row), rows, 0 * rows[0])


def _narrow(rounding: Callable[[Any], Any], mean: Callable[..., Any], deltas: Any, p: Any) -> Any:
    rows = [rounding(rounding(0 * d + w) * d) for w, d in zip(p, deltas, strict=True)]
    return reduce(lambda total, row: rounding(total + row), rows, 0 * rows[0])


_MEANS: Mapping[str, tuple[bool, _Way]] = {
    "the mean is {}, not each message": (False, lambda rounding, mean, deltas, p: rounding(mean(deltas, p))),
    "the mean is {}, too": (True, lambda rounding, mean, deltas, p: rounding(mean(deltas, p))),
    "messages are {} after they are weighed, not before": (False, _weighed),
    "the sum is {} with each message that is added": (True, _summed),
    "the weights, products and sums of the mean are {}, too": (True, _narrow),
}
"""Roundings of or before the mean: whether each message is rounded too, and what the server takes for the mean."""


def of(setting: Setting) -> Iterator[Defect]:
    """Yield a defect for each other rounding, use of draws or place of the noise."""
    for link in setting.messages:
        name, _, number = link.partition(" ")
        if setting.level == "server" and name in (*TYPES, *FIXED, "fixed-random"):
            words = f"each client's model is {DONE[name].format(name, number)}, not its change"
            yield Defect(words=words, session=behind(partial(_of_models_sent, name)))
        if name in (*TYPES, *FIXED) and all(one.split()[0] in PASSED for one in setting.messages):
            for words, own in _FED_BACK.items():
                yield Defect(words=words, session=partial(_fed_back, own))
        if name in FIXED:
            for words, change in _codes(name, float(number)):
                yield of_each(words, name, lambda there, link, delta, *given, change=change: change(delta))
        for words, made in _DRAWN.items() if name == "fixed-random" else ():
            session = behind({_AT_RANDOM: lambda there, made=made: made})  # type: ignore[misc]
            yield Defect(words=words.format(number), session=session)
        for words, again in _REUSED.items() if name == "fixed-random" else ():
            yield Defect(words=words, session=behind({_DRAWS: calling(_of_draws_again, again)}))
        if name == "fixed-random":
            words = f"messages are {DONE[name].format(name, number)} after they are weighed, not before"
            yield Defect(words=words, session=behind(_rounded_shares))
        if name == "noise":
            yield stepping("the noise is added to the model, not to the mean change", _on_the_model)
        if name in (*TYPES, *FIXED) and setting.options.get("weights") == Weighting.EXAMPLES:
            words = f"messages are {DONE[name].format(name, number)} after they are multiplied by n_i, not before"
            yield Defect(words=words, session=behind(partial(_by_sizes, name)))
    averages = MEAN in functions(setting.algorithm, setting.level)
    for link in setting.messages if averages else ():
        name, _, number = link.partition(" ")
        if name in TYPES or name in FIXED:
            rest = tuple(other for other in setting.messages if other != link)
            for words, (each, way) in _MEANS.items():
                said = words.format(DONE[name].format(name, number))
                yield _of_mean(said, link, setting.messages if each else rest, way)


_DELIVERED, _PASSED, _AT_RANDOM, _NOISY, _DRAWS = (
    cast(FunctionType, f) for f in (delivered, passed, at_random, noisy, drawn)
)

_DRAWN: Mapping[str, Callable[[Any, Any, float], Any]] = {
    "2^{0} change + draw is rounded to the nearest whole number, not down": lambda d, u, k: _whole(d, u, k, round),
    "2^{0} change - draw is rounded up, not 2^{0} change + draw down": lambda d, u, k: _whole(d, -u, k, math.ceil),
    "2^{0} change + draw is cut off towards zero, not rounded down": lambda d, u, k: _whole(d, u, k, math.trunc),
    "2^{0} change is rounded down, without a draw": lambda d, u, k: _whole(d, 0 * u, k, math.floor),
    "rounded up where draw < 1 - f, f the fraction of 2^{0} change, not where draw >= 1 - f": lambda d, u, k: (
        2 * _whole(d, 0 * u, k, math.floor) + as_number(2.0**-k, d) - _whole(d, u, k, math.floor)
    ),
    "2^{0} abs(change) + draw is rounded down and takes the change's sign": lambda d, u, k: (
        sign(d) * _whole(sign(d) * d, u, k, math.floor)
    ),
}
"""Other uses of the draws of a random rounding: what is made of a change, its draws and the number of bits."""


_HALF = Fraction(1, 2)

_WHOLES: Mapping[str, Callable[[Fraction], int]] = {
    "{1} Delta rounded to the nearest whole number": round,
    "{1} Delta rounded down": math.floor,
    "{1} Delta cut off towards zero": math.trunc,
    "{1} Delta rounded up": math.ceil,
    "{1} Delta rounded away from zero": lambda v: int(math.copysign(math.ceil(abs(v)), v)),
    "{1} Delta + 1/2 cut off towards zero": lambda v: math.trunc(v + _HALF),
    "{1} Delta - 1/2 cut off towards zero": lambda v: math.trunc(v - _HALF),
}
"""Whole numbers that a change is sent as; {1} is the number of levels."""


def _codes(name: str, k: float) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """Yield other codes in whole numbers: the words, and the change that the server reads."""
    step = 2.0**-k
    levels = {
        f"2^{k:g}": 1.0,
        f"(2^{k:g} - 1)": 1 - step,
        f"(2^{k:g} + 1)": 1 + step,
    }
    for (many, sent), (few, read) in product(levels.items(), repeat=2):
        for words, whole in _WHOLES.items():
            if sent == read == 1 and whole in FIXED.values():
                continue
            said = f"a message is {words.format(name, many)}, and read by / {few}"
            yield said, partial(_decoded, in_bits(name, k, whole), sent, read)


def _decoded(grid: Grid, sent: float, read: float, d: Any) -> Any:
    return on_grid(d * as_number(sent, d), grid) / as_number(read, d)


def of_each(words: str, name: str, pass_on: Callable[..., Any]) -> Defect:
    """Return the defect in which ``pass_on`` makes what a change becomes at the links of a name.

    Args:
        words: the words of the defect.
        name: the name of the links.
        pass_on: function of the claimed function and its arguments: link, change, number of messages, blocks.
    """

    def each(there: Any) -> Any:
        return lambda link, *given: pass_on(there, link, *given) if link.name == name else there(link, *given)

    return Defect(words=words, session=behind({_PASSED: each}))


_FED_BACK = {
    "what rounding takes from a client's change is added to its next change (error feedback)": True,
    "what rounding takes from a change is added to the next message, of whatever client": False,
}
"""Other uses of the rounding errors of changes: whether each client keeps its own."""


def _fed_back(own: bool, inner: Running, s: Scenario) -> Running:
    """The rounding error of a change is kept and added to a later one."""
    kept: dict[int, Any] = {}

    def take(inner: Running, event: Event, k: int) -> Any:
        def deliver(there: Any, words: Sequence[Word], m: Messages, sent: Sent) -> Any:
            deltas, rows = [*m.deltas], list[Any]()
            for j, i in enumerate(clients_of(event)):
                at = i if own else 0
                deltas[j] = deltas[j] + kept.get(at, 0 * deltas[j])
                rows.append(there(words, replace(m, deltas=stack(deltas)), sent).deltas[j])
                kept[at] = deltas[j] - rows[j]
            return replace(m, deltas=stack(rows))

        with inner.spec.behind({_DELIVERED: calling(deliver)}):
            return inner.step(event)

    return Stepping(inner, take)


def _whole(d: Any, u: Any, k: float, whole: Callable[[Any], int]) -> Any:
    return on_grid(d + u * as_number(2.0**-k, d), in_bits("fixed-random", k, whole))


_REUSED: Mapping[str, Callable[[Any, Any], Any]] = {
    "each block of a message takes the message's first draws": lambda draws, blocks: [
        [v for b in blocks for v in u[: b.stop - b.start]] for u in draws
    ],
    "every message takes the draws of the first": lambda draws, blocks: [draws[0]] * len(draws),
}
"""Other draws of random roundings: what is made of the draws of all messages and of the slices of the blocks."""


def _of_draws_again(again: Callable[[Any, Any], Any], there: Any, sent: Any, deltas: Any) -> Any:
    return again(there(sent, deltas), sent.blocks)


def _rounded_shares(inner: Running) -> Around:
    """Each change is rounded at random after it is multiplied by its weight."""
    left = list[Any]()

    def deliver(there: Any, words: Sequence[Word], m: Messages, sent: Sent) -> Any:
        w = counts(m, sent.weighting)
        left[:] = (w / sum(w.tolist())).tolist()
        return there(words, m, sent)

    def each(there: Any, delta: Any, u: Any, k: float) -> Any:
        return _times(left.pop(0), there, delta, u, k)

    return {_DELIVERED: calling(deliver), _AT_RANDOM: calling(each)}


def _by_sizes(name: str, inner: Running) -> Around:
    """Each change is rounded after it is multiplied by its number of examples."""
    left = list[Any]()

    def deliver(there: Any, words: Sequence[Word], m: Messages, sent: Sent) -> Any:
        left[:] = numbers(list(m.examples), m.deltas[0]).tolist()
        return there(words, m, sent)

    def each(there: Any, link: Word, delta: Any, *given: Any) -> Any:
        if link.name != name:
            return there(link, delta, *given)
        return _times(left.pop(0), partial(there, link), delta, *given)

    return {_DELIVERED: calling(deliver), _PASSED: calling(each)}


def _on_the_model(inner: Running, event: Event, k: int) -> Any:
    """The server's step knows nothing of the noise; the model that it gives gets it whole."""
    added = [0 * model(inner.state)]

    def none(there: Any, deltas: Any, *given: Any) -> Any:
        added.append(there(0 * deltas, *given)[0])
        return deltas

    with inner.spec.behind({_NOISY: calling(none)}):
        answer = inner.step(event)
    x = model(inner.state) + added[-1]
    inner.state = with_x(inner.state, x)
    return {**answer, "x": x}


def _of_models_sent(name: str, inner: Running) -> Around:
    """Clients send models that pass a link: each change is the difference from the server's model."""
    x = model(inner.state)

    def each(there: Any) -> Any:
        return lambda link, delta, n, blocks: (
            there(link, x + delta, n, blocks) - x if link.name == name else there(link, delta, n, blocks)
        )

    return {_PASSED: each, _AT_RANDOM: lambda there: lambda delta, u, k: there(x + delta, u, k) - x}


def _of_mean(words: str, link: str, links: tuple[str, ...], way: _Way) -> Defect:
    """A defect in which ``way`` makes the mean, of messages that pass ``links``."""
    (parsed,) = passage((link,))

    def around(there: Any, blocks: Any) -> Any:
        return lambda deltas, p: way(lambda v: passed(parsed, v, len(p), blocks), there, deltas, p)

    return Defect(words=words, given=lambda s: with_messages(s, *links), session=around_mean(around))
