"""Fed-LAMB's step in two compiled passes over each layer, which is in the cache for the second.

    m = beta1 m + (1 - beta1) g,  v = beta2 v + (1 - beta2) g^2,  q = m inverse + pull x
    x = x - eta_l (|x_l| / |q_l|) q_l    of every layer l

Lengths are sums of float32 squares in float64, so no square underflows or overflows.
"""

from __future__ import annotations

import numpy as np

from fedspec.arith import Array
from fedspec_torch.compiling import compiled


@compiled
def stepped(
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
