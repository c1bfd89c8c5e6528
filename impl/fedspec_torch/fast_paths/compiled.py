"""Steps of servers and of solvers in compiled passes: each number of the state is read and written once or twice.

Adaptive servers, with m = beta1 m + (1 - beta1) Delta:

    adagrad: v = v + Delta^2,                                           x = x + eta m / (sqrt(v) + tau)
    amsgrad: v = beta2 v + (1 - beta2) Delta^2,  v_hat = max(v, v_hat), x = x + eta m / sqrt(v_hat + eps)

Fed-LAMB, in two passes over each layer, which is in the cache for the second. Lengths are sums of float32 squares in
float64, so no square underflows or overflows:

    m = beta1 m + (1 - beta1) g,  v = beta2 v + (1 - beta2) g^2,  q = m inverse + pull x
    x = x - eta_l (|x_l| / |q_l|) q_l    of every layer l

SM3. By operators of torch v is written and read once for each axis; here it is a number in a register:

    v = min over the axes of mu + g^2,   y = y - rate g / (sqrt(v) + eps),   mu = max of v along each axis
"""

from __future__ import annotations

import numpy as np

from fedspec.arith import Array
from fedspec_torch.compiling import compiled


@compiled
def adagrad(x: Array, m: Array, v: Array, delta: Array, eta: float, beta1: float, tau: float) -> None:
    """Take AdaGrad's step on vectors [d]; overwrites x, m and v."""
    number = x.dtype.type
    rate, w, least = number(eta), number(1 - beta1), number(tau)
    for j in range(len(x)):
        m[j] += w * (delta[j] - m[j])
        v[j] += delta[j] * delta[j]
        x[j] += rate * m[j] / (np.sqrt(v[j]) + least)


@compiled
def amsgrad(
    x: Array, m: Array, v: Array, v_hat: Array, delta: Array, eta: float, beta1: float, beta2: float, eps: float
) -> None:
    """Take AMSGrad's step, eps inside the root, on vectors [d]; overwrites x, m, v and v_hat."""
    number = x.dtype.type
    rate, w, keeps, adds, least = number(eta), number(1 - beta1), number(beta2), number(1 - beta2), number(eps)
    for j in range(len(x)):
        m[j] += w * (delta[j] - m[j])
        v[j] = keeps * v[j] + adds * (delta[j] * delta[j])
        # What is no number stays none.
        v_hat[j] = v_hat[j] if v_hat[j] > v[j] else v[j]
        x[j] += rate * m[j] / np.sqrt(v_hat[j] + least)


@compiled
def lamb(
    x: Array,
    g: Array,
    m: Array,
    v: Array,
    inverse: Array,
    pulls: Array,
    layers: Array,
    beta1: float,
    beta2: float,
    eta_l: float,
) -> None:
    """Take one LAMB step at every client's model.

    Args:
        x: [n, d] the models, in float32.
        g: [n, d] the gradients.
        m: [n, d] the first moments.
        v: [n, d] the second moments.
        inverse: [d] the factor of m: 1 / (sqrt(v_hat) + eps).
        pulls: [n] the factor of x, c lam with the client's correction c; only the direction of the step depends on it,
            since LAMB rescales its length.
        layers: [l, 2] the first coordinate of each layer, and the one after its last.
        beta1: the decay of m.
        beta2: the decay of v.
        eta_l: the client learning rate.
    """
    w, keeps, adds = np.float32(1 - beta1), np.float32(beta2), np.float32(1 - beta2)
    for i in range(len(x)):
        pull = np.float32(pulls[i])
        for l in range(len(layers)):
            part = slice(layers[l, 0], layers[l, 1])
            x_l, g_l, m_l, v_l, s_l = x[i, part], g[i, part], m[i, part], v[i, part], inverse[part]
            of_x, of_q = 0.0, 0.0
            for j in range(len(x_l)):
                m_l[j] += w * (g_l[j] - m_l[j])
                v_l[j] = keeps * v_l[j] + adds * (g_l[j] * g_l[j])
                q = m_l[j] * s_l[j] + pull * x_l[j]
                of_x += np.float64(x_l[j]) * np.float64(x_l[j])
                of_q += np.float64(q) * np.float64(q)
            # A direction that is zero is none; what is no number stays none.
            scale = np.float32(0.0 if of_q == 0 else eta_l * np.sqrt(of_x) / np.sqrt(of_q))
            for j in range(len(x_l)):
                x_l[j] -= scale * (m_l[j] * s_l[j] + pull * x_l[j])


@compiled
def sm3(y: Array, g: Array, begin: int, rows: Array, columns: Array, rate: float, eps: float, room: Array) -> None:
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
