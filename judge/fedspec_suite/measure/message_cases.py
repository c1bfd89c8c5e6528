"""Cases of claims with ``messages`` or ``gradients``: numbers as large as the claimed bounds, and of many bits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from fedspec.arith import Array
from fedspec.contract import Event, Messages
from fedspec_suite.measure.scenario import Scenario, change_events, posed, with_sent
from fedspec_suite.measure.setting import Setting

BITS = {"float64": 30, "float32": 20}
"""Bits below the largest change, by type: at float32 with room for a sum of a model and a change."""

SHRINK = 0.7390851332151607
"""Number without a short binary fraction, which spreads eighths over all bits."""

MOST = 2
"""Exponent of the bound of changes, which every floating-point type holds."""


def finer(setting: Setting, s: Scenario) -> Scenario:
    """The case with odd multiples of a small power of two as changes and slopes, if its claim has ``messages``.

    Zeros stay. An odd multiple is no tie of a coarser rounding and no multiple of its spacing, so that code which makes
    a change of two models rounds it as code does that is given the change.
    """
    if not setting.messages:
        return _about_bounds(setting, s)
    changes = [m.delta[n] for e in s.events for m in getattr(e, "messages", ()) for n in m.delta]
    changes += [] if s.case.problem is None else [s.case.problem.e]
    largest = max((float(np.abs(a).max()) for a in changes if a.size), default=0.0)
    if not largest:
        return s
    above = int(np.floor(np.log2(largest))) + 1
    smaller, unit = 2.0 ** min(0, MOST - above), 2.0 ** (min(above, MOST) - BITS[s.case.dtype])

    def fine(a: Array) -> Array:
        odd = 2 * np.floor(np.asarray(a, dtype=float) * (SHRINK * smaller / unit / 2)) + 1
        return np.where(a == 0, 0.0, odd * unit).astype(a.dtype)

    fitting = change_events(s, fine) if s.case.problem is None else posed(s, e=fine(s.case.problem.e))
    return _about_bounds(setting, fitting)


BOUNDS = ("clip-", "scale-norm", "mean-clip-norm")
"""Beginnings of the words whose numbers bound a gradient, a change or a mean."""

LARGEST, USUAL = {"float16": 2.0**10, "": 2.0**30}, 5
"""Largest factors of numbers, by the narrowest type of a message; and a client's usual number of examples."""

FURTHER = (0, 4, 8)
"""Powers of two by which cases of rounds differ around a claimed bound."""

BELOW = 6
"""Number of bits that a change has below a claimed fixed point, at least."""


def _about_bounds(setting: Setting, s: Scenario) -> Scenario:
    """The case with gradients, changes and examples that lie on both sides of a claimed clip or cap.

    Numbers are those for a bound between 1 and 2, times a power of 2, so that they stay as short as they are. Without a
    clip they are small enough for a claimed fixed point to round them.
    """
    words = [word.split() for word in (*setting.messages, *setting.gradients)]

    def number(*beginnings: str) -> float:
        return next((float(c[0]) for name, *c in words if name.startswith(beginnings)), 0.0)

    clip, cap, least = number(*BOUNDS), number("weight-cap"), number("divisor-at-least")
    bits = max((float(c[0]) for name, *c in words if name.startswith("fixed")), default=0.0)
    power = np.floor(np.log2(clip)) if clip else min(0, BITS[s.case.dtype] - MOST - BELOW - bits)
    most = LARGEST["float16" if any(name == "float16" for name, *_ in words) else ""]
    if clip and s.case.problem is not None:
        # A round's gradients and changes shrink with rates and curvatures: some cases begin further away.
        power += FURTHER[(len(s.events) + sum(a.size for a in s.case.x0.values())) % len(FURTHER)]
    by = min(max(2.0**power, 1 / most), most)

    def times(a: Array) -> Array:
        return np.asarray(a * by, a.dtype)

    def sized(n: Any) -> Any:
        return type(n)(np.ceil(n * cap / USUAL))

    if by != 1:
        s = change_events(s, times, times)
        s = s if s.case.problem is None else posed(s, e=times(s.case.problem.e))
    capped = bool(cap) or setting.options.get("weights") == "uniform"
    # Two clients pass a least divisor, if their weights are their numbers of examples.
    cap = cap or least / 2
    if cap > 2 * USUAL:
        if s.case.problem is not None:
            s = posed(s, examples=np.array([sized(n) for n in s.case.problem.examples]))
        s = with_sent(s, lambda m: replace(m, weight=sized(m.weight)))
    if capped and s.case.population is None and 2 * least <= setting.reach.clients:
        # A capped weight is at most 1: to pass the divisor takes more clients.
        s = replace(s, events=tuple(_crowded(e, least) if k % 2 == 0 else e for k, e in enumerate(s.events)))
    return s


def _crowded(e: Event, least: float) -> Event:
    """The event with its messages repeated by other clients, until there are twice as many as the divisor."""
    if not isinstance(e, Messages) or not least:
        return e
    times = int(np.ceil(2 * least / len(e.messages)))
    apart = 1 + max(m.client for m in e.messages)
    more = (replace(m, client=m.client + k * apart) for k in range(times) for m in e.messages)
    return replace(e, messages=tuple(more))
