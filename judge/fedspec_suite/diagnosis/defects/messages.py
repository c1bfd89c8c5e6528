"""Messages: mistakes of the server in using the clients' messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

import numpy as np

from fedspec import contract
from fedspec.algorithms.synchronous import together
from fedspec.contract import ClientMessage, Event
from fedspec.plan import Messages
from fedspec.readings import Weighting
from fedspec_suite.diagnosis.defects.defect import Defect, Running, Stepping
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting


def _resent(words: str, tail: str, change: Callable[[Messages, Scenario], Messages]) -> Defect:
    def session(inner: Running, s: Scenario) -> Running:
        server = inner.run.server
        inner.run = replace(inner.run, server=lambda h, state, sent: server(h, state, change(together(sent), s)))
        return inner

    return Defect(words=words, tail=tail, session=session)


def _column(numbers: Sequence[Any], like: Any) -> Any:
    out = np.empty((len(numbers), 1), dtype=like.dtype)
    out[:, 0] = list(numbers)
    return out


def _weighed(m: Messages, by: Sequence[Any], told: bool) -> Messages:
    """Other sizes than n_i; where the server does not look at those, the changes are scaled."""
    if told:
        return replace(m, examples=list(by))
    return replace(m, deltas=m.deltas * _column([b * len(by) for b in by], m.deltas) / sum(by))


def _some(sent: Messages, which: slice) -> Messages:
    return Messages(
        deltas=sent.deltas[which], examples=sent.examples[which], steps=sent.steps[which], a_norms=sent.a_norms[which]
    )


def _weighed_by_norm(m: Messages, by: str) -> Messages:
    norms: list[Any] = list(m.a_norms)
    return replace(m, steps=norms) if by == Weighting.STEPS else _weighed(m, norms, by == "examples")


def _moving(sent: Messages) -> Messages:
    """Messages with a nonzero change; all messages if every change is zero."""
    rows = [k for k, delta in enumerate(sent.deltas) if any(bool(c) for c in delta.tolist())]
    if not rows:
        return sent

    def kept(column: Sequence[Any]) -> list[Any]:
        return [column[k] for k in rows]

    losses = sent.losses
    return Messages(
        deltas=sent.deltas[rows],
        examples=kept(sent.examples),
        steps=kept(sent.steps),
        a_norms=kept(sent.a_norms),
        losses=losses and (lambda: kept(losses())),
    )


def _in_all(m: Messages, by: Sequence[Any]) -> Messages:
    """Every change is one sum of all, by numbers that need not sum to one."""
    total = (m.deltas * _column(by, m.deltas)).sum(axis=0)
    return replace(m, deltas=m.deltas * 0 + total)


def _so_far(m: Messages, sizes: Sequence[Any]) -> Messages:
    """Each message counts by its share of the messages up to it."""
    return _in_all(m, [n / total if total else 0 for n, total in zip(sizes, accumulate(sizes), strict=True)])


def _halving(m: Messages) -> Messages:
    """The mean of the mean so far and the next change, one after another."""
    n = len(m.steps)
    return _in_all(m, [0.5 ** (n - max(k, 1)) for k in range(n)])


def _earlier(name: str, which: int) -> Callable[[Running, Scenario], Running]:
    """A column of the messages is that of an earlier round: of the last, or of the first."""

    def session(inner: Running, s: Scenario) -> Running:
        server, kept = inner.run.server, []

        def late(h: Any, state: Any, sent: Any) -> Any:
            now = together(sent)
            kept.append(list(getattr(now, name)))
            before = kept[max(which, -len(kept))]
            anew: dict[str, Any] = {name: [*before, *kept[-1][len(before) :]][: len(kept[-1])]}
            return server(h, state, replace(now, **anew))

        inner.run = replace(inner.run, server=late)
        return inner

    return session


def _remembered(name: str, always: bool) -> Callable[[Running, Scenario], Running]:
    """A number that comes with a message is the one that its client sent first, or the time before."""

    def session(inner: Running, s: Scenario) -> Running:
        known: dict[int, Any] = {}

        def old(m: ClientMessage) -> ClientMessage:
            before = known.get(m.client, getattr(m, name))
            known[m.client] = before if always else getattr(m, name)
            return replace(m, **{name: before})

        def take(inner: Running, event: Event, k: int) -> Any:
            assert isinstance(event, contract.Messages)
            return inner.step(replace(event, messages=tuple(map(old, event.messages))))

        return Stepping(inner, take)

    return session


def _divided(
    total: Callable[[Messages], Any], of: Callable[[list[Any]], Any]
) -> Callable[[Running, Scenario], Running]:
    """The mean is divided by ``of`` the totals of the rounds so far, not by the total of the present round."""

    def session(inner: Running, s: Scenario) -> Running:
        server, kept = inner.run.server, []

        def late(h: Any, state: Any, sent: Any) -> Any:
            now = together(sent)
            kept.append(total(now))
            return server(h, state, replace(now, deltas=now.deltas * kept[-1] / of(kept)))

        inner.run = replace(inner.run, server=late)
        return inner

    return session


_TOTALS: Mapping[str, Callable[[list[Any]], Any]] = {
    "all rounds so far": sum,
    "the round before": lambda kept: kept[max(-2, -len(kept))],
    "the first round": lambda kept: kept[0],
}
"""Total that may divide the mean by mistake, from the totals of the rounds so far, by its words."""


def _of_clients(setting: Setting, by: str) -> Iterator[Defect]:
    """Numbers that are kept by client, though each message says them."""
    read = {"weight": by == "examples", "steps": by == Weighting.STEPS, "a_norm": "tau_eff" in setting.algorithm.shows}
    read["loss"] = setting.losses
    for name, words in NUMBERS.items():
        if read[name]:
            for always, when in ((True, "as it was in the first message of its client"), (False, LAST)):
                yield Defect(words=f"{words} is {when}", session=_remembered(name, always))


NUMBERS = {"weight": "n_i", "steps": "tau_i", "a_norm": "||a_i||_1", "loss": "F_i"}
"""Symbols of the numbers that a message contains beside the change."""

LAST = "as it was in the message before of its client"


def of(setting: Setting) -> Iterator[Defect]:
    """Yield the defects in how a server reads its clients' messages."""
    by = setting.options.get("weights", "examples")
    by_examples = by == "examples"
    if setting.level == "server":
        yield from _of_clients(setting, by)
    yield _resent("the changes have the wrong sign", "delta", lambda m, s: replace(m, deltas=-m.deltas))
    yield _resent("only the last client counts", "delta", lambda m, s: _some(m, slice(-1, None)))
    yield _resent("only the first client counts", "delta", lambda m, s: _some(m, slice(0, 1)))
    yield _resent("the last client is left out", "delta", lambda m, s: _some(m, slice(0, max(1, len(m.steps) - 1))))
    if by_examples:
        yield _resent("all clients weigh alike", "w", lambda m, s: replace(m, examples=[1 for _ in m.examples]))
        yield _resent(
            "the weights are those of other clients (their order is reversed)",
            "w",
            lambda m, s: replace(m, examples=m.examples[::-1]),
        )
        more = "every client counts one example more than it has"
        yield _resent(more, "w", lambda m, s: replace(m, examples=[n + 1 for n in m.examples]))
        least = "a client without examples counts as if it had one"
        yield _resent(least, "w", lambda m, s: replace(m, examples=[max(n, 1) for n in m.examples]))
        yield _resent("the weights are n_i^2", "w", lambda m, s: replace(m, examples=[n * n for n in m.examples]))
        yield Defect(words="the weights are last round's", tail="w", session=_earlier("examples", -2))
        yield Defect(words="the weights are the first round's", tail="w", session=_earlier("examples", 0))
        yield _resent(
            "the clients weigh by n_i tau_i",
            "w",
            lambda m, s: replace(m, examples=[n * t for n, t in zip(m.examples, m.steps, strict=True)]),
        )
        yield _resent(
            "the weights are not normalised: changes are multiplied by n_i",
            "w",
            lambda m, s: replace(m, deltas=m.deltas * sum(m.examples)),
        )
    if "tau_eff" in setting.algorithm.shows:
        yield _resent("the clients weigh by ||a_i||_1", "w", lambda m, s: _weighed_by_norm(m, by))
    yield _resent("a client that sends zeros is left out, and not counted", "delta", lambda m, s: _moving(m))
    if by == Weighting.STEPS:
        yield _resent("the weights are tau_i^2", "w", lambda m, s: replace(m, steps=[t * t for t in m.steps]))
    if setting.algorithm.options.get("weights") is not Weighting:
        # Elsewhere it is an option.
        yield _resent("the clients weigh by their steps", "w", lambda m, s: _weighed(m, m.steps, by_examples))
    yield _resent(
        "the clients weigh by one more than their steps",
        "w",
        lambda m, s: (
            replace(m, steps=[t + 1 for t in m.steps])
            if by == Weighting.STEPS
            else _weighed(m, [t + 1 for t in m.steps], by_examples)
        ),
    )
    if by == "uniform":
        yield _resent("the clients weigh by their examples", "w", lambda m, s: _weighed(m, m.examples, False))
    sizes = "examples" if by_examples else "clients"
    yield _resent(
        f"a client's share is of the {sizes} up to it, not of all",
        "w",
        lambda m, s: _so_far(m, m.examples if by_examples else [1] * len(m.steps)),
    )
    yield _resent("the mean so far and the next change are averaged, one after another", "w", lambda m, s: _halving(m))
    yield _resent(
        "the changes are added, not averaged", "delta", lambda m, s: replace(m, deltas=m.deltas * len(m.steps))
    )
    yield _resent(
        "the mean is divided by the number of clients once more",
        "delta",
        lambda m, s: replace(m, deltas=m.deltas / len(m.steps)),
    )
    yield _resent(
        "each change is divided by the client's steps",
        "d",
        lambda m, s: replace(m, deltas=m.deltas / _column(m.steps, m.deltas)),
    )
    yield _resent(
        "each change is multiplied by the client's steps",
        "d",
        lambda m, s: replace(m, deltas=m.deltas * _column(m.steps, m.deltas)),
    )
    what, total = ("examples", _examples) if by_examples else ("clients", _count)
    if by != Weighting.STEPS:
        yield _resent(
            f"the {what} are counted from 1, so that their sum is one too many",
            "delta",
            lambda m, s: replace(m, deltas=m.deltas * total(m) / (total(m) + 1)),
        )
    if by != Weighting.STEPS:
        for said, of_rounds in _TOTALS.items():
            yield Defect(
                words=f"divided by the number of {what} of {said}, not of this one",
                tail="delta",
                session=_divided(total, of_rounds),
            )
    if setting.level == "round":
        yield _resent("divided by the examples of the whole population", "w", _over_population)
        yield _resent(
            "divided by the number of all clients, not of those that took part",
            "w",
            lambda m, s: replace(m, deltas=m.deltas * len(m.steps) / _clients(s)),
        )
    if "tau_eff" in setting.algorithm.shows:
        yield _resent("||a_i||_1 is taken for tau_i", "d", lambda m, s: replace(m, a_norms=list(m.steps)))
        yield _resent("||a_i||_1 is squared", "d", lambda m, s: replace(m, a_norms=[a * a for a in m.a_norms]))
        yield _resent("||a_i||_1 is one", "d", lambda m, s: replace(m, a_norms=[1 for _ in m.a_norms]))
        yield Defect(words="||a_i||_1 is last round's", tail="d", session=_earlier("a_norms", -2))
        yield Defect(words="||a_i||_1 is the first round's", tail="d", session=_earlier("a_norms", 0))
        yield _resent(
            "||a_i||_1 is one local step short",
            "d",
            lambda m, s: replace(m, a_norms=[max(a - 1, 1) for a in m.a_norms]),
        )


def _examples(m: Messages) -> Any:
    return sum(m.examples)


def _count(m: Messages) -> Any:
    return len(m.steps)


def _clients(s: Scenario) -> int:
    return len(s.case.problem.e) if s.case.problem else 1


def _over_population(m: Messages, s: Scenario) -> Messages:
    everybody = sum(s.case.problem.examples) if s.case.problem else 1
    return replace(m, deltas=m.deltas * sum(m.examples) / everybody)
