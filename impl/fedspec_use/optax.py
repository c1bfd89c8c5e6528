"""The catalogue's local solvers as optax transformations, which work under ``jit`` and ``vmap``.

``local("adam", eta_l=1e-3, beta1=0.9, beta2=0.999, eps=1e-8)`` replaces ``optax.adam(1e-3)``. The rule's vector joins
all leaves of the pytree of parameters; a layer is a leaf. Updates come with their sign.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax.flatten_util import ravel_pytree

from fedspec.algorithms.synchronous import model
from fedspec.catalogue import Algorithm
from fedspec.covers import named_cover
from fedspec.errors import ParameterError
from fedspec.params import layers
from fedspec.readings import CoverName
from fedspec_use import rules


class LocalState(NamedTuple):
    """State of a transformation between steps.

    Attributes:
        count: number of steps taken.
        kept: the fields of the rule's state beside the model, by the catalogue's names; vectors are flat.
        anchor: the model at the beginning of the round, if the rule reads it; else None.
    """

    count: Any
    kept: Mapping[str, Any]
    anchor: Any


def local(
    algorithm: str | Algorithm, *, reading: str = "", eta_l: float | Callable[[Any], Any], **given: Any
) -> optax.GradientTransformation:
    """Return a local solver as an optax transformation; ``init`` begins a round.

    Args:
        algorithm: the algorithm's id in the catalogue, or your own row.
        reading: the published definition; the first by default.
        eta_l: the learning rate, or a function of the number of steps taken so far.
        given: other hyper-parameters, and options, by the catalogue's names.

    Raises:
        UnknownNameError: a name is unknown, or the row is no local solver.
        ParameterError: a hyper-parameter is missing or outside its domain; or ``update`` is called without the
            parameters, or under ``jit`` or ``vmap`` with a rule of your own whose Python code branches on the number of
            steps.
    """
    rule = rules.local(algorithm, reading, eta_l=1.0 if callable(eta_l) else eta_l, **given)

    def init(params: Any) -> LocalState:
        x, _ = ravel_pytree(params)
        kept = _kept(rule.begin(x, cover_of(rule, params)))
        counts = {n: jnp.asarray(v) for n, v in kept.items()}
        return LocalState(jnp.zeros((), jnp.int32), counts, x if "anchor" in rule.reads else None)

    def update(gradients: Any, state: LocalState, params: Any = None) -> tuple[Any, LocalState]:
        if params is None:
            raise ParameterError(f"{rule.algorithm.id}: update needs the parameters; give them as the third argument")
        x, back = ravel_pytree(params)
        g, _ = ravel_pytree(gradients)
        cover = cover_of(rule, params)
        like = rule.begin(x, cover)
        before = replace(like, x=x, **state.kept) if is_dataclass(like) else x  # type: ignore[type-var]
        hyper = {**rule.hyper, "eta_l": eta_l(state.count) if callable(eta_l) else eta_l}
        leaves = shapes_of(params)
        at = {"anchor": state.anchor, "k": state.count, "cover": cover, "layers": layers(leaves)}
        at["shapes"] = tuple(leaves.values())
        try:
            after = rule.step(before, g, hyper, **at)
        except jax.errors.TracerBoolConversionError as error:
            raise ParameterError(
                f"{rule.algorithm.id}: its step depends on the number of steps taken, which jit and vmap don't know; "
                "call update outside of them"
            ) from error
        change: Any = model(after) - x
        return back(change), LocalState(state.count + 1, _kept(after), state.anchor)

    return optax.GradientTransformation(init, update)


def shapes_of(params: Any) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the leaves, by index."""
    return {str(j): tuple(leaf.shape) for j, leaf in enumerate(jax.tree_util.tree_leaves(params))}


def cover_of(rule: rules.Local, params: Any) -> Any:
    """Return SM3's cover of the parameters, or None if the rule doesn't use one."""
    return named_cover(rule.options.get("cover", CoverName.ONE), shapes_of(params)) if "cover" in rule.reads else None


def _kept(state: Any) -> dict[str, Any]:
    """Fields of a state beside the model."""
    if not is_dataclass(state):
        return {}
    return {f.name: getattr(state, f.name) for f in fields(state) if f.name != "x"}
