"""SM3: AdaGrad with one accumulator for each set of a cover instead of one for each coordinate."""

from __future__ import annotations

from fedspec.arith import Scalar, Sets, Vector, ratio, sqrt, zeros
from fedspec.costs import Costs
from fedspec.covers import AnyCover
from fedspec.entry import Algorithm, Basis, Family, LocalSolver, Reading
from fedspec.readings import Sm3Zero
from fedspec.records import record
from fedspec.rules import checked, rule


@record
class Sm3:
    """A local model, the accumulators mu (one for each set) and the coordinate bounds nu that the step used."""

    x: Vector
    mu: Sets
    nu: Vector


@checked
def begin(x: Vector, cover: AnyCover) -> Sm3:
    """The state at the start of a round: all accumulators at zero."""
    return Sm3(x=x, mu=zeros(x, cover.q), nu=zeros(x))


@rule
def accumulate_i(mu: Sets, g_squared: Vector, cover: AnyCover) -> tuple[Sets, Vector]:
    """Update the accumulators of SM3-I: each set adds its largest squared gradient.

        mu(r) = mu(r) + max over j in S_r of g(j)^2          sm3-i.mu
        nu(j) = min over r with j in S_r of mu(r)            sm3-i.nu

    Source: FedAda2, Alg. 3 with z = 1 (L701).
    """
    mu = mu + cover.greatest(g_squared)
    nu = cover.least(mu)
    return mu, nu


@rule
def accumulate_ii(mu: Sets, g_squared: Vector, cover: AnyCover) -> tuple[Sets, Vector]:
    """Update the accumulators of SM3-II: first the bounds nu, then each set takes the largest of its bounds.

        nu(j) = (min over r with j in S_r of mu(r)) + g(j)^2   sm3-ii.nu
        mu(r) = max over j in S_r of nu(j)                     sm3-ii.mu

    Source: FedAda2, Alg. 4 with z = 1 (L717), where mu is cleared before the maximum is taken.
    """
    nu = cover.least(mu) + g_squared
    mu = cover.greatest(nu)
    return mu, nu


def _ratio(g: Vector, nu: Vector, eps: Scalar, zero: Sm3Zero) -> Vector:
    if zero is Sm3Zero.EPSILON:
        return g / (sqrt(nu) + eps)
    # 0/0 = 0: nu(j) = 0 only where every gradient so far was 0 at j.
    return ratio(g, sqrt(nu))


@rule
def sm3_i(
    state: Sm3,
    g: Vector,
    cover: AnyCover,
    *,
    eta_l: Scalar,
    eps: Scalar = 0,
    zero: Sm3Zero = Sm3Zero.EPSILON,
) -> Sm3:
    """Local step of SM3-I.

        x = x - eta_l g / (sqrt(nu) + eps)                   sm3-i.step
        x = x - eta_l ratio(g, sqrt(nu))                     sm3-i.step [zero=zero-over-zero]

    Source: FedAda2, Alg. 3 with z = 1 (L701).
    """
    mu, nu = accumulate_i(state.mu, g**2, cover)
    x = state.x - eta_l * _ratio(g, nu, eps, zero)
    return Sm3(x=x, mu=mu, nu=nu)


@rule
def sm3_ii(
    state: Sm3,
    g: Vector,
    cover: AnyCover,
    *,
    eta_l: Scalar,
    eps: Scalar = 0,
    zero: Sm3Zero = Sm3Zero.EPSILON,
) -> Sm3:
    """Local step of SM3-II.

        x = x - eta_l g / (sqrt(nu) + eps)                   sm3-ii.step
        x = x - eta_l ratio(g, sqrt(nu))                     sm3-ii.step [zero=zero-over-zero]

    Source: FedAda2, Alg. 4 with z = 1 (L717).
    """
    mu, nu = accumulate_ii(state.mu, g**2, cover)
    x = state.x - eta_l * _ratio(g, nu, eps, zero)
    return Sm3(x=x, mu=mu, nu=nu)


ROWS = (
    Algorithm(
        id="sm3-i",
        family=Family.LOCAL_SOLVERS,
        place=14,
        title="SM3-I over a cover of the coordinates",
        source="FedAda2, Alg. 3 with z = 1 (L701)",
        basis=Basis.READ,
        levels=("client",),
        readings=(
            Reading(name="fedada2", words="eps outside the root", fixes={"zero": "epsilon"}),
            Reading(name="anil-2019", words="no eps, 0/0 = 0 (Anil et al., 2019)", fixes={"zero": "zero-over-zero"}),
        ),
        run=LocalSolver(rule=sm3_i, begin=begin, plays={"eps": ("zero=epsilon",)}),
        costs=Costs(working="d + q", note="a matrix of r rows and s columns has q = r + s sets, and r s coordinates"),
        traps=(
            "a coordinate takes the least of its sets' sums; a set adds its largest square",
            "the accumulators last for the round, and start the next at zero",
            "with eps there is no 0/0 rule; without it 0/0 = 0",
        ),
    ),
    Algorithm(
        id="sm3-ii",
        family=Family.LOCAL_SOLVERS,
        place=15,
        title="SM3-II over a cover of the coordinates",
        source="FedAda2, Alg. 4 with z = 1 (L717)",
        basis=Basis.READ,
        levels=("client",),
        readings=(
            Reading(name="fedada2", words="eps outside the root", fixes={"zero": "epsilon"}),
            Reading(name="anil-2019", words="no eps, 0/0 = 0 (Anil et al., 2019)", fixes={"zero": "zero-over-zero"}),
        ),
        run=LocalSolver(rule=sm3_ii, begin=begin, plays={"eps": ("zero=epsilon",)}),
        costs=Costs(working="d + q", note="a matrix of r rows and s columns has q = r + s sets, and r s coordinates"),
        traps=(
            "first the bound with this gradient, then the sets take its maximum",
            "clearing mu at every step forgets everything",
            "with eps there is no 0/0 rule; without it 0/0 = 0",
        ),
        symbols={"mu": "mu'_t", "nu": "nu'_t"},
    ),
)
