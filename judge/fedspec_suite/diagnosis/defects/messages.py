"""Defects of a server that misuses the clients' messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate
from types import FunctionType
from typing import Any, TypeAlias, cast

import numpy as np

from fedspec import contract
from fedspec.algorithms.synchronous import losses_of, model, together
from fedspec.arith import exp, log, sqrt, stack
from fedspec.contract import ClientMessage, Event
from fedspec.mixing.order import coordinate_median
from fedspec.plan import Messages
from fedspec.readings import Weighting
from fedspec_suite.diagnosis.defects.defect import Defect, Running, Stepping, behind, calling
from fedspec_suite.diagnosis.defects.lagging import clients_of
from fedspec_suite.diagnosis.defects.limits import MEAN, around_mean
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting
from fedspec_suite.mutants import functions

Change: TypeAlias = Callable[[Messages, Sequence[int]], Messages]
"""Function for other messages, from those of a round and the numbers of their clients."""


def _other(begin: Callable[[], Change], inner: Running, s: Scenario) -> Running:
    """The server gets other messages: ``begin`` gives the function that makes them in a session."""
    server, change, there = inner.run.server, begin(), list[int]()

    def take(inner: Running, event: Event, k: int) -> Any:
        there[:] = clients_of(event)
        return inner.step(event)

    inner.run = replace(inner.run, server=lambda h, state, sent: server(h, state, change(together(sent), there)))
    return Stepping(inner, take)


def _kept(words: str, tail: str, begin: Callable[[], Change]) -> Defect:
    return Defect(words=words, tail=tail, session=partial(_other, begin))


def _resent(words: str, tail: str, change: Callable[[Messages], Messages]) -> Defect:
    return _kept(words, tail, lambda: lambda m, there: change(m))


def _column(numbers: Sequence[Any], like: Any) -> Any:
    out = np.empty((len(numbers), 1), dtype=like.dtype)
    out[:, 0] = list(numbers)
    return out


def _some(sent: Messages, which: slice) -> Messages:
    return Messages(
        deltas=sent.deltas[which], examples=sent.examples[which], steps=sent.steps[which], a_norms=sent.a_norms[which]
    )


def _moves(sent: Messages, k: int) -> bool:
    return any(bool(c != 0) for c in sent.deltas[k].tolist())


def _has_examples(sent: Messages, k: int) -> bool:
    return bool(sent.examples[k] > 0)


def _with(has: Callable[[Messages, int], bool], sent: Messages) -> Messages:
    """The messages that have something; all messages if none has it."""
    rows = [k for k in range(len(sent.steps)) if has(sent, k)]
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


def _earlier(name: str, which: int) -> Change:
    """A column of the messages is that of an earlier round: of the last, or of the first."""
    kept: list[list[Any]] = []

    def late(now: Messages, there: Sequence[int]) -> Messages:
        kept.append(list(getattr(now, name)))
        before = kept[max(which, -len(kept))]
        anew: dict[str, Any] = {name: [*before, *kept[-1][len(before) :]][: len(kept[-1])]}
        return replace(now, **anew)

    return late


def _remembered(name: str, always: bool, inner: Running, s: Scenario) -> Running:
    """A number that comes with a message is the one that its client sent first, or the time before."""
    known: dict[int, Any] = {}

    def old(m: ClientMessage) -> ClientMessage:
        before = known.get(m.client, getattr(m, name))
        known[m.client] = before if always else getattr(m, name)
        return replace(m, **{name: before})

    def take(inner: Running, event: Event, k: int) -> Any:
        assert isinstance(event, contract.Messages)
        return inner.step(replace(event, messages=tuple(map(old, event.messages))))

    return Stepping(inner, take)


def _divided(total: Callable[[Messages], Any], of: Callable[[list[Any]], Any]) -> Change:
    """The mean is divided by ``of`` the totals of the rounds so far, not by the total of the present round."""
    kept: list[Any] = []

    def late(now: Messages, there: Sequence[int]) -> Messages:
        kept.append(total(now))
        return replace(now, deltas=now.deltas * kept[-1] / of(kept))

    return late


def _all_so_far(of: Callable[[Messages, Messages], Messages]) -> Change:
    """The server takes what ``of`` makes of this round's messages and of the last message of each client so far."""
    last: dict[int, dict[str, Any]] = {}

    def late(now: Messages, there: Sequence[int]) -> Messages:
        last.update({i: _row(now, k) for k, i in enumerate(there)})
        return of(now, _joined([*last.values()]))

    return late


