"""A server that stacks the clients' adapters and merges them, with a mistake in one line."""

import numpy as np


def merged(s):
    """W, B and A of the next round."""
    p = np.array(s.examples) / sum(s.examples)
    B = np.hstack([a.B for a in s.sent])
    A = np.vstack([share * a.A for share, a in zip(p, s.sent, strict=True)])
    sigma = s.alpha / B.shape[1]
    return s.layer.W + sigma * B @ A, 0 * s.layer.B, s.fresh
