"""Defects of the claimed chains of gradients and messages: a link omitted, moved or replaced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from types import FunctionType
from typing import Any, cast

import numpy as np

from fedspec.arith import concatenate
from fedspec.averaging import DIVISORS
from fedspec.chain import LINKS, MICRO, Micro, Word, accumulates, applied, through
from fedspec.contract import Event, Gradient
from fedspec.params import layers, shapes
from fedspec.rounding import CLIPS, FIXED, TYPES
from fedspec.steps import ALONE, BEFORE, LATE, after, decayed, decayed_alone
from fedspec_suite.diagnosis.defects import roundings
from fedspec_suite.diagnosis.defects.blockwise import in_flat_blocks
from fedspec_suite.diagnosis.defects.defect import (
    Defect,
    Running,
    Stepping,
    behind,
    calling,
    part,
    step_with,
    stepping,
    with_part,
    with_shown,
)
from fedspec_suite.diagnosis.defects.lagging import clients_of, steps_of_event
from fedspec_suite.diagnosis.defects.roundings import DONE
from fedspec_suite.diagnosis.defects.state import outlives, state_fields
from fedspec_suite.measure.scenario import Scenario, mapped, with_gradients, with_messages, with_steps
from fedspec_suite.measure.setting import Setting

AFTER, _THROUGH = cast(FunctionType, after), cast(FunctionType, through)

BITS = (8, 10, 12, 15, 16, 20, 23, 24, 31, 32)
"""Usual numbers of bits after the point."""

GRADIENTS = ("no {0} of gradients", "{0} comes after {1}, not before it", "{1} of gradients, not {0}")
MESSAGES = ("messages are not {0}", "messages are {0} after they are {1}, not before", "messages are {1}, not {0}")
"""Words for a link that is left out, one that comes after the next, and another in its place."""


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
            words = "lookahead counts once for each block of the model, not once a step"
            yield Defect(words=words, session=_counted_by_block)
            yield from _synchronised(setting, int(float(numbers[0])))
            if setting.level == "client":
                words = "the slow model of lookahead is kept from round to round, not set to the round's first model"
                yield Defect(words=words, session=outlives("slow"))
                for words, count in _COUNTS.items():
                    if setting.micro or "micro" not in words:
                        yield Defect(words=words, session=partial(_recounted, count, setting.micro))
                words = "the slow model of lookahead begins at a round's first synchronisation, not at its first model"
                yield stepping(words, partial(_slow_late, int(float(numbers[0]))))
            elif setting.level == "round":
                for words, kept in _LIVES.items():
                    yield Defect(words=words, session=partial(_counted_on, kept))
            continue
        if name == BEFORE and setting.level == "client":
            words = f"{link} leaves out blocks with fewer than two axes"
            yield Defect(words=words, session=partial(in_flat_blocks, _without_decay))
        coupled = with_both(rest, (*setting.gradients, f"decay {numbers[0]}"))
        yield Defect(words=f"decay {numbers[0]} is added to the gradient (coupled), not {link}", given=coupled)
    for link in setting.gradients:
        name, _, number = link.partition(" ")
        if name == "decay" and setting.level == "client":
            words = f"{link} of gradients leaves out blocks with fewer than two axes"
            yield Defect(words=words, session=partial(in_flat_blocks, partial(_undecayed, link)))
        if name == "decay" and not setting.steps:
            rest = tuple(other for other in setting.gradients if other != link)
            words = f"{BEFORE} {number} moves the model, not {link} its gradient"
            yield Defect(words=words, given=with_both((f"{BEFORE} {number}",), rest))


def _synchronised(setting: Setting, period: int) -> Iterator[Defect]:
    """Yield a defect for each part of a solver's state that begins again when lookahead synchronises."""

    def take(n: str, inner: Running, event: Event, k: int) -> Any:
        answer = inner.step(event)
        if isinstance(event, Gradient) and inner.k % period == 0:
            inner.state = with_part(inner.state, n, 0 * part(inner.state, n))
            answer = with_shown(answer, n, part(inner.state, n), event)
        return answer

    for n in state_fields(setting) if setting.level == "client" else ():
        yield stepping(f"{n} begins again at each synchronisation of lookahead", partial(take, n))


_COUNTS: Mapping[str, Callable[[int, int, int], int]] = {
    "lookahead counts micro-batches, not steps": lambda k, all_steps, micro: k * micro,
    "lookahead counts steps from 0, so that it synchronises after the first": lambda k, all_steps, micro: k - 1,
    "lookahead counts all steps, not those of the round": lambda k, all_steps, micro: all_steps,
}
"""Other counts by which lookahead synchronises: of the steps of the round, of all rounds, and micro-batches a step."""


def _recounted(count: Callable[[int, int, int], int], micro: int, inner: Running, s: Scenario) -> Running:
    steps = 0

    def take(inner: Running, event: Event, k: int) -> Any:
        nonlocal steps
        if not isinstance(event, Gradient):
            return inner.step(event)
        steps += 1
        due = count(inner.k + 1, steps, micro) % inner.steps.k == 0
        return _under(inner, event, k=1 if due else NEVER)

    return Stepping(inner, take)


_LIVES = {
    "lookahead counts a client's steps of all its rounds, not those of the round": (True, False),
    "lookahead counts the steps of all clients of the round, not those of each": (False, True),
    "lookahead counts the steps of all clients and rounds, not those of each client in the round": (False, False),
}
"""Other lives of lookahead's count in a client's loop: whether each client has its own, and whether rounds reset it."""


