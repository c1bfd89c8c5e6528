"""Compression of the vectors that clients send to largest entries or signs, and the errors that clients keep."""

from __future__ import annotations

from typing import Any

from fedspec.arith import Vector, keep_largest, maximum, sign, total
from fedspec.readings import Compressor
from fedspec.rules import rule


@rule
def top_k(p: Vector, *, kept: int) -> Vector:
    """Keep the k entries of a vector of largest absolute value and set the others to 0.

        c_i = p_i where fewer than k entries come before in size, 0 elsewhere     compress.c_i

    An entry comes before another that is smaller in size, or as large and further on.
    External: Stich, Cordonnier and Jaggi (2018); the code of Wang, Lin and Chen (2022), ``jinghuichen/FedCAMS``,
    ``compressors.py``, lines 179-185 at 95ccc9a, where torch chooses among equal ones.
    """
    largest: Vector = keep_largest(p, kept)
    return largest


@rule
def scaled_sign(p: Vector) -> Vector:
    """Signs of a vector's entries, times their mean absolute value; the sign of 0 is 0.

        c_i = ||p_i||_1 / d sign(p_i)                 compress.c_i [compressor=scaled-sign]

    External: Karimireddy et al. (2019); the code of Wang, Lin and Chen (2022), lines 189-199.
    """
    c: Vector = sign(p) * (total(maximum(p, -p)) / p.shape[-1])
    return c


def compress(p: Vector, compressor: Compressor, kept: Any) -> Vector:
    """Compress a vector with the chosen compressor."""
    return scaled_sign(p) if compressor is Compressor.SCALED_SIGN else top_k(p, kept=kept)


@rule
def compensated(delta_i: Vector, e_i: Vector) -> Vector:
    """Vector to compress: a client's change plus the compression error that it kept from earlier rounds.

        p_i = Delta_i + e_i                           fedcams.p_i

    External: the code of Wang, Lin and Chen (2022), ``federated_main-ef.py``, lines 111-112 at 95ccc9a.
    """
    return delta_i + e_i


@rule
def owed(p: Vector, c: Vector) -> Vector:
    """Compression error that a client keeps: the vector minus its compressed message.

        e_i = p_i - C(p_i)                            fedcams.e_i

    External: the code of Wang, Lin and Chen (2022), ``federated_main-ef.py``, lines 113-114 at 95ccc9a.
    """
    return p - c
