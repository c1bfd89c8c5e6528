"""Stand-ins for Flower's runtime, so that a strategy runs in one process; and models as Flower's records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from flwr.app import Array as FlowerArray
from flwr.app import ArrayRecord
from flwr.supercore.task_identity import TaskIdentity

# A message outside a running app needs these numbers; no arithmetic depends on them.
TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = 1, 1, 0


class StandInGrid:
    """Stand-in for ``flwr.serverapp.Grid`` with the method that ``configure_train`` calls."""

    def __init__(self, nodes: Sequence[int]) -> None:
        self.nodes = nodes

    def get_node_ids(self) -> list[int]:
        """List the nodes of the round."""
        return [*self.nodes]


def record(x: Mapping[str, Any]) -> Any:
    """Convert a model to Flower's ``ArrayRecord``."""
    return ArrayRecord({name: FlowerArray(np.asarray(array)) for name, array in x.items()})
