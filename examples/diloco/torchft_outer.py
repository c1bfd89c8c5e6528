"""meta-pytorch/torchft at several commits: ``local_sgd.DiLoCo`` with SGD and Nesterov momentum as outer optimiser.

``SOURCE=path/to/torchft fedspec check examples/diloco/torchft_outer.py:Adapter``

The commits are the first with DiLoCo, the first with fragments, the last before the sign was mended, that one, and the
newest. At the newest two fragments are driven as well, with an outer optimiser each and with one for both.
"""

from __future__ import annotations

from typing import Any

import source

from fedspec_suite.subjects.outer import Outer, offer
from fedspec_suite.subjects.torchft.driver import Manager, in_two, whole

*OLDER, NEWEST = ("2e2a3cb", "2ac219d", "4493204", "8170a4b", "7eb7087")


def at(commit: str) -> Any:
    """Return the class at that commit."""
    return source.module(commit, "torchft/local_sgd.py", f"local_sgd_{commit}").DiLoCo


def Adapter() -> Outer:
    """Adapter with a variant for each commit."""
    source.absent("torchft")
    source.absent("torchft.manager", Manager=Manager)
    made = {commit: whole(at(commit)) for commit in (*OLDER, NEWEST)}
    made |= {f"{NEWEST}-fragments": in_two(at(NEWEST), shared=False)}
    made |= {f"{NEWEST}-shared": in_two(at(NEWEST), shared=True)}
    offers = [(offer(nonzero=("beta",), variant=n), m) for n, m in made.items()]
    return Outer("torchft", source.dated(NEWEST), offers)


Subject = Adapter
"""Earlier name of the adapter."""
