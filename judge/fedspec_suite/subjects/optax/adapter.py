"""optax 0.2.8 (on JAX, CPU) as client solvers: ``init``, ``update``, ``apply_updates``.

sgd                        ``optax.sgd(eta_l)``
momentum                   ``optax.sgd(eta_l, momentum=rho)``
nesterov                   ``optax.sgd(eta_l, momentum=rho, nesterov=True)``
adagrad                    ``optax.adagrad(eta_l, initial_accumulator_value=v0, eps=eps)``, documented
                           with eps inside the root
adam                       ``optax.adam(eta_l, b1, b2, eps)``
amsgrad, correct-then-max  ``optax.amsgrad(eta_l, b1, b2, eps)``: by default it documents "bias
                           correction ... before taking the elementwise maximum"
amsgrad, reddi-2018        the same, bias_correction_mu and bias_correction_nu off, documented "to
                           match the original AMSGrad paper"
yogi                       ``optax.yogi(eta_l, b1, b2, eps)``: "a modification of Adam", so the
                           reading with both corrections is claimed; v_0 is 1e-6 (fixed)
sm3-ii                     ``optax.sm3(eta_l, momentum=0)``: documents SM3-I and SM3-II, without a
                           flag to choose, "with the convention that 0/0 = 0", without eps
lamb, you-2020             ``optax.lamb(eta_l, b1, b2, eps, weight_decay=lam)``: names the paper
lamb, ratio-one            the same: scale_by_trust_ratio says "Set trust_ratio to 1 in case where
                           parameters would never be updated"

Updates come with their sign: x + update. Arrays have the dtype of the case; float64 runs with
``jax_enable_x64`` on, float32 with it off, as by default (bias corrections are then 32-bit too).
Nothing is jitted. A fresh state is made at the start and at every ``Begin``. Shown after the step:
u (trace), m (mu), v (nu, sum_of_squares), v_hat (nu_max). SM3 keeps one accumulator for each index
of each axis (cover "axes") and not the per-coordinate one, so neither is shown; it fails on a
block without axes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from fedspec.contract import Answer, Begin, Blocks, Case, Event, Gradient, Offer, SubjectInfo
from fedspec.errors import ContractError


@dataclass(frozen=True)
class Driven:
    """Offer with the constructor of its transformation, and the state field of each intermediate."""

    offer: Offer
    make: Callable[[Mapping[str, Any]], Any]
    shows: Mapping[str, str] = field(default_factory=dict)


def adam_like(make: Any, **flags: Any) -> Callable[[Mapping[str, Any]], Any]:
    """Return a constructor that passes the hyper-parameters shared by Adam and its relatives."""
    return lambda h: make(h["eta_l"], b1=h["beta1"], b2=h["beta2"], eps=h["eps"], **flags)


U = {"u": "trace"}
MV = {"m": "mu", "v": "nu"}
AMS = {**MV, "v_hat": "nu_max"}

DRIVEN = (
    Driven(Offer("sgd", "client", "fednova"), lambda h: optax.sgd(h["eta_l"])),
    Driven(
        Offer("momentum", "client", "fednova", intermediates=("u",)),
        lambda h: optax.sgd(h["eta_l"], momentum=h["rho"]),
        U,
    ),
    Driven(
        Offer("nesterov", "client", "textbook", intermediates=("u",)),
        lambda h: optax.sgd(h["eta_l"], momentum=h["rho"], nesterov=True),
        U,
    ),
    Driven(
        Offer("adagrad", "client", "epsilon-inside", intermediates=("v",)),
        lambda h: optax.adagrad(h["eta_l"], initial_accumulator_value=h["v0"], eps=h["eps"]),
        {"v": "sum_of_squares"},
    ),
    Driven(Offer("adam", "client", "kingma-2015", intermediates=("m", "v")), adam_like(optax.adam), MV),
    Driven(
        Offer("amsgrad", "client", "correct-then-max", intermediates=tuple(AMS)),
        adam_like(optax.amsgrad),
        AMS,
    ),
    Driven(
        Offer(
            "amsgrad",
            "client",
            "reddi-2018",
            intermediates=tuple(AMS),
            notes="bias_correction_mu=False, bias_correction_nu=False",
        ),
        adam_like(optax.amsgrad, bias_correction_mu=False, bias_correction_nu=False),
        AMS,
    ),
    Driven(
        Offer(
            "yogi",
            "client",
            "zaheer-2018-corrected",
            fixed={"v0": 1e-6},
            intermediates=("m", "v"),
        ),
        adam_like(optax.yogi),
        MV,
    ),
    Driven(
        Offer("sm3-ii", "client", "anil-2019", options={"cover": "axes"}, notes="momentum=0"),
        lambda h: optax.sm3(h["eta_l"], momentum=0.0),
    ),
    *(
        Driven(
            Offer("lamb", "client", reading, intermediates=("m", "v")),
            lambda h: optax.lamb(h["eta_l"], b1=h["beta1"], b2=h["beta2"], eps=h["eps"], weight_decay=h["lam"]),
            MV,
        )
        for reading in ("you-2020", "ratio-one")
    ),
)


class OptaxSession:
    """Session: a model, a transformation and its state."""

    def __init__(self, case: Case, driven: Driven) -> None:
        self.driven = driven
        self.wide = case.dtype == "float64"
        with jax.enable_x64(self.wide):
            self.transform = driven.make(case.hyper)
            self.begin(case.x0)

    def begin(self, x: Blocks) -> None:
        """Initialise the state at the given model."""
        self.x = {name: jnp.asarray(array) for name, array in x.items()}
        self.state = self.transform.init(self.x)

    def step(self, event: Event) -> Answer:
        """Take a gradient, or begin a round."""
        with jax.enable_x64(self.wide):
            match event:
                case Begin(x):
                    self.begin(x)
                case Gradient(g):
                    gradient = {name: jnp.asarray(g[name]) for name in self.x}
                    updates, self.state = self.transform.update(gradient, self.state, self.x)
                    self.x = optax.apply_updates(self.x, updates)
                case _:
                    raise ContractError(f"event: {type(event).__name__} at level client; send Gradient or Begin")
            shown = {ours: getattr(self.state[0], its) for ours, its in self.driven.shows.items()}
            return {
                key: {name: np.array(array) for name, array in blocks.items()}
                for key, blocks in {"x": self.x, **shown}.items()
            }


class Optax:
    """optax as a subject."""

    info = SubjectInfo("optax", version("optax"), tuple(d.offer for d in DRIVEN))

    def start(self, case: Case) -> OptaxSession:
        """Create a session with the case's transformation at its x0."""
        for entry in DRIVEN:
            if (entry.offer.algorithm, entry.offer.reading) == (case.algorithm, case.reading):
                return OptaxSession(case, entry)
        raise ContractError(f"case: {case.algorithm} by reading {case.reading} is not claimed")


SUBJECT = Optax()
