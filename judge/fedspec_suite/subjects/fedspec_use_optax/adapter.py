"""fedspec's own optax transformations (``fedspec_use.optax``) on optax 0.2.8: ``init``, ``update``, ``apply_updates``.

``local(algorithm, reading=, **hyper, **options)`` for all readings of all local solvers. Updates come with their sign:
x + update. Arrays have the dtype of the case; float64 runs with ``jax_enable_x64`` on, float32 with it off, as by
default. Nothing is jitted. A fresh state is made at the start and at every ``Begin``. Shown after the step: what
``state.kept`` holds by the catalogue's names.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from fedspec.catalogue import CATALOGUE, LocalSolver
from fedspec.contract import Answer, Begin, Blocks, Case, Event, Gradient, SubjectInfo
from fedspec.errors import ContractError
from fedspec.params import unflatten
from fedspec.reference import offers
from fedspec_use.optax import local

OFFERS = tuple(o for a in CATALOGUE.values() if isinstance(a.run, LocalSolver) for o in offers(a, "client"))


class Run:
    """Session: a model, a transformation and its state."""

    def __init__(self, case: Case) -> None:
        self.case, self.wide = case, case.dtype == "float64"
        row = CATALOGUE[case.algorithm]
        given: dict[str, Any] = {**case.hyper, **{n: v for n, v in case.options.items() if n in row.options}}
        with jax.enable_x64(self.wide):
            self.transform = local(row, reading=case.reading, **given)
            self.begin(case.x0)

    def begin(self, x: Blocks) -> None:
        """Initialise the state at the given model."""
        # A list keeps the order of the blocks, which a dict of JAX's does not.
        self.x = [jnp.asarray(x[name]) for name in self.case.x0]
        self.state = self.transform.init(self.x)

    def step(self, event: Event) -> Answer:
        """Take a gradient, or begin a round."""
        with jax.enable_x64(self.wide):
            match event:
                case Begin(x):
                    self.begin(x)
                case Gradient(g):
                    gradient = [jnp.asarray(g[name]) for name in self.case.x0]
                    updates, self.state = self.transform.update(gradient, self.state, self.x)
                    self.x = optax.apply_updates(self.x, updates)
                case _:
                    raise ContractError(f"event: {type(event).__name__} at level client; send Gradient or Begin")
            model = {name: np.array(x) for name, x in zip(self.case.x0, self.x, strict=True)}
            wanted = CATALOGUE[self.case.algorithm].shows_at("client")
            shown = {n: unflatten(np.array(v), model) for n, v in self.state.kept.items() if n in wanted}
            return {"x": model, **shown}


class Use:
    """fedspec's optax transformations as a subject."""

    info = SubjectInfo("fedspec_use_optax", version("optax"), OFFERS)

    def start(self, case: Case) -> Run:
        """Create a session with the case's transformation at its x0."""
        return Run(case)


SUBJECT = Use()