def _over_all(count: Callable[[Messages], Any], now: Messages, last: Messages) -> Messages:
    return replace(now, deltas=now.deltas * sum(count(now)) / sum(count(last)))


def _row(m: Messages, k: int) -> dict[str, Any]:
    """The numbers of the k-th message, by column."""
    columns = {n: getattr(m, n) for n in ("deltas", "examples", "steps", "a_norms", "controls")}
    return {n: v[k] for n, v in columns.items() if v is not None}


def _joined(rows: Sequence[Mapping[str, Any]]) -> Messages:
    columns = {n: [row[n] for row in rows] for n in rows[0]}
    whole: dict[str, Any] = {n: stack(v) if n in ("deltas", "controls") else v for n, v in columns.items()}
    return Messages(**whole)


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
                yield Defect(words=f"{words} is {when}", session=partial(_remembered, name, always))


NUMBERS = {"weight": "n_i", "steps": "tau_i", "a_norm": "||a_i||_1", "loss": "F_i"}
"""Symbols of the numbers that a message contains beside the change."""

LAST = "as it was in the message before of its client"


_LOSSES: Mapping[str, Callable[[Any], Any]] = {
    "{} / max over j of {}": lambda F: F / F.max(),
    "{} / sum over j of {}": lambda F: F / F.sum(),
    "{} / mean over j of {}": lambda F: F / (F.sum() / len(F)),
    "the mean over j of {1}": lambda F: 0 * F + F.sum() / len(F),
    "1 + {}": lambda F: 1 + F,
    "log(1 + {})": lambda F: log(1 + F),
    "exp({})": exp,
    "sqrt({})": sqrt,
    "({})^2": lambda F: F * F,
}
"""Other losses by which a server counts its clients, from the column of those that they send."""


def _losses(of: Any, guarded: bool, there: Any, m: Any, like: Any, *, guard: Any = 0) -> Any:
    more = guard if guarded else 0
    return of(there(m, like, guard=guard) + more) - more


def _of_losses() -> Iterator[Defect]:
    """Yield defects of the losses, before and after the guard is added."""
    for said, of in _LOSSES.items():
        for guarded, of_i, of_j in ((True, "F_i", "F_j"), (False, "F_i(x)", "F_j(x)")):
            words = f"F_i is {said.format(of_i, of_j)}"
            session = behind({cast(FunctionType, losses_of): calling(_losses, of, guarded)})
            yield Defect(words=words, tail="F_i", session=session)


def _of_earlier_models(own: bool, inner: Running, s: Scenario) -> Running:
    """Clients report the loss of the model with which an earlier round began: the last, or their ``own`` last one."""
    began: dict[int, Any] = {}

    def around(i: int, client: Any) -> Any:
        def gradient(k: int, y: Any) -> Any:
            return client(k, y)

        vars(gradient)["value"] = lambda x: client.value(began.get(i, x))
        return gradient

    inner.clients = [around(i, client) for i, client in enumerate(inner.clients)]

    def take(inner: Running, event: Event, k: int) -> Any:
        x = model(inner.state)
        answer = inner.step(event)
        began.update(dict.fromkeys(clients_of(event) if own else range(len(inner.clients)), x))
        return answer

    return Stepping(inner, take)


_NORMS: Mapping[str, Callable[[Messages], Sequence[Any]]] = {
    "||a_i||_1 is taken for tau_i": lambda m: m.steps,
    "||a_i||_1 is squared": lambda m: [a * a for a in m.a_norms],
    "||a_i||_1 is one": lambda m: [1 for _ in m.a_norms],
    "||a_i||_1 is one local step short": lambda m: [max(a - 1, 1) for a in m.a_norms],
}
_PARTS: Mapping[str, Callable[[int], slice]] = {
    "only the last client counts": lambda n: slice(-1, None),
    "only the first client counts": lambda n: slice(0, 1),
    "the last client is left out": lambda n: slice(0, max(1, n - 1)),
}
"""Messages that alone count, from the number of messages."""

