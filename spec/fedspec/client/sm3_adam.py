"""Adam with SM3's accumulators as second moment: our reconstruction, since FedAda2 names it without equations."""

from __future__ import annotations

from fedspec.arith import Count, Scalar, Sets, Vector, sqrt, zeros
from fedspec.client.delay import due, unless_short, updates
from fedspec.costs import Costs
from fedspec.covers import AnyCover
from fedspec.entry import Algorithm, Basis, Family, LocalSolver, Reading
from fedspec.records import record
from fedspec.rules import checked, rule


@record
class Sm3Adam:
    """A local model, the first moment, the accumulators mu, the bounds nu on the second moment and the steps taken."""

    x: Vector
    m: Vector
    mu: Sets
    nu: Vector
    t: Count


@checked
def begin(x: Vector, cover: AnyCover) -> Sm3Adam:
    """The state at the start of a round: everything at zero."""
    return Sm3Adam(x=x, m=zeros(x), mu=zeros(x, cover.q), nu=zeros(x), t=0)


@rule
def average_ii(mu: Sets, g_squared: Vector, cover: AnyCover, *, beta2: Scalar) -> tuple[Sets, Vector]:
    """Update the accumulators of SM3-II as decaying averages instead of sums.

        nu(j) = beta2 (min over r with j in S_r of mu(r)) + (1 - beta2) g(j)^2  sm3-adam.nu
        mu(r) = max over j in S_r of nu(j)                                      sm3-adam.mu

    External: reconstructed from FedAda2, Alg. 4 (L717) and Alg. 6 (L1335).
    """
    nu = beta2 * cover.least(mu) + (1 - beta2) * g_squared
    mu = cover.greatest(nu)
    return mu, nu


@rule
def sm3_adam(
    state: Sm3Adam,
    g: Vector,
    cover: AnyCover,
    *,
    eta_l: Scalar,
    beta1: Scalar,
    beta2: Scalar,
    eps: Scalar,
    z: int = 1,
    epoch: int = 1,
    eps_s: Scalar = 0,
) -> Sm3Adam:
    """Local step of Adam over SM3's second moment, which is updated every z steps; t = 1 at the first step.

        m = beta1 m + (1 - beta1) g                                  sm3-adam.m
        m_hat = m / (1 - beta1^t)                                    sm3-adam.m_hat
        mu, nu = their averages if (t - 1)/z is whole, else mu, nu   sm3-adam.update
        nu_hat = nu / (1 - beta2^(floor((t - 1)/z) + 1))             sm3-adam.nu_hat
        u = m_hat / (sqrt(nu_hat) + eps)                             sm3-adam.u
        x = x - eta_l u unless ||u|| < eps_s                         sm3-adam.step

    External: the SM3 adaptation of Adam that FedAda2 names, reconstructed from its Algs. 4 and 7 (L717, L1357).
    """
    t = state.t + 1
    m = beta1 * state.m + (1 - beta1) * g
    m_hat = m / (1 - beta1**t)
    mu, nu = average_ii(state.mu, g**2, cover, beta2=beta2) if due(t, z, epoch) else (state.mu, state.nu)
    nu_hat = nu / (1 - beta2 ** updates(t, z, epoch))
    u = m_hat / (sqrt(nu_hat) + eps)
    x = state.x - eta_l * unless_short(u, u, eps_s)
    return Sm3Adam(x=x, m=m, mu=mu, nu=nu, t=t)


ROW = Algorithm(
    id="sm3-adam",
    family=Family.LOCAL_SOLVERS,
    place=20,
    title="Adam with the accumulators of SM3-II for its second moment",
    source="external: named in FedAda2 (L689) and not defined there; reconstructed from its Algs. 4 and 7",
    basis=Basis.OURS,
    levels=("client",),
    readings=(Reading(name="reconstruction", words="averages for SM3-II's sums, both moments corrected as in ADMU"),),
    run=LocalSolver(rule=sm3_adam, begin=begin),
    costs=Costs(working="3 d + q", note="with z = 1 nu need not be kept: 2 d + q"),
    traps=("the corrections count updates for nu and steps for m",),
)
