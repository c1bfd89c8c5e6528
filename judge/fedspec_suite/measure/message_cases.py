"""Cases of claims with ``messages``: changes that have more bits than a rounding keeps."""

from __future__ import annotations

import numpy as np

from fedspec.arith import Array
from fedspec_suite.measure.scenario import Scenario, change_events, posed
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
        return s
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

    return change_events(s, fine) if s.case.problem is None else posed(s, e=fine(s.case.problem.e))
