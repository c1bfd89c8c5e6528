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
    """Step of FedCAMS's server."""

    FEDAMS = "fedams"
    """Option 1 of FedAMS, as printed."""
    CORRECTED = "corrected"
    """The authors' code: an initial maximum, and moments with bias correction in the step."""


class Coefficients(StrEnum):
    """Coefficients a, b, c of Muon's quintics a x + b x^3 + c x^5, which drive singular values towards 1."""

    JORDAN = "jordan"
    """(3.4445, -4.7750, 2.0315) in every iteration."""
    MULOCO = "muloco"
    """Five other triples, one in each of the first five iterations; the fifth in all later iterations."""


class Compressor(StrEnum):
    """Compression of a vector before a client sends it, without random rounding."""

    TOP_K = "top-k"
    """The k entries of largest absolute value; of equal entries, the first ones."""
    SCALED_SIGN = "scaled-sign"
    """The signs, times the mean absolute value of the entries; the sign of 0 is 0."""


class Control(StrEnum):
    """Control variate that a SCAFFOLD client keeps after a round."""

    MEAN_GRADIENT = "mean-gradient"
    """c_i - c - Delta_i / (eta_l tau_i), the mean of the client's uncorrected gradients in the round: option II."""
    GRADIENT_AT_X = "gradient-at-x"
    """g_i(x), the gradient at the model that the round began with: option I."""


class Decay(StrEnum):
    """Weight decay of AdamW, which shrinks the model beside its step."""

    RATE = "rate"
    """The old model shrinks by the factor 1 - eta_l wd."""
    ALONE = "alone"
    """The old model shrinks by the factor 1 - wd, independently of the rate; a schedule multiplies both."""
    AFTER = "after"
    """The new model, with the step included, shrinks by the factor 1 - eta_l wd."""


class Direction(StrEnum):
    """Direction that FedCM's server keeps for the next round's steps; both readings agree if K and eta_l stay."""

    GRADIENT = "gradient"
    """-Delta / (eta_l K), in which K is the mean number of steps: a round with more steps goes farther along it."""
    CHANGE = "change"
    """-Delta, which client i divides by its own eta_l tau_i: for any numbers of steps, a round adds rho of it."""


class Divisor(StrEnum):
    """Number of steps by which VRL-SGD divides the difference between a client's model and the mean."""

    OWN_STEPS = "own-steps"
    """tau_i, the client's own number: then sum_i p_i tau_i v_i = 0 as long as the tau_i stay the same."""
    MEAN_STEPS = "mean-steps"
    """The unweighted mean of all tau_i, the same for all clients: then sum_i p_i v_i = 0."""


class DualAdded(StrEnum):
    """Model to which FedPD's clients add their new dual variable over mu, in their message."""

    TO_OWN = "to-own"
    """The client's own model x_i."""
    TO_SERVERS = "to-servers"
    """The server's model x of the round, which gives x_i plus the dual of the round before."""


class FirstExchanged(StrEnum):
    """First action of CHOCO's clients after their gradient step: sending differences, or mixing."""

    TOLD = "told"
    """Neighbours first send each other the differences, then mix the updated estimates."""
    MIXED = "mixed"
    """Neighbours first mix the old estimates, then send each other the differences of the mixed models."""


class FirstMessage(StrEnum):
    """Message of EF21's clients in the first round."""

    WHOLE = "whole"
    """The gradients without compression."""
    COMPRESSED = "compressed"
    """The gradients, compressed like every later difference."""


class Against(StrEnum):
    """Model from which Streaming DiLoCo takes a client's change, and to which the outer step is applied."""

    COMMON = "common"
    """A copy that all clients share and that no client trains."""
    OWN = "own"
    """The client's own model when it last sent the fragment."""


class InnerState(StrEnum):
    """Treatment of a DiLoCo client's moments and step count between two of its rounds."""

    KEPT = "kept"
    """The client keeps them for its next round; no other client sees them."""
    RESET = "reset"
    """Every round begins with zero moments and counts from 1."""
    AVERAGED = "averaged"
    """Clients of a round continue from the round's mean moments, each with its own count."""


class KnownStart(StrEnum):
    """Estimates of the models at CHOCO's neighbours before the first step."""

    NOTHING = "nothing"
    """X_hat = 0."""
    MODELS = "models"
    """X_hat = X: all clients begin with one model, or have sent theirs uncompressed."""


