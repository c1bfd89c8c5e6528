"""The sequence z_r, by which momentum leaves the proof: eq. (13) and the display after it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fedspec.server.amsgrad import AmsGrad, amsgrad
from fedspec_proofs.claim import AFGA, Engine, Extent, Finding, Source, Verdict, claim, false
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.identities import identities
from fedspec_proofs.engines.mutation import mutate


def dividing(rule: Any, by: Any) -> Any:
    """A server rule that divides by this, whatever its root would be."""
    try:
        return mutate(rule, root=lambda v, eps, place: v * 0 + by)
    except KeyError:
        return rule


def _z_identity(draw: Draw, kappa: Callable[[Any], Any]) -> list[Any]:
    """z_(r+1) - z_r less what it is said to be, in one coordinate of the server's rule."""
    h: dict[str, Any] = {name: draw(name, positive=True) for name in ("eta", "beta1", "beta2", "eps")}
    x, m, v, v_hat, delta = (draw(name, 1) for name in ("x", "m", "v", "v_hat", "Delta"))
    before = AmsGrad(x=x, m=m, v=v, v_hat=v_hat, t=1)
    new_root, old_root = draw("root", positive=True), draw("root_before", positive=True)
    after = dividing(amsgrad, new_root)(before, delta, **h)
    old, new, factor = h["eta"] / old_root, h["eta"] / new_root, kappa(h["beta1"])
    # x_(r-1), from the round before.
    x_before = before.x[0] - old * before.m[0]
    z_new = after.x[0] + factor * (after.x[0] - before.x[0])
    z_old = before.x[0] + factor * (before.x[0] - x_before)
    return [z_new - z_old - new * delta[0] + factor * (old - new) * before.m[0]]


@claim(
    "afga.eq-13",
    statement="With z_r = x_r + beta1/(1 - beta1) (x_r - x_(r-1)): z_(r+1) - z_r = eta V_r^(-1/2) Delta_r - eta "
    "beta1/(1 - beta1) (V_(r-1)^(-1/2) - V_r^(-1/2)) m_(r-1)",
    source=Source(AFGA, "eq. (13) and the last line of the display after it (L1243-1268)"),
    engine=Engine.SYMBOLIC,
    verdict=Verdict.PROVED,
    extent=Extent.WHOLE,
)
def eq_13() -> Finding:
    """One coordinate of the server's rule; V_r^(1/2) is what the rule divides by, here any positive number."""
    return identities({"one coordinate": lambda draw: _z_identity(draw, lambda b: b / (1 - b))})


@false(
    "afga.false-13-beta1",
    of=eq_13,
    statement="The same with z_r = x_r + beta1 (x_r - x_(r-1))",
)
def z_with_beta1() -> Finding:
    """The momentum's sum is 1/(1 - beta1)."""
    return identities({"one coordinate": lambda draw: _z_identity(draw, lambda b: b)})
