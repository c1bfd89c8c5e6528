"""Defects of the claimed chains of gradients and messages: a link omitted, moved or replaced."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from types import FunctionType
from typing import Any, TypeAlias, cast

import numpy as np

from fedspec.algorithms.synchronous import model
from fedspec.arith import ratio, sign, stack
from fedspec.averaging import DIVISORS, Sent, at_random, counts, delivered, drawn, noisy
from fedspec.chain import LINKS, MICRO, Word, accumulates, as_number
from fedspec.contract import Event, Gradient
from fedspec.plan import Messages
from fedspec.rounding import CLIPS, FIXED, TYPES, in_bits, on_grid, passage, passed
from fedspec.steps import ALONE, BEFORE, LATE
from fedspec_suite.diagnosis.defects.blockwise import in_flat_blocks
from fedspec_suite.diagnosis.defects.defect import Defect, Running, Stepping, part, with_part, with_shown, with_x
from fedspec_suite.diagnosis.defects.limits import MEAN, around_mean
from fedspec_suite.diagnosis.defects.state import outlives, state_fields
from fedspec_suite.measure.function_copies import Around
from fedspec_suite.measure.scenario import Scenario, with_gradients, with_messages, with_steps
from fedspec_suite.measure.setting import Setting
from fedspec_suite.mutants import functions

BITS = (8, 10, 12, 15, 16, 20, 23, 24, 31, 32)
"""Usual numbers of bits after the point."""

GRADIENTS = ("no {0} of gradients", "{0} comes after {1}, not before it", "{1} of gradients, not {0}")
MESSAGES = ("messages are not {0}", "messages are {0} after they are {1}, not before", "messages are {1}, not {0}")
"""Words for a link that is left out, one that comes after the next, and another in its place."""

_Way: TypeAlias = Callable[[Callable[[Any], Any], Callable[..., Any], Any, Any], Any]
"""Function from a rounding, the mean, the changes and their weights to what the server takes for the mean."""


def _weighed(rounding: Callable[[Any], Any], mean: Callable[..., Any], deltas: Any, p: Any) -> Any:
    return mean(stack([ratio(rounding(w * d), 0 * d + w) for w, d in zip(p, deltas, strict=True)]), p)


def _summed(rounding: Callable[[Any], Any], mean: Callable[..., Any], deltas: Any, p: Any) -> Any:
    rows = [w * d for w, d in zip(p, deltas, strict=True)]
    return reduce(lambda total, row: rounding(total + row), rows, 0 * rows[0])


_MEANS: Mapping[str, tuple[bool, _Way]] = {
    "the mean is {}, not each message": (False, lambda rounding, mean, deltas, p: rounding(mean(deltas, p))),
    "the mean is {}, too": (True, lambda rounding, mean, deltas, p: rounding(mean(deltas, p))),
    "messages are {} after they are weighed, not before": (False, _weighed),
    "the sum is {} with each message that is added": (True, _summed),
}
"""Roundings of or before the mean: whether each message is rounded too, and what the server takes for the mean."""


def _others(
    claimed: tuple[str, ...],
    alike: Callable[[str], Iterable[str]],
    words: tuple[str, str, str],
    done: Mapping[str, str],
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Words for other chains, and the chains; ``alike`` gives the links that may be mistaken for one."""

    def said(link: str) -> str:
        name, _, number = link.partition(" ")
        return done.get(name, "{0} {1}").format(name, number)

    for k, link in enumerate(claimed):
        before, after = claimed[:k], claimed[k + 1 :]
        if not accumulates(link):
            yield words[0].format(said(link)), (*before, *after)
        if after:
            yield words[1].format(said(link), said(after[0])), (*before, after[0], link, *after[1:])
        for other in alike(link):
            if other != link:
                shared = " ".join([*said(other).split()[:2], ""]) if done else ""
                yield words[2].format(said(link).removeprefix(shared), said(other)), (*before, other, *after)
    # The last, since no case may reach one of them.
    if len(claimed) > 1 and not any(map(accumulates, claimed)):
        yield words[0].format((" and not " if done else " and no ").join(map(said, claimed))), ()


def _of_gradients(link: str) -> Iterator[str]:
    name, _, number = link.partition(" ")
    if name in MICRO:
        return (f"{other} {number}" for other in MICRO if other != name)
    return (f"{other} {number}" for other in LINKS if other != name and "decay" not in (other, name))


def _of_messages(link: str) -> Iterator[str]:
    name, _, number = link.partition(" ")
    if name in CLIPS:
        yield from (f"{other} {number}" for other in CLIPS)
    elif name in DIVISORS:
        yield from (f"{other} {number}" for other in DIVISORS)
    elif name in (*TYPES, *FIXED, "fixed-random"):
        yield from TYPES
        k = round(float(number or 16))
        yield from (f"{other} {number or k}" for other in FIXED)
        yield from (
            f"{name if name in FIXED else 'fixed'} {bits}" for bits in dict.fromkeys((k - 1, k + 1, *BITS)) if bits > 0
        )


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


