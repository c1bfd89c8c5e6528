"""Readings of algorithms outside the five papers."""

from __future__ import annotations

from enum import StrEnum


class AmsOption(StrEnum):
    """The two options of FedAMS (Wang, Lin and Chen, 2022), external to the five papers."""

    ONE = "1"
    """v_hat = max(v_hat, v, eps), step over sqrt(v_hat)."""
    TWO = "2"
    """v_hat = max(v_hat, v), step over sqrt(v_hat + eps): FedAMSGrad."""


class AmsServer(StrEnum):
    """The step of FedCAMS's server."""

    FEDAMS = "fedams"
    """As printed of FedAMS, option 1."""
    CORRECTED = "corrected"
    """As its authors run it: an initial maximum, and moments that are corrected in the step."""


class Coefficients(StrEnum):
    """By which quintics a b c x -> a x + b x^3 + c x^5 Muon drives singular values towards 1, one in each iteration."""

    JORDAN = "jordan"
    """(3.4445, -4.7750, 2.0315), in every one."""
    MULOCO = "muloco"
    """Five others in turn, and the last of them in every one that follows."""


class Compressor(StrEnum):
    """Compression of a vector before a client sends it, without random rounding."""

    TOP_K = "top-k"
    """The k entries that are largest in size; of equal ones those that come first."""
    SCALED_SIGN = "scaled-sign"
    """The signs, times the mean size of an entry; zero has no sign."""


class Control(StrEnum):
    """Control variate that a SCAFFOLD client keeps of a round."""

    MEAN_GRADIENT = "mean-gradient"
    """c_i - c - Delta_i / (eta_l tau_i), the mean of the gradients it met, without their correction: option II."""
    GRADIENT_AT_X = "gradient-at-x"
    """g_i(x), the gradient at the model that the round began with: option I."""


class Decay(StrEnum):
    """Shrinkage of the model by AdamW's decay, beside its step."""

    RATE = "rate"
    """The old model by eta_l wd."""
    ALONE = "alone"
    """The old model by wd, whatever the rate is: a schedule multiplies both where there is one."""
    AFTER = "after"
    """The new model by eta_l wd, the step included."""


class Direction(StrEnum):
    """Direction that FedCM's server keeps of a round for the next one's steps; both agree if K and eta_l stay."""

    GRADIENT = "gradient"
    """-Delta / (eta_l K), in which K is the mean number of steps: a round with more steps goes farther along it."""
    CHANGE = "change"
    """-Delta, which client i divides by its own eta_l tau_i: whatever these are, a round adds rho of it."""


class Divisor(StrEnum):
    """By how many steps VRL-SGD divides what a client has moved apart from the mean."""

    OWN_STEPS = "own-steps"
    """tau_i, the client's own: then sum_i p_i tau_i v_i = 0 as long as the tau_i stay what they are."""
    MEAN_STEPS = "mean-steps"
    """The unweighted mean of all tau_i, the same for everybody: then sum_i p_i v_i = 0."""


class DualAdded(StrEnum):
    """To which model FedPD's clients add their new dual variable, over mu, in what they send."""

    TO_OWN = "to-own"
    """Their own, x_i."""
    TO_SERVERS = "to-servers"
    """The server's of the round, x: that is x_i with the dual of the round before."""


class FirstExchanged(StrEnum):
    """First exchange of CHOCO's neighbours in a step, after the gradients were taken."""

    TOLD = "told"
    """Neighbours first send each other the differences, then mix the updated estimates."""
    MIXED = "mixed"
    """Neighbours first mix the old estimates, then send each other the differences of the mixed models."""


class FirstMessage(StrEnum):
    """Message of EF21's clients in the first round."""

    WHOLE = "whole"
    """Their gradients as they are."""
    COMPRESSED = "compressed"
    """Their gradients, compressed as every later difference is."""


class Against(StrEnum):
    """Against which model Streaming DiLoCo takes a client's change, and makes the outer step for it."""

    COMMON = "common"
    """A copy that all have in common and nobody trains."""
    OWN = "own"
    """Model of the client itself when it last sent the fragment."""


class InnerState(StrEnum):
    """Fate of a DiLoCo client's moments, and of its count of steps, between two of its rounds."""

    KEPT = "kept"
    """The client goes on from them; nobody else sees them."""
    RESET = "reset"
    """Every round begins without moments, and counts from 1."""
    AVERAGED = "averaged"
    """Clients of a round continue from the round's mean moments, each with its own count."""