_FACTORS: Mapping[str, tuple[str, Callable[[Messages], Any]]] = {
    "the changes have the wrong sign": ("delta", lambda m: -1),
    "the changes are added, not averaged": ("delta", lambda m: len(m.steps)),
    "each change is multiplied by the client's steps": ("d", lambda m: _column(m.steps, m.deltas)),
}
_DIVISORS: Mapping[str, tuple[str, Callable[[Messages], Any]]] = {
    "the mean is divided by the number of clients once more": ("delta", lambda m: len(m.steps)),
    "each change is divided by the client's steps": ("d", lambda m: _column(m.steps, m.deltas)),
}
"""Factors and divisors of the changes, with the equation in which it does."""


def of(setting: Setting) -> Iterator[Defect]:
    """Yield defects in how a server uses its clients' messages."""
    by = setting.options.get("weights", "examples")
    by_examples = by == "examples"
    if setting.level == "server":
        yield from _of_clients(setting, by)
    if setting.losses:
        yield from _of_losses()
    if setting.losses and setting.level == "round":
        for which, own in (("the round before", False), ("the client's last round", True)):
            words = f"F_i is the loss of the model with which {which} began"
            yield Defect(words=words, tail="F_i", session=partial(_of_earlier_models, own))
    for words, part in _PARTS.items():
        yield _resent(words, "delta", lambda m, part=part: _some(m, part(len(m.steps))))  # type: ignore[misc]
    if by_examples:
        yield _kept("the weights are last round's", "w", partial(_earlier, "examples", -2))
        yield _kept("the weights are the first round's", "w", partial(_earlier, "examples", 0))
    yield _resent("a client that sends zeros is left out, and not counted", "delta", partial(_with, _moves))
    if setting.options.get("weights") != "examples":
        words = "a client without examples is left out, and not counted"
        yield _resent(words, "delta", partial(_with, _has_examples))
    what, count = ("examples", lambda m: m.examples) if by_examples else ("clients", lambda m: [1] * len(m.steps))
    share = f"a client's share is of the {what} up to it, not of all"
    yield _resent(share, "w", lambda m: _so_far(m, count(m)))
    yield _resent("the mean so far and the next change are averaged, one after another", "w", _halving)
    if MEAN in functions(setting.algorithm, setting.level):
        words = "the median of each coordinate stands for the mean"
        median = around_mean(lambda there, blocks: lambda rows, p: coordinate_median(rows))
        yield Defect(words=words, tail="delta", session=median)
    for words, (tail, factor) in _FACTORS.items():
        yield _resent(words, tail, lambda m, f=factor: replace(m, deltas=m.deltas * f(m)))  # type: ignore[misc]
    for words, (tail, divisor) in _DIVISORS.items():
        yield _resent(words, tail, lambda m, f=divisor: replace(m, deltas=m.deltas / f(m)))  # type: ignore[misc]
    if not setting.losses and not setting.everyone:
        words = "an absent client's last message counts in every later round"
        yield _kept(words, "delta", partial(_all_so_far, lambda now, last: last))
    if by != Weighting.STEPS:
        everybody = "examples of all clients so far" if by_examples else "number of all clients so far"
        words = f"divided by the {everybody}, not of this round's"
        yield _kept(words, "delta", partial(_all_so_far, partial(_over_all, count)))
        for said, of_rounds in _TOTALS.items():
            words = f"divided by the number of {what} of {said}, not of this one"
            yield _kept(words, "delta", partial(_divided, lambda m: sum(count(m)), of_rounds))
    if "tau_eff" in setting.algorithm.shows:
        for words, norms in _NORMS.items():
            yield _resent(words, "d", lambda m, norms=norms: replace(m, a_norms=list(norms(m))))  # type: ignore[misc]
        yield _kept("||a_i||_1 is last round's", "d", partial(_earlier, "a_norms", -2))
        yield _kept("||a_i||_1 is the first round's", "d", partial(_earlier, "a_norms", 0))
