"""Robust means that give distant changes less weight: passes of smoothed Weiszfeld and of centred clipping."""

from __future__ import annotations

from fedspec.arith import Scalar, Stack, Vector, Weights, maximum, norm
from fedspec.rules import rule


@rule
def weiszfeld(z: Vector, deltas: Stack, p: Weights, *, smooth: Scalar) -> Vector:
    """Pass of the smoothed Weiszfeld algorithm (for the geometric median), from a point z.

        beta_i = p_i / max(nu, ||z - Delta_i||)                        geometric-median.beta
        z = sum_i beta_i Delta_i / sum_i beta_i                        geometric-median.delta

    The p_i are the same in every pass.
    External: Pillutla, Kakade and Harchaoui (2022), arXiv 1912.13445; the authors' script opened.
    """
    beta = p[:, None] / maximum(norm(z - deltas), smooth)
    z = (beta * deltas).sum(axis=0) / beta.sum(axis=0)
    return z


@rule
def centred_clipping(v: Vector, deltas: Stack, *, clip_norm: Scalar) -> Vector:
    """Pass of centred clipping, from a point v: v plus the mean of the changes' differences from v, each clipped to c.

        v = v + (1 / n) sum_i min(1, c / ||Delta_i - v||) (Delta_i - v)        centred-clipping.v

    A change that is v itself differs by 0.
    External: Karimireddy, He and Jaggi (2021), arXiv 2012.10333; the authors' code opened.
    """
    apart = deltas - v
    # min(1, c / l) = c / max(l, c), which is never divided by 0.
    clipped = apart * (clip_norm / maximum(norm(apart), clip_norm))
    v = v + clipped.sum(axis=0) / deltas.shape[0]
    return v