class KnownStart(StrEnum):
    """Knowledge of CHOCO's neighbours of each other's models before the first step."""

    NOTHING = "nothing"
    """X_hat = 0."""
    MODELS = "models"
    """X_hat = X: all begin from one model, or have sent theirs whole."""


class LookAhead(StrEnum):
    """Vector that a step of Muon takes from the momentum."""

    NESTEROV = "nesterov"
    """Momentum as it would be if the same gradient came once more."""
    NONE = "none"
    """The momentum itself."""


class MatrixLength(StrEnum):
    """By what Muon divides a matrix, so that no singular value is above 1."""

    AT_LEAST = "at-least-eps"
    """Its Frobenius norm, or eps where that is larger."""
    PLUS = "plus-eps"
    """Its Frobenius norm and eps."""


class MatrixScale(StrEnum):
    """By what Muon's step of a matrix of r rows and c columns is multiplied, beside the rate."""

    ORIGINAL = "original"
    """sqrt(max(1, r / c))."""
    MATCH_RMS = "match-rms-adamw"
    """sqrt(max(r, c)) / 5, which gives the entries about the mean square of those of an AdamW step."""
    SPECTRAL = "spectral"
    """sqrt(r / c), below 1 where the matrix is wide."""


class Middle(StrEnum):
    """Median of an even number of values."""

    MEAN = "mean"
    """The mean of the two in the middle."""
    LOWER = "lower"
    """The smaller of these two, which is one of the values."""


class MixedBy(StrEnum):
    """By which matrix D2 mixes."""

    WHOLE = "whole"
    """W, as D2 has it."""
    HALF = "half"
    """(I + W) / 2, as exact diffusion has it."""


class Neighbours(StrEnum):
    """To how many others Krum measures the distances of a change, of n of which f may be anything."""

    PUBLISHED = "n-f-2"
    """n - f - 2, and one at least."""
    ONE_MORE = "n-f-1"
    """n - f - 1, and one at least: n - f nearest, of which a change itself is one."""


class Distance(StrEnum):
    """Distance between changes that Krum adds up."""

    SQUARED = "squared"
    """||Delta_i - Delta_j||^2."""
    PLAIN = "plain"
    """||Delta_i - Delta_j||."""


class Origin(StrEnum):
    """Start of the passes to a geometric median."""

    MEAN = "mean"
    """At the weighted mean of the changes."""
    ZERO = "zero"
    """At no change, which is the server's model."""


class Rated(StrEnum):
    """Place of the outer rate; while the rate stays, the models are the same."""

    STEP = "step"
    """The step: v = beta v + Delta, x = x + eta (Delta + beta v)."""
    BUFFER = "buffer"
    """The change that enters the buffer: v = beta v + eta Delta, x = x + eta Delta + beta v."""


class Slowing(StrEnum):
    """The rate of FADAS's server where an update of its buffer is later than tau_c; tau_max is the largest delay."""

    OVER = "over-delay"
    """eta / tau_max."""
    CAPPED = "capped"
    """min(eta, 1 / tau_max): nothing is slowed while eta is below 1 / tau_max."""


class Summed(StrEnum):
    """Update of Muon's momentum by a gradient."""

    AVERAGE = "average"
    """As an average: rho m + (1 - rho) g."""
    SUM = "sum"
    """As a sum: rho m + g, which is 1 / (1 - rho) times as long."""


class TrackerStart(StrEnum):
    """Estimate of the mean gradient by tracking clients before their first step."""

    GRADIENT = "gradient"
    """Y = G(X), each its own gradient at the model that it begins with."""
    ZERO = "zero"
    """Y = 0, and the gradient before the first counts as 0: the first step only mixes."""


class Tracking(StrEnum):
    """Mixing of tracking clients: the models and the estimate of the mean gradient apart, or together."""

    DIGING = "diging"
    """X = W X - eta_l Y;  Y = W Y + G(X) - G(X_before)."""
    SEMI_ATC = "semi-atc"
    """X = W (X - eta_l Y), Y as before: models are mixed after they were adapted."""
    ATC = "atc"
    """Semi-ATC's X, and Y = W (Y + G(X) - G(X_before)): both are adapted, then combined."""


class Unit(StrEnum):
    """Unit of a quantiser's levels."""

    LENGTH = "length"
    """The Euclidean length of the vector (QSGD)."""
    LARGEST = "largest"
    """Its largest entry in size."""
