"""Readings: what the papers, or the implementations of a name, leave open, as values with one name each.

One module for each paper; all of them are here under one roof.
"""

from fedspec.readings.afga import Broadcast, ClusterWeights, Denominators, Order, RingOfTwo, Sampling
from fedspec.readings.client_centric import Age, MaximumStart, MomentumSum, Normalise, Staleness
from fedspec.readings.external import AmsOption, Control, Divisor
from fedspec.readings.fedada2 import Clipped, DeadZone, Idle, Preconditioner, PrivateServer, Received, Sm3Zero, Strategy
from fedspec.readings.fedlamb import (
    Averaged,
    ClientMemory,
    Exponent,
    LocalCorrection,
    LocalGradient,
    Normalisation,
    Phi,
    Sent,
)
from fedspec.readings.fednova import (
    BufferHolds,
    BufferStart,
    Loop,
    NovaServer,
    NovaWeights,
    SampledSteps,
    SampledWeights,
    Solver,
    Stored,
    TauEff,
)
from fedspec.readings.shared import (
    Adaptivity,
    BiasCorrection,
    CoverName,
    Epsilon,
    Maximum,
    MomentumForm,
    SecondMoment,
    Weighting,
    choice,
)

__all__ = [
    "Adaptivity",
    "Age",
    "AmsOption",
    "Averaged",
    "BiasCorrection",
    "Broadcast",
    "BufferHolds",
    "BufferStart",
    "ClientMemory",
    "Clipped",
    "ClusterWeights",
    "Control",
    "CoverName",
    "DeadZone",
    "Denominators",
    "Divisor",
    "Epsilon",
    "Exponent",
    "Idle",
    "LocalCorrection",
    "LocalGradient",
    "Loop",
    "Maximum",
    "MaximumStart",
    "MomentumForm",
    "MomentumSum",
    "Normalisation",
    "Normalise",
    "NovaServer",
    "NovaWeights",
    "Order",
    "Phi",
    "Preconditioner",
    "PrivateServer",
    "Received",
    "RingOfTwo",
    "SampledSteps",
    "SampledWeights",
    "Sampling",
    "SecondMoment",
    "Sent",
    "Sm3Zero",
    "Solver",
    "Staleness",
    "Stored",
    "Strategy",
    "TauEff",
    "Weighting",
    "choice",
]
