"""AI-Hypercomputer/maxtext: the train step of ``src/maxtext/trainers/diloco/diloco.py`` with a sync period of 1.

``SOURCE=path/to/maxtext fedspec check examples/diloco/maxtext_outer.py:Adapter``; it needs flax, optax and drjax

``build_diloco_state`` and ``build_vanilla_diloco_train_step`` run as they are, not compiled, on one device. The local
train step is the adapter's: it adds the change. Modules that it imports and does not use are stand-ins. Only
float32.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import optax
import source
from flax import nnx

from fedspec.contract import Answer, Case, Event, Info, Messages
from fedspec.errors import ContractError
from fedspec_suite.subjects.outer import offer

COMMIT = "e591f30cb"
ABOVE = ("maxtext", "maxtext.common", "maxtext.configs", "maxtext.trainers", "maxtext.trainers.diloco", "maxtext.utils")


class Model(nnx.Module):
    """Module with one parameter for each block of the case's model."""

    def __init__(self, x: Any) -> None:
        for k, block in enumerate(x.values()):
            setattr(self, f"b{k}", nnx.Param(jax.numpy.asarray(block)))


class Session:
    """Session of a case, with one replica for each message of the first round."""

    def __init__(self, case: Case) -> None:
        self.case, self.state = case, None

    def _begin(self, replicas: int) -> None:
        from maxtext.common.train_state_nnx import TrainStateNNX
        from maxtext.trainers.diloco import diloco

        h, model = self.case.hyper, Model(self.case.x0)
        whole = TrainStateNNX(model, nnx.Optimizer(model, optax.sgd(1.0), wrt=nnx.Param))
        config = SimpleNamespace(
            num_diloco_replicas=replicas,
            diloco_sync_period=1,
            diloco_outer_lr=h["eta"],
            diloco_outer_momentum=h["beta"],
        )
        self.state, _ = diloco.build_diloco_state(config, lambda: nnx.state(whole))
        self.round = diloco.build_vanilla_diloco_train_step(config, _adds)

    def step(self, event: Event) -> Answer:
        """Run one round."""
        if not isinstance(event, Messages):
            raise ContractError(f"event: {type(event).__name__} at level server; send Messages")
        messages = sorted(event.messages, key=lambda m: m.client)
        if self.state is None:
            self._begin(len(messages))
        batch = {f"b{k}": np.stack([m.delta[name] for m in messages]) for k, name in enumerate(self.case.x0)}
        self.state, _ = self.round(self.state, batch, jax.random.key(0))
        return {"x": {n: np.asarray(self.state.params[f"b{k}"]) for k, n in enumerate(self.case.x0)}}


def _adds(state: Any, batch: Any, key: Any) -> Any:
    """A local train step that makes the change of the round."""
    del key
    new = jax.tree.map(lambda leaf: leaf, state)
    for name, change in batch.items():
        new["model"][name][...] = new["model"][name][...] + change
    new["optimizer"]["step"][...] = new["optimizer"]["step"][...] + 1
    return new, {}


class Adapter:
    """Adapter of the package at a commit."""

    def __init__(self) -> None:
        source.Package("maxtext", COMMIT, "src/maxtext", empty=ABOVE)
        source.absent("maxtext.configs.pyconfig")
        source.absent(
            "maxtext.trainers.diloco.utils.spmd_diloco_checkpointing",
            **dict.fromkeys(
                (
                    "from_diloco_checkpoint_dict",
                    "is_diloco_checkpoint",
                    "restore_diloco_checkpoint",
                    "to_diloco_checkpoint_dict",
                )
            ),
        )
        self.info = Info("maxtext", source.dated(COMMIT), (offer(dtypes=("float32",)),))

    def start(self, case: Case) -> Session:
        """Begin a case."""
        return Session(case)
