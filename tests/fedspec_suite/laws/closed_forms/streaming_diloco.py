"""Streaming DiLoCo from its whole history: clients as in DiLoCo, each block of the model as a sum over its own changes.

x_i after K steps from all gradients that client i has seen;  x_l = x_l0 + eta sum over the rounds of block l
"""

from __future__ import annotations

from collections.abc import Iterator

from fedspec.arith import Array
from fedspec.contract import Round
from fedspec.params import flatten, layers, shapes
from fedspec_suite.laws.closed_forms.diloco import Log, local, outer
from fedspec_suite.laws.closed_forms.sums import total
from fedspec_suite.measure.scenario import Scenario, problem_of

KNOWN = ("streaming-diloco",)
"""Whose exchanges are written here."""

OUTER = {"momentum": "nesterov", "momentum_sum": "sum", "rated": "step"}
"""DiLoCo's outer step in the canonical reading."""


def exchanges(s: Scenario) -> Iterator[Array]:
    """The common copy after each exchange."""
    h, x, blocks = s.case.hyper, flatten(s.case.x0), layers(shapes(s.case.x0))
    P, late, n = int(h["P"]), int(h["overlap"]), len(problem_of(s).H)
    own, seen = [x] * n, [0] * n
    logs: list[Log] = [[]] * n
    past: list[list[Array]] = [[] for _ in blocks]
    for r, e in enumerate(s.events):
        assert isinstance(e, Round)
        sent = [x] * n
        for i, K in zip(e.participants, e.steps, strict=True):
            sent[i], log = local(s, i, own[i], K - late, logs[i], seen[i])
            own[i], logs[i] = local(s, i, sent[i], late, log, seen[i] + K - late)
            seen[i] += K
        x, own = x.copy(), [x_i.copy() for x_i in own]
        for l, block in enumerate(blocks):
            if l % P == r % P:
                past[l].append(total(x_i[block] - x[block] for x_i in sent) / n)
                x[block] = x[block] + outer(past[l], [h["eta"]] * len(past[l]), h, OUTER)
                for x_i in own:
                    x_i[block] = x[block] + h["own"] * (x_i[block] - x[block])
        yield x
