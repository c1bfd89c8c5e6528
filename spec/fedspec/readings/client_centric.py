"""Readings of Client-Centric and of the asynchronous algorithms with which it is compared."""

from __future__ import annotations

from enum import StrEnum


class Normalise(StrEnum):
    """Divisor of an asynchronous client's change."""

    PER_STEP = "per-step"
    """Delta_i = (x_K - x_mu) / K: Client-Centric, Alg. 3, line 9 (L175)."""
    NONE = "none"
    """Delta_i = x_K - x_mu, as in FedAvg and FedBuff."""


class MomentumSum(StrEnum):
    """Momentum of FedAvgM and CC-FedAvgM, an average or a sum; the models agree if the sum's rate is eta (1 - beta)."""

    AVERAGE = "average"
    """v = beta v + (1 - beta) Delta: Client-Centric (L554), which calls it m."""
    SUM = "sum"
    """v = beta v + Delta: Hsu, Qi and Brown (2019), whom the paper cites for the name."""


class MaximumStart(StrEnum):
    """Start of the running maximum of CC-FedAMS; the paper prints no initial value."""

    V0 = "v0"
    """v_hat_0 = v_0: the proof takes v_hat_0 >= eps^2 (L659)."""
    ZERO = "zero"
    """v_hat_0 = 0 for every v_0: the first v_hat is v."""


class Staleness(StrEnum):
    """The weight s of an update that is u versions old (Xie, Koyejo and Gupta, 2019), external to the five papers."""

    CONSTANT = "constant"
    """s = 1"""
    POLYNOMIAL = "polynomial"
    """s = (1 + u)^(-a), a = twice_a / 2"""
    HINGE = "hinge"
    """s = 1 where u <= b, else 1 / (a (u - b) + 1), a = hinge_a and b = hinge_b"""


class Age(StrEnum):
    """Age u that FedAsync gives an update; an update that begins from the present model has delay 0."""

    DELAY = "delay"
    """u is the delay in versions: 0, with s = 1 as the paper demands, for an update from the present model."""
    LITERAL = "literal"
    """u is the delay plus 1, t - tau as printed: step t makes x_t, and an update from x_(t-1) has tau = t - 1."""
