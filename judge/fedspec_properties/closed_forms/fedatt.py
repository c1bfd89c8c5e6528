"""FedAtt: its move from what the lengths of changes differ by.

    a_i = 1 / sum_j exp(s_j - s_i)

The largest singular value of a matrix with two rows p and q is the root of half of
|p|^2 + |q|^2 + sqrt((|q|^2 - |p|^2)^2 + (2 p'q)^2).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fedspec.arith import Array, concatenate, exp, sqrt
from fedspec.contract import Case, Messages
from fedspec.params import flatten, unflatten
from fedspec_properties.closed_forms.adaptive import Options
from fedspec_properties.closed_forms.sums import length, total
from fedspec_suite.measure.verdict import Beyond


def spectral(a: Array) -> Any:
    """Return the largest singular value of a matrix with at most two rows or at most two columns.

    Raises:
        Beyond: the matrix has more of both.
    """
    rows: Sequence[Array] = min((list(a), list(a.T)), key=len)
    if len(rows) > 2:
        raise Beyond("skipped: this closed form is of matrices with two rows or two columns")
    if len(rows) < 2:
        return length(a.reshape(-1))
    p, q = rows
    apart, along = (
        total(y * y for y in q) - total(x * x for x in p),
        2 * total(x * y for x, y in zip(p, q, strict=True)),
    )
    return sqrt((total(x * x for x in a.reshape(-1)) + sqrt(apart * apart + along * along)) / 2)


def moved(case: Case, e: Messages, o: Options) -> Array:
    """Return the server's move in a round."""
    out, sent = [], [unflatten(flatten(m.delta), case.x0) for m in e.messages]
    for name in case.x0:
        changes = [blocks[name] for blocks in sent]
        s = [spectral(a) if o["length"] == "spectral" and a.ndim == 2 else length(a.reshape(-1)) for a in changes]
        shares = [1 / total(exp(s_j - s_i) for s_j in s) for s_i in s]
        out.append(total(share * a.reshape(-1) for share, a in zip(shares, changes, strict=True)))
    step: Array = case.hyper["eta"] * concatenate(out)
    return step
