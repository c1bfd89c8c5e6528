"""Unbiased random rounding to a few levels: the quantiser of QSGD. Its random draws are an argument.

External: Alistarh et al. (2017), as two unrelated codes have it: ``epfml/sparsifiedSGD``, ``qsgd.py``, lines 9-16 at
e8d2337, and ``sands-lab/grace``, ``grace_dl/torch/compressor/qsgd.py``, lines 12-39 at fd3a7f4. The largest entry in
the place of the length: ``SMILELab-FL/FedLab``, ``fedlab/contrib/compressor/quantization.py``, lines 41-83 at 92552a7.
"""

from __future__ import annotations

from typing import Any

from fedspec.arith import Scalar, Vector, largest, maximum, norm, ratio, where_less, zeros
from fedspec.rules import rule


@rule
def quantise(v: Vector, u: Vector, *, levels: int) -> Vector:
    """Round a vector at random to multiples of R / s, where R is its norm and s the number of levels.

        R = ||v||                                   qsgd.R

    External: Alistarh et al. (2017), see above.
    """
    R = norm(v)
    return on_levels(v, u, R, levels=levels)


@rule
def quantise_by_largest(v: Vector, u: Vector, *, levels: int) -> Vector:
    """Round a vector at random to multiples of R / s, where R is its largest absolute entry.

        R = max_j |v_j|                             qsgd.R [unit=largest]

    External: FedLab, see above.
    """
    most = largest(maximum(v, -v))
    R: Any = most if v.ndim == 1 else most[:, None]
    return on_levels(v, u, R, levels=levels)


@rule
def on_levels(v: Vector, u: Vector, R: Scalar, *, levels: int) -> Vector:
    """Round each coordinate at random to a neighbouring multiple of R / s, so that the mean over u is the input.

        a = s |v| / R                               qsgd.a
        xi = how many k of 0, ..., s - 1 have k + u < a   qsgd.xi
        Q = R sign(v) xi / s                        qsgd.Q

    With l = floor(a) that is xi = l + 1 where u < a - l, and l elsewhere, as the codes have it; 0/0 = 0. The levels are
    counted, since an a that is whole up to rounding has no floor to rely on, while its xi is the same from either side.
    One draw u in [0, 1) for each coordinate. External: Alistarh et al. (2017), see above.
    """
    a = levels * ratio(maximum(v, -v), R)
    xi = zeros(v)
    for k in range(levels):
        xi = where_less(k + u, a, xi + 1, xi)
    size = xi * R / levels
    return where_less(v, 0, -size, size)
