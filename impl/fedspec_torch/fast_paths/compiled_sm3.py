"""SM3's step in one compiled pass that reads the accumulators, steps the model, and writes the new accumulators.

    v = min over the axes of mu + g^2,   y = y - rate g / (sqrt(v) + eps),   mu = max of v along each axis

By operators of torch v is written and read once for each axis; here it is a number in a register.
"""

from __future__ import annotations

import numpy as np

from fedspec.arith import Array
from fedspec_torch.compiling import compiled


@compiled
def stepped(y: Array, g: Array, begin: int, rows: Array, columns: Array, rate: float, eps: float, room: Array) -> None:
    """Take one SM3 step at every client's matrix or vector.

    Args:
        y: [n, d] the models; the matrix begins at the same coordinate in each model.
        g: [n, d] the gradients.
        begin: the coordinate at which the matrix begins.
        rows: [n, r] the accumulators of the matrix's rows, overwritten.
        columns: [n, c] the accumulators of the matrix's columns, overwritten; c = 0: a vector, whose entries have their
            accumulators in ``rows``.
        rate: the learning rate of the step.
        eps: the constant eps in the denominator.
        room: [2 c] work space for the new accumulators of the columns and for v of a row.
    """
    n, r = rows.shape
    c = columns.shape[1]
    small = y.dtype.type(eps)
    by = y.dtype.type(rate)
    for i in range(n):
        if c == 0:
            for j in range(r):
                slope = g[i, begin + j]
                rows[i, j] += slope * slope
                y[i, begin + j] -= by * slope / (np.sqrt(rows[i, j]) + small)
            continue
        old, new, vs = columns[i], room[:c], room[c : 2 * c]
        new[:] = 0
        for j in range(r):
            own, slopes = y[i, begin + j * c : begin + (j + 1) * c], g[i, begin + j * c : begin + (j + 1) * c]
            bound = rows[i, j]
            for k in range(c):
                v = (bound if bound < old[k] else old[k]) + slopes[k] * slopes[k]
                own[k] -= by * slopes[k] / (np.sqrt(v) + small)
                new[k] = v if v > new[k] else new[k]
                vs[k] = v
            # Halves are compared number by number, several at once; one greatest of all would be sought one by one.
            left = c
            while left > 1:
                half = (left + 1) // 2
                for k in range(left - half):
                    vs[k] = vs[k] if vs[k] > vs[half + k] else vs[half + k]
                left = half
            rows[i, j] = vs[0]
        old[:] = new
