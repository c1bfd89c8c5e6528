"""Measure how often Krum picks another change in float32 than in float64, if changes are close and far from zero.

``pip install --no-deps byzpy==0.1.4 krum==0.9.1; python examples/found/near.py``

A hundred times n changes of 1,000 coordinates are drawn around a centre that is about 95 long. Their deviations are
1e-4 to 1e-3 in each coordinate, so that they are 0.004 to 0.05 apart. f is 2. Printed are n and how often each package
took another change than its own rule in float64 does, on the same numbers.
"""
# mypy: disable-error-code="import-not-found"

from __future__ import annotations

from typing import Any

import numpy as np
import torch

F = 2


def winner(changes: np.ndarray[Any, Any], others: int) -> Any:
    """Return the change with the smallest sum of squared distances to its ``others`` nearest ones, in float64."""
    v = changes.astype(np.float64)
    apart = np.sort(((v[:, None] - v[None]) ** 2).sum(axis=-1), axis=1)
    return changes[apart[:, 1 : others + 1].sum(axis=1).argmin()]


def main() -> None:
    """Print a line for each n."""
    from byzpy.aggregators.geometric_wise.krum import Krum as Byzpy
    from krum.primitives.aggregators.krum import Krum

    rng = np.random.default_rng(0)
    for n in (10, 25, 26, 40):
        wrong = {"krum": 0, "byzpy": 0}
        for _ in range(100):
            centre, deviations = 3 * rng.standard_normal(1000), rng.uniform(1e-4, 1e-3, (n, 1))
            changes = (centre + deviations * rng.standard_normal((n, 1000))).astype(np.float32)
            found = Krum.aggregate(torch.tensor(changes), n=n, f=F).numpy()
            wrong["krum"] += not np.array_equal(found, winner(changes, n - F - 2))
            found = Byzpy(f=F).aggregate([torch.tensor(v) for v in changes]).numpy()
            wrong["byzpy"] += not np.array_equal(found, winner(changes, n - F - 1))
        print(n, wrong)


if __name__ == "__main__":
    main()
