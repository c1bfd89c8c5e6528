"""lishenghui/blades at d3d8c7f, the last commit with aggregators: cffe636 of 2024-06-25 removes them.

``SOURCE=path/to/blades fedspec check examples/found/blades_means.py:Adapter``

What they are called with is in ``fedlib_means``, where they went.
"""

from __future__ import annotations

import fedlib_means
import source
from means import Means

COMMIT = "d3d8c7f"


def Adapter() -> Means:
    """Adapter of all its aggregators."""
    version = source.dated(COMMIT)
    return Means("blades", version, fedlib_means.made("blades/aggregators", COMMIT))
