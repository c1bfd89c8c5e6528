"""Steps of the adaptive servers from states that are chosen so that the square roots are known.

A rule takes the root of v_t, which for exact numbers must be rational and for symbols must simplify. So the root is
what is chosen, and v_(t-1) is set to make it come out: the rule then runs as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from fedspec.arith import Vector
from fedspec.server.client_centric import Maxima, Moments, cc_adagrad, cc_adam, cc_ams
from fedspec_proofs.engines.choose import Choose

HALF: Any = Fraction(1, 2)


def rooted(server: str, x: Vector, m: Vector, delta: Vector, q: Any, *, eta: Any, beta: Any, eps: Any) -> Any:
    """Take a server step after which the second moment's root is q, with v_(t-1) chosen to fit; gamma = 1/2."""
    if server == "adagrad":
        return cc_adagrad(Moments(x=x, m=m, v=q**2 - delta**2), delta, eta=eta, beta1=beta, tau=eps)
    v = 2 * q**2 - delta**2
    if server == "adam":
        return cc_adam(Moments(x=x, m=m, v=v), delta, eta=eta, beta1=beta, beta2=HALF, tau=eps)
    state = Maxima(x=x, m=m, v=v, v_hat=q**2)
    return cc_ams(state, delta, eta=eta, beta1=beta, beta2=HALF, eps=eps)


def moments(server: str, p: Vector, v: Vector, delta: Vector, *, gamma: Any = HALF) -> tuple[Vector, Vector]:
    """v and v_hat after one step of the rule from v_hat = p^2 (and from v, if the server keeps both)."""
    zero = p * 0
    if server == "ams":
        state = Maxima(x=zero, m=zero, v=v, v_hat=p**2)
        after = cc_ams(state, delta, eta=1, beta1=0, beta2=gamma, eps=1)
        return after.v, after.v_hat
    one = Moments(x=zero, m=zero, v=p**2)
    if server == "adagrad":
        v = cc_adagrad(one, delta, eta=1, beta1=0, tau=1).v
    else:
        v = cc_adam(one, delta, eta=1, beta1=0, beta2=gamma, tau=1).v
    return v, v


def increments(server: str, p: Vector, v: Vector, delta: Vector, *, gamma: Any = HALF) -> Vector:
    """v_hat after one step, as in :func:`moments`."""
    return moments(server, p, v, delta, gamma=gamma)[1]


@dataclass(frozen=True)
class Round:
    """A round of CC-FedAdagrad: state before it, change, gradients at x_t and z_t, and given constants.

    Attributes:
        p, q: the roots of v_t and v_(t+1); Delta^2 is their difference.
        d: d_t, the momentum before.
        delta: Delta_t.
        g: grad f(x_t).
        u: grad f(z_t) - grad f(x_t).
        eta, eta_l, eps, beta, L, G: hyper-parameters, and the claimed smoothness and gradient bound.
    """

    p: Vector
    q: Vector
    d: Vector
    delta: Vector
    g: Vector
    u: Vector
    eta: Any
    eta_l: Any
    eps: Any
    beta: Any
    L: Any
    G: Any

    @property
    def C(self) -> Any:
        """Constant C = beta / (1 - beta)."""
        return self.beta / (1 - self.beta)

    @property
    def before(self) -> Vector:
        """Preconditioner a_t = 1 / (sqrt(v_t) + eps)."""
        out: Vector = 1 / (self.p + self.eps)
        return out

    @property
    def moved(self) -> Vector:
        """z_t - x_t = C (x_t - x_(t-1)), if the last step went along d_t with root p."""
        last = rooted("adagrad", self.p * 0, self.d, self.d, self.p, eta=self.eta, beta=Fraction(0), eps=self.eps).x
        out: Vector = self.C * last
        return out

    @property
    def a(self) -> Vector:
        """Preconditioner a_(t+1), as the change of x per unit of momentum in a step of the rule."""
        one = self.p * 0 + 1
        zero = self.p * 0
        v = self.q**2 - one**2
        return cc_adagrad(Moments(x=zero, m=zero, v=v), one, eta=1, beta1=0, tau=self.eps).x

    def met(self) -> dict[str, bool]:
        """Assumptions of the proof, each with True if the round meets it."""
        length = (self.eta_l * self.G) ** 2
        return {
            "v_0": all(self.p >= self.eps),
            "Lipschitz": self.u @ self.u <= self.L**2 * (self.moved @ self.moved),
            "gradient": self.g @ self.g <= self.G**2,
            "changes": self.d @ self.d <= length and self.delta @ self.delta <= length,
        }


def a_round(choose: Choose) -> Round:
    """Random round; Delta_t makes both roots rational, by Pythagorean triples p^2 + Delta^2 = q^2."""
    n = choose.of(1, 2)
    eps = choose.of(Fraction(1), Fraction(1, 2), Fraction(3))
    p, q, delta = [], [], []
    for _ in range(n):
        root: Any = eps * choose.of(*map(Fraction, ("1", "1", "1", "2", "1/2", "0")))
        s = choose.of(Fraction(1, 100), Fraction(1, 10), Fraction(1, 3), Fraction(1, 2), Fraction(0))
        sign = choose.of(1, -1)
        p.append(root if root else Fraction(0))
        q.append(root * (1 + s**2) / (1 - s**2) if root else abs(s))
        delta.append(sign * (root * 2 * s / (1 - s**2) if root else s))
    d = [choose.of(Fraction(1), Fraction(-1), Fraction(0), Fraction(1, 2)) for _ in range(n)]
    scale = choose.of(Fraction(1), Fraction(1, 10), Fraction(1, 50))
    g = [choose.of(Fraction(1), Fraction(-1), Fraction(0), Fraction(1), Fraction(-1), Fraction(4)) for _ in range(n)]
    u = [choose.of(Fraction(1), Fraction(-1), Fraction(0), Fraction(5)) for _ in range(n)]

    def vector(values: list[Fraction]) -> Vector:
        out: Vector = np.array(values, dtype=object)
        return out

    eta, beta, L = (
        choose.of(Fraction(1), Fraction(1, 2), Fraction(4)),
        choose.of(Fraction(1, 2), Fraction(9, 10)),
        Fraction(1),
    )
    eta_l, G = choose.of(Fraction(1), Fraction(1, 10)), choose.of(Fraction(1), Fraction(2), Fraction(1, 2))
    momentum = vector(d) * scale
    # The largest change of gradient that smoothness allows, in some direction and coordinate.
    reach = max(abs(beta / (1 - beta) * eta * momentum / (vector(p) + eps)))
    return Round(
        p=vector(p),
        q=vector(q),
        d=momentum,
        delta=vector(delta),
        g=vector(g) * G,
        u=vector(u) * L * reach,
        eta=eta,
        eta_l=eta_l,
        eps=eps,
        beta=beta,
        L=L,
        G=G,
    )


__all__ = ["HALF", "Round", "a_round", "increments", "rooted"]
