"""Limits that an offer declares for its subject: their phrases, and checks whether a case exceeds them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fedspec.contract import BESIDE, Event, Exchange, Messages, Offer, Round
from fedspec.parts import ties
from fedspec_suite.measure.scenario import Scenario, said_by

EVERYBODY = "all clients in every round"
BLOCKS = {"one": "one block only", "matrices": "matrices only"}


def limits_of(offer: Offer) -> tuple[str, ...]:
    """Return phrases for the limits of an offer; empty if the offer declares no limits."""
    return (
        *((EVERYBODY,) if offer.participation == "all" else ()),
        *((BLOCKS[offer.blocks],) if offer.blocks in BLOCKS else ()),
        *("no client without examples" if name == "weight" else f"no {name} = 0" for name in offer.nonzero),
    )


def limit_fields(offer: Offer) -> dict[str, Any]:
    """Return the fields of a result that repeat an offer's limits."""
    return {
        "nonzero": offer.nonzero,
        "blocks": offer.blocks,
        "participation": offer.participation,
        "limits": limits_of(offer),
        "variant": offer.variant,
        "rates": offer.rates,
        "buffers": dict(offer.buffers),
        **{name: getattr(offer, name) for name in BESIDE},
    }


def unsettable_hyper(offer: Offer, s: Scenario) -> str:
    """Return the first hyper-parameter that an event changes although the offer fixes it; empty if none."""
    taken: dict[str, tuple[type, ...]] = {"rounds": (int, float), "clients": (int, float, tuple)}
    kinds = taken.get(offer.rates, ())
    said = [pair for e in s.events for pair in said_by(e).items()]
    return next((name for name, value in said if name in offer.fixed or not isinstance(value, kinds)), "")


def broken_limit(offer: Offer, s: Scenario) -> str:
    """Return the offer's limit that a scenario exceeds by a zero, its model, participants or rates; empty if none."""
    if refused := [name for name in offer.nonzero if name in zeros(s)]:
        return f"{refused[0]} = 0 is refused"
    if offer.participation == "all" and (len({*map(_attending, s.events)} | _expected(s)) > 1 or _missing(s)):
        return EVERYBODY
    shapes = [a.ndim for a in s.case.x0.values()]
    held = {"one": len(shapes) == 1, "matrices": all(n == 2 for n in shapes)}
    if not held.get(offer.blocks, True):
        return BLOCKS[offer.blocks]
    if lacking := [name for name in (*offer.parts, *ties(offer.parts).values()) if name not in s.case.x0]:
        return f"no model without block {lacking[0]}"
    return f"{name} anew in a round" if (name := unsettable_hyper(offer, s)) else ""


def zeros(s: Scenario) -> set[str]:
    """Return the names of hyper-parameters that are zero in a scenario, and ``weight`` if a client has no examples."""
    sent = [m.weight for e in s.events if isinstance(e, Messages) for m in e.messages]
    held = [] if s.case.problem is None else list(s.case.problem.examples)
    said = [*s.case.hyper.items(), *(pair for e in s.events for pair in said_by(e).items())]
    found = {n for n, v in said if (0 in v if isinstance(v, tuple) else v == 0)}
    return found | ({"weight"} if 0 in (*sent, *held) else set())


def with_zero(s: Scenario, name: str) -> Scenario:
    """Set a hyper-parameter of the scenario to zero; with ``weight``, take the last of several clients' examples."""
    if name != "weight":
        zero = type(s.case.hyper[name])(0)
        return replace(s, case=replace(s.case, hyper={**s.case.hyper, name: zero}))
    if s.case.problem is not None:
        examples = s.case.problem.examples.copy()
        examples[1:][-1:] = 0
        return replace(s, case=replace(s.case, problem=replace(s.case.problem, examples=examples)))
    return replace(s, events=tuple(map(_last_without, s.events)))


def _last_without(e: Event) -> Event:
    if not isinstance(e, Messages) or len(e.messages) < 2:
        return e
    *others, last = e.messages
    return replace(e, messages=(*others, replace(last, weight=0)))


def _expected(s: Scenario) -> set[tuple[int, ...]]:
    """Set of all clients, if the case lists them; else empty."""
    return set() if s.case.problem is None else {tuple(range(len(s.case.problem.e)))}


def _missing(s: Scenario) -> bool:
    """True if the senders of a round are not all clients, in a case that gives the number of clients."""
    N = s.case.population
    return N is not None and any(isinstance(e, Messages) and len(e.messages) != N for e in s.events)


def _attending(e: Event) -> tuple[int, ...]:
    """Participants of an event; if its sets differ, the clients in all of them."""
    match e:
        case Messages(messages=messages):
            return tuple(sorted(m.client for m in messages))
        case Round(participants=who):
            return tuple(sorted(who))
        case Exchange(senders=senders, computing=computing):
            sets = [*computing, *([senders] if senders else [])]
            return tuple(sorted(set.intersection(*map(set, sets)))) if sets else ()
    return ()
