"""Generic defects that any algorithm can have: wrappers of inputs, hyper-parameters, state and outputs.

A defect changes what the specification is told (``given``) or how its session runs (``session``); the rule itself is
left alone, so that one defect serves the whole catalogue, in every arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterator

from fedspec.catalogue import Method
from fedspec_suite.diagnosis.defects import (
    blockwise,
    chains,
    clients,
    events,
    exchanges,
    functions,
    gradients,
    lagging,
    late,
    messages,
    numbers,
    parts,
    remembered,
    schedules,
    sequence,
    shares,
    starts,
    state,
    tau_eff,
    waiting,
)
from fedspec_suite.diagnosis.defects.defect import Defect
from fedspec_suite.measure.setting import Setting

__all__ = ["Defect", "defects"]


def defects(setting: Setting) -> Iterator[Defect]:
    """Yield every defect that applies to a setting, the likelier ones first."""
    yield from schedules.of(setting)
    yield from chains.of(setting)
    yield from parts.of(setting)
    if isinstance(setting.algorithm.run, Method) or setting.counts_all:
        yield from messages.of(setting)
        yield from tau_eff.of(setting)
    if setting.level == "client":
        yield from gradients.ALL
    if setting.level in {"round", "trace"}:
        yield from clients.of(setting)
        yield from clients.confused(setting)
        yield from remembered.of(setting)
        yield from sequence.of(setting)
        yield from shares.in_groups(setting)
        yield from waiting.of(setting)
        yield from late.of(setting)
        yield from exchanges.of(setting)
    yield from lagging.of(setting)
    yield from events.of(setting)
    yield from state.of(setting)
    yield from functions.of(setting)
    yield from blockwise.of(setting)
    yield from blockwise.other_covers(setting)
    yield from starts.of(setting)
    yield from shares.of(setting)
    yield from functions.short_norms(setting)
    yield from numbers.of(setting)
