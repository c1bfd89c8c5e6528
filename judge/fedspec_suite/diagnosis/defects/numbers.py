"""Defects of hyper-parameters: values that differ from the stated ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import combinations, permutations
from typing import Any

from fedspec.contract import Event
from fedspec.domains import COUNTS, DECAY, DOMAINS
from fedspec_suite.diagnosis.defects.blockwise import in_flat_blocks
from fedspec_suite.diagnosis.defects.defect import Defect, Running, step_with, stepping
from fedspec_suite.diagnosis.defects.lagging import clients_of
from fedspec_suite.measure.scenario import Scenario, with_hyper
from fedspec_suite.measure.setting import Setting

_ROUNDS = {"server", "round"}


def _other(words: str, name: str, change: Callable[[Mapping[str, Any]], Any]) -> Defect:
    return Defect(words=words, given=lambda s: with_hyper(s, **{name: change(s.case.hyper)}), about=name)


def _over_clients(name: str) -> Defect:
    def given(s: Scenario) -> Scenario:
        clients = len(s.case.problem.e) if s.case.problem else 1
        return with_hyper(s, **{name: s.case.hyper[name] / clients})

    return Defect(words=f"{name} is divided by the number of all clients", given=given, about=name)


def _counted(name: str, less: str, inner: Running, event: Event, k: int) -> Any:
    """A whole number is that of the event's clients, or what another one leaves of it."""
    left = len(clients_of(event)) - (getattr(inner.h, less) if less else 0)
    return step_with(inner, event, h=replace(inner.h, **{name: max(1, left)}))


def zero(name: str, session: Running) -> None:
    """Set a hyper-parameter of a session to 0."""
    if name in getattr(session, "keywords", ()):
        session.keywords = {**session.keywords, name: 0 * session.keywords[name]}
    else:
        session.h = copy(session.h)
        # A record may check its numbers when it is made.
        object.__setattr__(session.h, name, 0 * getattr(session.h, name))


def of(setting: Setting) -> Iterator[Defect]:
    """Yield defects of hyper-parameters, such as two that are exchanged."""
    free = [n for n in setting.numbers if n not in setting.fixed]
    for a, b in combinations([n for n in free if n not in COUNTS], 2):
        if DOMAINS[a].domain is DOMAINS[b].domain:
            yield Defect(
                words=f"{a} and {b} are exchanged",
                about=a,
                given=lambda s, a=a, b=b: with_hyper(s, **{a: s.case.hyper[b], b: s.case.hyper[a]}),  # type: ignore[misc]
            )
    for a, b in permutations([n for n in free if n not in COUNTS], 2):
        if DOMAINS[a].domain is DOMAINS[b].domain:
            yield _other(f"{a} is taken as {b}", a, lambda h, b=b: h[b])  # type: ignore[misc]
    decays = [n for n in free if DOMAINS[n].domain is DECAY and n.endswith("_l")]
    own = {n: n.removesuffix("_l") for n in decays if n.removesuffix("_l") in setting.numbers}
    for those, words in ((own, "the clients take the server's"), (_turned(own, free), "the server takes the clients'")):
        if len(those) > 1:
            yield Defect(
                words=f"{words} {', '.join(those.values())}",
                about=next(iter(those)),
                given=lambda s, those=those: with_hyper(s, **{n: s.case.hyper[m] for n, m in those.items()}),  # type: ignore[misc]
            )
    for n in free:
        domain = DOMAINS[n].domain
        if n in COUNTS:
            yield _other(f"{n} is one too large", n, lambda h, n=n: h[n] + 1)  # type: ignore[misc]
            if domain.holds(1):
                yield _other(f"{n} is ignored (taken as 1)", n, lambda h: 1)
            for less in ("", *(m for m in free if m in COUNTS and m != n)) if setting.level in _ROUNDS else ():
                left = f"n - {less}" if less else "n"
                words = f"{n} is ignored: it is {left}, n the number of clients of the round, or 1 if that is less"
                yield stepping(words, partial(_counted, n, less))
            continue
        values = {0.0: "0", 1.0: "1"}
        for value, said in values.items():
            if domain.holds(value):
                yield _other(f"{n} is ignored (taken as {said})", n, lambda h, v=value: v)  # type: ignore[misc]
        if setting.level in {"round", "trace"}:
            yield _over_clients(n)
        elif domain.holds(0.0):
            words = f"{n} is 0 in blocks with fewer than two axes"
            yield Defect(words=words, session=partial(in_flat_blocks, partial(zero, n)), about=n)
        yield _other(f"{n} is squared", n, lambda h, n=n: h[n] ** 2)  # type: ignore[misc]
        yield _other(f"the root of {n} is taken", n, lambda h, n=n: h[n] ** 0.5)  # type: ignore[misc]
        if domain is DECAY:
            yield _other(f"1 - {n} stands for {n}", n, lambda h, n=n: 1 - h[n] or 0.0)  # type: ignore[misc]
        else:
            yield _other(f"{n} is doubled", n, lambda h, n=n: 2 * h[n])  # type: ignore[misc]
            yield _other(f"{n} is halved", n, lambda h, n=n: h[n] / 2)  # type: ignore[misc]
        for value in _USUAL.get(n, ()):
            yield _other(f"{n} = 0 is taken for {value:g}", n, lambda h, n=n, v=value: h[n] or v)  # type: ignore[misc]
    if "v0" in free and not setting.v0_is_tau_squared:
        for below in ("tau", "eps"):
            if below in setting.numbers:
                yield _other(f"v0 is ignored (taken as {below}^2)", "v0", lambda h, b=below: h[b] ** 2)  # type: ignore[misc]


def _turned(own: Mapping[str, str], free: Sequence[str]) -> dict[str, str]:
    return {server: client for client, server in own.items() if server in free}


_USUAL: Mapping[str, tuple[float, ...]] = {"eps": (1e-8, 1e-6, 1e-3), "tau": (1e-8, 1e-9, 1e-3)}
"""Usual default values of stabilisers in packages."""
