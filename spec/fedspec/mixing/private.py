"""Client-level differential privacy: bounded changes, and noise that hides any single change."""

from __future__ import annotations

from fedspec.arith import Scalar, Stack, Vector, at_scale, minimum, norm, numbers, ratio
from fedspec.population import weigh
from fedspec.rules import rule


@rule
def clip(delta: Vector, *, clip_norm: Scalar) -> Vector:
    """Scale a client's change down to length c if it is longer; a change of zero stays zero.

        Delta_i = min(1, c / ||Delta_i||) Delta_i  dp.clip
        g_i = min(1, c / ||g_i||) g_i              dp.clip [clipped=gradients]

    The paper names the clip value c and not the place of the mechanism (L1647); this is that of DP-FedAvg.
    External: McMahan et al. (2018), flat clipping.
    """
    # Neither the length of a change nor c / length need be floats; s = 1 where they are.
    s, u = at_scale(delta)
    length = norm(u)
    # A change of zero has no direction: c / 0 counts as 0, and 0 times it is 0.
    return u * minimum(s, ratio(clip_norm, length))


@rule
def noisy_mean(deltas: Stack, noise: Vector, *, clip_norm: Scalar, sigma: Scalar) -> Vector:
    """Mean of clipped changes plus Gaussian noise; the standard normal draws are an argument.

        Delta = 1/|S| (sum over S of Delta_i + sigma c z)  dp.delta

    External: McMahan et al. (2018); sigma = 1 in FedAda2, L206 and L1639.
    """
    total = weigh(numbers([1] * len(deltas), noise), deltas)
    delta: Vector = (total + sigma * clip_norm * noise) / len(deltas)
    return delta
