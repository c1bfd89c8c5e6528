"""Streaming DiLoCo from its whole history: clients as in DiLoCo, each block of the model as a sum over its own changes.

x_i after K steps from all gradients that client i has seen;  x_l = x_l0 + eta sum over the rounds of block l
"""

from __future__ import annotations

from collections.abc import Iterator

from fedspec.arith import Array
from fedspec.contract import Round
from fedspec.params import flatten, layers, shapes
from fedspec_properties.closed_forms.diloco import Log, local, outer
from fedspec_properties.closed_forms.sums import total
from fedspec_suite.measure.scenario import Scenario, problem_of

KNOWN = ("streaming-diloco",)
"""Whose exchanges are written here."""

OUTER = {"momentum": "nesterov", "momentum_sum": "sum", "rated": "step"}
"""DiLoCo's outer step in the canonical reading."""


def exchanges(s: Scenario) -> Iterator[Array]:
    """The common copy after each exchange; where clients have one each, the mean of what arrives."""
    h, x, blocks = s.case.hyper, flatten(s.case.x0), layers(shapes(s.case.x0))
    P, late, n = int(h["P"]), int(h["overlap"]), len(problem_of(s).H)
    own, seen, apart = [x] * n, [0] * n, s.case.options["against"] == "own"
    logs: list[Log] = [[]] * n
    past: list[list[Array]] = [[] for _ in blocks]
    last = [x.copy() for _ in range(n)]
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
                past[l].append(total(x_i[block] - old[block] for x_i, old in zip(sent, last, strict=True)) / n)
                move = outer(past[l], [h["eta"]] * len(past[l]), h, OUTER)
                for i, x_i in enumerate(own):
                    arriving = last[i][block] + move
                    x_i[block] = arriving + h["own"] * (x_i[block] - arriving)
                x[block] = total(old[block] for old in last) / n + move
                for i in range(n):
                    last[i][block] = (sent[i] if late else own[i])[block] if apart else x[block]
        yield x
