"""declearn 2.9.1: its ``Optimizer`` with ``NumpyVector``, as a client's.

``pip install --no-deps declearn==2.9.1 msgpack``, and ``fedspec check examples/found/declearn_client.py:Adapter``

ridge       regulariser ``ridge``, then module ``l2-global-clipping``
each        module ``l2-clipping``, which clips each block
steps       ``exponential-decay`` at each step
rounds      ``exponential-decay`` at each round, ``step_level=False``
resumed     as ``steps``, restored by ``set_state`` from what ``get_state`` returns; the model is the adapter's
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import beside

from fedspec.contract import Answer, Begin, Case, Claim, Event, Gradient, Info
from fedspec.errors import ContractError

Make = Callable[[Mapping[str, Any]], Any]
"""Function that makes an optimiser from the case's hyper-parameters."""


class Session:
    """Session of a case: the model, and the optimiser, which is told of each round's start."""

    def __init__(self, case: Case, make: Make) -> None:
        from declearn.model.sklearn._np_vec import NumpyVector

        self.vector, self.x = NumpyVector, NumpyVector(dict(case.x0))
        self.make, self.hyper = make, case.hyper
        self.its = make(case.hyper)
        self.its.start_round()

    def get_weights(self, trainable: bool = True) -> Any:
        """Return the model to the optimiser."""
        return self.x

    def apply_updates(self, updates: Any) -> None:
        """Add what the optimiser computes to the model."""
        self.x = self.x + updates

    def step(self, event: Event) -> Answer:
        """Begin a round or take a step."""
        match event:
            case Begin(x=x):
                self.x = self.vector(dict(x))
                self.its.start_round()
            case Gradient(g=g):
                self.its.apply_gradients(self, self.vector(dict(g)))
            case _:
                raise ContractError(f"event: {type(event).__name__} at level client; send Gradient or Begin")
        return {"x": self.x.coefs}

    def save(self) -> bytes:
        """Return the optimiser's state and the model."""
        return pickle.dumps((self.x, self.its.get_state()))

    def restore(self, saved: bytes) -> None:
        """Give both back."""
        self.x, state = pickle.loads(saved)
        self.its.set_state(state)


class Adapter:
    """Adapter of its optimiser with several settings."""

    def __init__(self) -> None:
        version = beside.published("declearn", "2.9.1", "declearn", "declearn.model")
        from declearn.optimizer._base import Optimizer

        exp = "exponential/{} factor=0.5".format
        made: Sequence[tuple[Claim, Make]] = [
            (
                Claim("sgd", "client", variant="ridge", gradients=("decay 0.02", "clip-norm 1")),
                lambda h: Optimizer(
                    h["eta_l"],
                    regularizers=[("ridge", {"alpha": 0.01})],
                    modules=[("l2-global-clipping", {"max_norm": 1.0})],
                ),
            ),
            (
                Claim("sgd", "client", variant="each", gradients=("clip-block-norm 1",)),
                lambda h: Optimizer(h["eta_l"], modules=[("l2-clipping", {"max_norm": 1.0})]),
            ),
            (
                Claim("sgd", "client", variant="steps", schedules={"eta_l": exp("step")}),
                lambda h: Optimizer(("exponential-decay", {"base": h["eta_l"], "rate": 0.5, "step_level": True})),
            ),
            (
                Claim("sgd", "client", variant="rounds", schedules={"eta_l": exp("round")}),
                lambda h: Optimizer(("exponential-decay", {"base": h["eta_l"], "rate": 0.5, "step_level": False})),
            ),
            (
                Claim("sgd", "client", variant="resumed", schedules={"eta_l": exp("step")}, resumes=True),
                lambda h: Optimizer(("exponential-decay", {"base": h["eta_l"], "rate": 0.5, "step_level": True})),
            ),
        ]
        self.info = Info("declearn", version, tuple(claim for claim, _ in made))
        self.made = {claim.variant: make for claim, make in made}

    def start(self, case: Case) -> Session:
        """Begin a case."""
        return Session(case, self.made[case.variant])
