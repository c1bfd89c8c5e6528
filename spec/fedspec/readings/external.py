"""What algorithms outside the five papers leave open."""

from __future__ import annotations

from enum import StrEnum


class AmsOption(StrEnum):
    """The two options of FedAMS (Wang, Lin and Chen, 2022), external to the five papers."""

    ONE = "1"
    """v_hat = max(v_hat, v, eps), step over sqrt(v_hat)."""
    TWO = "2"
    """v_hat = max(v_hat, v), step over sqrt(v_hat + eps): FedAMSGrad."""


class Control(StrEnum):
    """What a SCAFFOLD client keeps of a round."""

    MEAN_GRADIENT = "mean-gradient"
    """c_i - c - Delta_i / (eta_l tau_i), the mean of the gradients it met, without their correction: option II."""
    GRADIENT_AT_X = "gradient-at-x"
    """g_i(x), the gradient at the model that the round began with: option I."""


class Divisor(StrEnum):
    """By how many steps VRL-SGD divides what a client has moved apart from the mean."""

    OWN_STEPS = "own-steps"
    """tau_i, the client's own: then sum_i p_i tau_i v_i = 0 as long as the tau_i stay what they are."""
    MEAN_STEPS = "mean-steps"
    """The unweighted mean of all tau_i, the same for everybody: then sum_i p_i v_i = 0."""


class Middle(StrEnum):
    """What a median of an even number of values is."""

    MEAN = "mean"
    """The mean of the two in the middle."""
    LOWER = "lower"
    """The smaller of these two, which is one of the values."""