class LookAhead(StrEnum):
    """Vector that Muon orthogonalises for its step, from the momentum."""

    NESTEROV = "nesterov"
    """Momentum after one more update with the same gradient."""
    NONE = "none"
    """The momentum itself."""


class MatrixLength(StrEnum):
    """Divisor of a matrix in Muon, so that no singular value exceeds 1."""

    AT_LEAST = "at-least-eps"
    """The matrix's Frobenius norm, or eps if that is larger."""
    PLUS = "plus-eps"
    """The matrix's Frobenius norm plus eps."""


class MatrixScale(StrEnum):
    """Factor of Muon's step of a matrix with r rows and c columns, beside the rate."""

    ORIGINAL = "original"
    """sqrt(max(1, r / c))."""
    MATCH_RMS = "match-rms-adamw"
    """sqrt(max(r, c)) / 5, with which the entries of a step have about the mean square of an AdamW step's entries."""
    SPECTRAL = "spectral"
    """sqrt(r / c), below 1 for a wide matrix."""


class Middle(StrEnum):
    """Median of an even number of values."""

    MEAN = "mean"
    """The mean of the two middle values."""
    LOWER = "lower"
    """The smaller of the two middle values."""


class MixedBy(StrEnum):
    """Matrix with which D2 mixes."""

    WHOLE = "whole"
    """W, as in D2."""
    HALF = "half"
    """(I + W) / 2, as in exact diffusion."""


class Neighbours(StrEnum):
    """Number of other changes whose distances Krum sums for a change, among n changes, of which f are arbitrary."""

    PUBLISHED = "n-f-2"
    """n - f - 2, but at least 1."""
    ONE_MORE = "n-f-1"
    """n - f - 1, but at least 1: the n - f nearest changes, which include the change itself."""


class Distance(StrEnum):
    """Distance between changes that Krum adds up."""

    SQUARED = "squared"
    """||Delta_i - Delta_j||^2."""
    PLAIN = "plain"
    """||Delta_i - Delta_j||."""


class Origin(StrEnum):
    """Starting point of the passes towards a geometric median."""

    MEAN = "mean"
    """The weighted mean of the changes."""
    ZERO = "zero"
    """A change of zero, that is, the server's model."""


class Rated(StrEnum):
    """Place at which the outer rate multiplies; while the rate stays, the models are the same."""

    STEP = "step"
    """The step: v = beta v + Delta, x = x + eta (Delta + beta v)."""
    BUFFER = "buffer"
    """The change that enters the buffer: v = beta v + eta Delta, x = x + eta Delta + beta v."""


class Slowing(StrEnum):
    """Rate of FADAS's server if an update in its buffer has a delay above tau_c; tau_max is the largest delay."""

    OVER = "over-delay"
    """eta / tau_max."""
    CAPPED = "capped"
    """min(eta, 1 / tau_max): the rate is unchanged while eta is below 1 / tau_max."""


class Summed(StrEnum):
    """Update of Muon's momentum by a gradient."""

    AVERAGE = "average"
    """Average: rho m + (1 - rho) g."""
    SUM = "sum"
    """Sum: rho m + g, which is 1 / (1 - rho) times as long."""


class TrackerStart(StrEnum):
    """Initial estimate of the mean gradient at clients with gradient tracking."""

    GRADIENT = "gradient"
    """Y = G(X): each client's own gradient at its initial model."""
    ZERO = "zero"
    """Y = 0, and the gradient before the first counts as 0: the first step only mixes."""


class Tracking(StrEnum):
    """Order of mixing and stepping in gradient tracking, for the models and for the gradient estimates."""

    DIGING = "diging"
    """X = W X - eta_l Y;  Y = W Y + G(X) - G(X_before)."""
    SEMI_ATC = "semi-atc"
    """X = W (X - eta_l Y), with the Y of DIGing: clients step first, then mix models."""
    ATC = "atc"
    """X as in semi-ATC, and Y = W (Y + G(X) - G(X_before)): clients update both first, then mix both."""


class Unit(StrEnum):
    """Unit of a quantiser's levels."""

    LENGTH = "length"
    """The Euclidean length of the vector (QSGD)."""
    LARGEST = "largest"
    """The largest absolute value of the vector's entries."""