PUT = {"gradients": with_gradients, "messages": with_messages, "steps": with_steps}
"""Functions that put another chain into a scenario, by the claim's field."""


def chained(words: str, field: str, links: tuple[str, ...]) -> Defect:
    """Return the defect that is another chain, under which another claim is right."""
    return Defect(words=words, given=lambda s: PUT[field](s, *links), claim={field: links})


STEPS = ("no {0} at a step", "{0} comes after {1}, not before it", "{1} at a step, not {0}")
"""Words for a change of the model that is left out, or for another in its place."""


def _of_steps(link: str) -> Iterator[str]:
    name, *numbers = link.split()
    if name != "lookahead":
        yield from (f"{other} {numbers[0]}" for other in (BEFORE, ALONE, LATE))
        return
    k, alpha = int(float(numbers[0])), float(numbers[1])
    yield from (f"lookahead {k + by} {alpha:g}" for by in (1, -1) if k + by)
    if alpha < 1:
        yield f"lookahead {k} {1 - alpha:.12g}"


def _of_models(setting: Setting) -> Iterator[Defect]:
    """Yield a defect for each other change of the model at a step, and for a decay that is coupled or decoupled."""
    for words, links in _others(setting.steps, _of_steps, STEPS, {}):
        if "comes after" not in words:
            yield chained(words, "steps", links)
    for link in setting.steps:
        name, *numbers = link.split()
        rest = tuple(other for other in setting.steps if other != link)
        if name == "lookahead":
            yield from _synchronised(setting, int(float(numbers[0])))
            words = "the slow model of lookahead is kept from round to round, not set to the round's first model"
            yield from [Defect(words=words, session=outlives("slow"))] if setting.level == "client" else []
            continue
        if name == BEFORE and setting.level == "client":
            words = f"{link} leaves out blocks with fewer than two axes"
            yield Defect(words=words, session=in_flat_blocks(_without_decay))
        coupled = with_both(rest, (*setting.gradients, f"decay {numbers[0]}"))
        yield Defect(words=f"decay {numbers[0]} is added to the gradient (coupled), not {link}", given=coupled)
    for link in setting.gradients:
        name, _, number = link.partition(" ")
        if name == "decay" and setting.level == "client":
            words = f"{link} of gradients leaves out blocks with fewer than two axes"
            yield Defect(words=words, session=in_flat_blocks(partial(_undecayed, link)))
        if name == "decay" and not setting.steps:
            rest = tuple(other for other in setting.gradients if other != link)
            words = f"{BEFORE} {number} moves the model, not {link} its gradient"
            yield Defect(words=words, given=with_both((f"{BEFORE} {number}",), rest))


def _synchronised(setting: Setting, period: int) -> Iterator[Defect]:
    """Yield a defect for each part of a solver's state that begins again when lookahead synchronises."""

    def session(n: str, inner: Running, s: Scenario) -> Running:
        def take(inner: Running, event: Event, k: int) -> Any:
            answer = inner.step(event)
            if isinstance(event, Gradient) and inner.k % period == 0:
                inner.state = with_part(inner.state, n, 0 * part(inner.state, n))
                answer = with_shown(answer, n, part(inner.state, n), event)
            return answer

        return Stepping(inner, take)

    for n in state_fields(setting) if setting.level == "client" else ():
        yield Defect(words=f"{n} begins again at each synchronisation of lookahead", session=partial(session, n))


def _undecayed(link: str, session: Running) -> None:
    session.links = tuple(f for f, said in zip(session.links, session.case.gradients, strict=True) if said != link)


def _without_decay(session: Running) -> None:
    session.steps = replace(session.steps, decay="")


def _of_batches(setting: Setting) -> Iterator[Defect]:
    """Yield defects of accumulation: sums, the last micro-batch alone, or a decay for each micro-batch."""
    first, *rest = setting.gradients
    name, k = first.split()[0], setting.micro

    def regraded(words: str, kind: str, change: Callable[[Any, tuple[Any, ...]], Any]) -> Defect:
        def given(s: Scenario) -> Scenario:
            events = (
                replace(e, g={n: change(a, e.tokens) for n, a in e.g.items()}) if isinstance(e, Gradient) else e
                for e in s.events
            )
            return with_gradients(replace(s, events=tuple(events)), f"{kind} {k}", *rest)

        return Defect(words=words, given=given)

    by_tokens, by_batches = MICRO
    yield regraded("gradients of micro-batches are added, not averaged", by_batches, lambda a, n: a * k)
    yield regraded("gradients of micro-batches times their tokens are added", by_tokens, lambda a, n: a * sum(n))
    yield regraded("the last micro-batch alone is stepped by", name, lambda a, n: np.stack([a[-1]] * len(a)))
    for at, link in enumerate(setting.gradients):
        kind, _, number = link.partition(" ")
        if kind == "decay":
            links = (*setting.gradients[:at], f"decay {k * float(number):.12g}", *setting.gradients[at + 1 :])
            words = f"{link} is added once for each of {k} micro-batches"
            yield chained(words, "gradients", links)


