"""lishenghui/blades at d3d8c7f, the last commit that has aggregators: cffe636 of 2024-06-25 takes them out.

``SOURCE=path/to/blades fedspec check py:examples/found/blades_means.py:Subject``

What they are called with is in ``fedlib_means``, where they went.
"""

from __future__ import annotations

import fedlib_means
import source
from means import Means

COMMIT = "d3d8c7f"


def Subject() -> Means:
    """All of them."""
    version = source.dated(COMMIT)
    return Means("blades", version, fedlib_means.made("blades/aggregators", COMMIT))