def _counted_by_block(inner: Running, s: Scenario) -> Running:
    """The count by which lookahead synchronises goes up with every block, each of which sees its own."""
    blocks = layers(shapes(s.case.x0))

    def counted(there: Callable[..., Any], steps: Any, x: Any, slow: Any, k: int, eta_l: Any) -> Any:
        count = (k - 1) * len(blocks)
        parts = [there(steps, x[l], slow[l], count + j + 1, eta_l) for j, l in enumerate(blocks)]
        ended, kept = zip(*parts, strict=True)
        return concatenate(ended), concatenate(kept)

    return behind({AFTER: calling(counted)})(inner, s)


def _counted_on(life: tuple[bool, bool], inner: Running, s: Scenario) -> Running:
    """The count by which lookahead synchronises goes on beyond a client's round."""
    own, anew = life
    counts = Counter[int]()

    def take(inner: Running, event: Event, k: int) -> Any:
        turns = (i for i, tau in zip(clients_of(event), steps_of_event(event), strict=True) for _ in range(tau))
        if anew:
            counts.clear()

        def counted(there: Callable[..., Any], steps: Any, x: Any, slow: Any, k: int, eta_l: Any) -> Any:
            at = next(turns, 0) if own else 0
            counts[at] += 1
            return there(steps, x, slow, counts[at], eta_l)

        with inner.spec.behind({AFTER: calling(counted)}):
            return inner.step(event)

    return Stepping(inner, take)


NEVER = 10**9
"""Period of lookahead that no round is long enough for."""


def _slow_late(period: int, inner: Running, event: Event, k: int) -> Any:
    """The first synchronisation of a round moves nothing: the slow model is the fast one there."""
    first = isinstance(event, Gradient) and inner.k + 1 == period
    return _under(inner, event, alpha=1.0) if first else inner.step(event)


def _under(inner: Running, event: Event, **changed: float) -> Any:
    """The answer to an event under other numbers of the claimed changes of the model."""
    return step_with(inner, event, steps=replace(inner.steps, **changed))


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
            s = mapped(s, Gradient, lambda e: replace(e, g={n: change(a, e.tokens) for n, a in e.g.items()}))
            return with_gradients(s, f"{kind} {k}", *rest)

        return Defect(words=words, given=given)

    for link in setting.steps:
        if link.startswith(BEFORE):
            words = f"{link} is applied once for each of {k} micro-batches"
            again = {f: partial(_again, k) for f in (_DECAYED, _DECAYED_ALONE)}
            yield Defect(words=words, session=behind(again))
    if rest and rest[0].split()[0] in LINKS and not rest[0].startswith("decay"):
        words = f"{rest[0]} is applied to the running sum after each micro-batch, not to the whole"
        yield Defect(words=words, session=behind({_THROUGH: calling(_one_by_one)}))
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


def _one_by_one(there: Callable[..., Any], links: Sequence[Word], g: Any, x: Any, blocks: Any) -> Any:
    """Gradients of micro-batches are added up in turn, and the link after the accumulation changes each sum so far."""
    if not isinstance(g, Micro):
        return there(links, g, x, blocks)
    accumulated, clip, *rest = links
    total = 0 * g.rows[0]
    for j in range(len(g.rows)):
        alone = [row if i == j else 0 * row for i, row in enumerate(g.rows)]
        total = applied(clip, total + MICRO[accumulated.name](alone, g.tokens), x, blocks)
    return there(rest, total, x, blocks)


def _again(k: int, decay: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, *given: reduce(lambda y, _: decay(y, *given), range(k), x)


def with_both(steps: tuple[str, ...], gradients: tuple[str, ...]) -> Callable[[Scenario], Scenario]:
    """Function that replaces both chains of a scenario."""
    return lambda s: with_gradients(with_steps(s, *steps), *gradients)


_DECAYED, _DECAYED_ALONE = (cast(FunctionType, f) for f in (decayed, decayed_alone))


WHOLE = ("clip-norm", "clip-norm-eps")
"""Clips of all blocks together."""


def _shared_clips(setting: Setting) -> Iterator[Defect]:
    """Yield the clips of blocks that share out the claimed length, as McMahan et al. (2018) clip layers."""

    def given(s: Scenario) -> Scenario:
        root = len(s.case.x0) ** 0.5

        def shared(link: str) -> str:
            name, _, number = link.partition(" ")
            return f"{name.replace('norm', 'block-norm')} {float(number) / root!r}" if name in WHOLE else link

        return with_gradients(s, *map(shared, setting.gradients))

    def words(link: str) -> str:
        _, _, number = link.partition(" ")
        return f"each block is clipped to {number} / sqrt(number of blocks), not all together to {number}"

    of_gradients, of_messages = (
        [k for k in links if k.split()[0] in WHOLE] for links in (setting.gradients, setting.messages)
    )
    yield from (Defect(words=words(link), given=given) for link in of_gradients)
    yield from (roundings.of_each(words(link), link.split()[0], _by_block) for link in of_messages)


def _by_block(there: Callable[..., Any], link: Any, delta: Any, n: int, blocks: Any) -> Any:
    return there(replace(link, name="clip-block-norm", c=link.c / len(blocks) ** 0.5), delta, n, blocks)


def of(setting: Setting) -> Iterator[Defect]:
    """Yield a defect for each other chain of gradients, steps and messages, and for roundings of the mean instead."""
    yield from _of_models(setting)
    if setting.micro:
        yield from _of_batches(setting)
    yield from _shared_clips(setting)
    for words, links in _others(setting.gradients, _of_gradients, GRADIENTS, {}):
        yield chained(words, "gradients", links)
    for words, links in _others(setting.messages, _of_messages, MESSAGES, DONE):
        yield chained(words, "messages", links)
    yield from roundings.of(setting)