def with_both(steps: tuple[str, ...], gradients: tuple[str, ...]) -> Callable[[Scenario], Scenario]:
    """Function that replaces both chains of a scenario."""
    return lambda s: with_gradients(with_steps(s, *steps), *gradients)


def of(setting: Setting) -> Iterator[Defect]:
    """Yield a defect for each other chain of gradients, steps and messages, and for roundings of the mean instead."""
    yield from _of_models(setting)
    if setting.micro:
        yield from _of_batches(setting)
    for words, links in _others(setting.gradients, _of_gradients, GRADIENTS, {}):
        yield chained(words, "gradients", links)
    for words, links in _others(setting.messages, _of_messages, MESSAGES, DONE):
        yield chained(words, "messages", links)
    for link in setting.messages:
        name, _, number = link.partition(" ")
        if setting.level == "server" and name in (*TYPES, *FIXED, "fixed-random"):
            words = f"each client's model is {DONE[name].format(name, number)}, not its change"
            yield _passing(words, partial(_of_models_sent, name))
        for words, made in _DRAWN.items() if name == "fixed-random" else ():
            yield _passing(words.format(number), partial(_of_draws, made))
        for words, again in _REUSED.items() if name == "fixed-random" else ():
            yield _passing(words, partial(_of_draws_again, again))
        if name == "fixed-random":
            words = f"messages are {DONE[name].format(name, number)} after they are weighed, not before"
            yield _passing(words, _rounded_shares)
        if name == "noise":
            yield Defect(words="the noise is added to the model, not to the mean change", session=_on_the_model)
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
    "2^{0} abs(change) + draw is rounded down and takes the change's sign": lambda d, u, k: (
        sign(d) * _whole(sign(d) * d, u, k, math.floor)
    ),
}
"""Other uses of the draws of a random rounding: what is made of a change, its draws and the number of bits."""


def _whole(d: Any, u: Any, k: float, whole: Callable[[Any], int]) -> Any:
    return on_grid(d + u * as_number(2.0**-k, d), in_bits("fixed-random", k, whole))


_REUSED: Mapping[str, Callable[[Any, Any], Any]] = {
    "each block of a message takes the message's first draws": lambda draws, blocks: [
        [v for b in blocks for v in u[: b.stop - b.start]] for u in draws
    ],
    "every message takes the draws of the first": lambda draws, blocks: [draws[0]] * len(draws),
}
"""Other draws of random roundings: what is made of the draws of all messages and of the slices of the blocks."""


def _of_draws_again(again: Callable[[Any, Any], Any], inner: Running) -> Around:
    return {_DRAWS: lambda there: lambda sent, deltas: again(there(sent, deltas), sent.blocks)}


def _of_draws(made: Callable[[Any, Any, float], Any], inner: Running) -> Around:
    return {_AT_RANDOM: lambda there: made}


def _rounded_shares(inner: Running) -> Around:
    """Each change is rounded at random after it is multiplied by its weight."""
    left = list[Any]()

    def deliver(there: Any) -> Any:
        def run(words: Sequence[Word], m: Messages, sent: Sent) -> Any:
            w = counts(m, sent.weighting)
            left[:] = (w / sum(w.tolist())).tolist()
            return there(words, m, sent)

        return run

    def each(there: Any) -> Any:
        def run(delta: Any, u: Any, k: float) -> Any:
            p_i = left.pop(0)
            return ratio(there(p_i * delta, u, k), 0 * delta + p_i)

        return run

    return {_DELIVERED: deliver, _AT_RANDOM: each}


def _on_the_model(inner: Running, s: Scenario) -> Running:
    """The server's step knows nothing of the noise; the model that it gives gets it whole."""

    def take(inner: Running, event: Event, k: int) -> Any:
        added = [0 * model(inner.state)]

        def noisy(there: Any) -> Any:
            def none(deltas: Any, *given: Any) -> Any:
                added.append(there(0 * deltas, *given)[0])
                return deltas

            return none

        with inner.spec.behind({_NOISY: noisy}):
            answer = inner.step(event)
        x = model(inner.state) + added[-1]
        inner.state = with_x(inner.state, x)
        return {**answer, "x": x}

    return Stepping(inner, take)


def _passing(words: str, around: Callable[[Running], Around]) -> Defect:
    """A defect in which functions of a claim's words are wrapped while the server takes its step."""

    def take(inner: Running, event: Event, k: int) -> Any:
        with inner.spec.behind(around(inner)):
            return inner.step(event)

    return Defect(words=words, session=lambda inner, s: Stepping(inner, take))


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

    def session(inner: Running, s: Scenario) -> Running:
        def around(there: Any, blocks: Any) -> Any:
            def mean(deltas: Any, p: Any) -> Any:
                return way(lambda v: passed(parsed, v, len(p), blocks), there, deltas, p)

            return mean

        return around_mean(around)(inner, s)

    return Defect(words=words, given=lambda s: with_messages(s, *links), session=session)
