"""Client-level differential privacy of a run of DP-FedAvg or of private joint adaptivity.

The guarantee (epsilon, delta) is for replacing all data of one client, with the number of clients public. A cohort is
drawn uniformly without replacement, so the guarantee of Poisson sampling doesn't hold. A replaced client moves the sum
of clipped changes by up to 2 c; noise of standard deviation sigma c is then sigma / 2 of that sensitivity. Servers and
clients read the noisy means only, so the models of all rounds have the guarantee together.

The accountant is Google's ``dp-accounting`` (the extra ``privacy``). External: McMahan et al. (2018), for the
mechanism; Wang, Balle and Kasiviswanathan (2019), Theorem 27, for the Rényi divergence without replacement.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Any

from fedspec.errors import FedspecError, ParameterError, to_install
from fedspec.readings import Clipped
from fedspec_torch.arith import check_whole
from fedspec_torch.federation.statistics import Reading
from fedspec_torch.run.rates import Rated
from fedspec_torch.run.schedules import Cohorts


class PrivacyError(FedspecError):
    """Error: no epsilon is known to hold for a run; the message has the reason."""


@dataclass(frozen=True)
class Privacy:
    """Guarantee of a run, with what it assumes.

    Attributes:
        epsilon: an upper bound on epsilon.
        delta: delta of the guarantee (epsilon, delta).
        rounds: number of rounds.
        clients: number of clients.
        cohort: number of participants of a round.
        sigma: standard deviation of the noise of the sum, over the clip norm.
    """

    epsilon: float
    delta: float
    rounds: int
    clients: int
    cohort: int
    sigma: float

    def __str__(self) -> str:
        drawn = "all" if self.cohort == self.clients else f"{self.cohort} drawn without replacement from"
        return (
            f"epsilon <= {self.epsilon:.4g} at delta = {self.delta:.3g} for replacing one client, of the models of "
            f"{self.rounds} rounds with {drawn} {self.clients} clients and sigma = {self.sigma:g}. It assumes that the "
            "seed is secret, and doesn't count tuning, further seeds, or printed losses and accuracies"
        )


def privacy(run: Any, delta: float | None = None) -> Privacy:
    """Return the guarantee of the models of a run's rounds; an early end doesn't lower the number of rounds.

    Args:
        run: a run of ``dp-fedavg`` or ``dp-joint``, as ``simulate`` returns it.
        delta: delta of the guarantee; None: the number of clients to the power of -1.1, as McMahan et al. (2018) take.

    Raises:
        PrivacyError: the algorithm adds no noise, the noise isn't calibrated to a client's change, cohorts aren't drawn
            uniformly, or clients send unclipped running statistics.
        ParameterError: ``delta`` isn't between 0 and 1.
        FedspecError: ``dp-accounting`` isn't installed.
    """
    h, plan, fed = run.h, run.plan, run.federation
    if "noise" not in run.algorithm.takes:
        raise PrivacyError(f"privacy: {run.algorithm.id} adds no noise; choose dp-fedavg or dp-joint")
    if h.clipped is Clipped.GRADIENTS:
        raise PrivacyError(
            "privacy: clipped=gradients bounds each local gradient, not the change that a client sends, and the noise "
            "is sized by the clip norm; choose a reading with clipped=change"
        )
    if not h.sigma > 0:
        raise PrivacyError("privacy: sigma is 0, and without noise no epsilon holds; choose sigma > 0")
    plan = plan.plan if isinstance(plan, Rated) else plan
    if type(plan) is not Cohorts:
        raise PrivacyError(
            f"privacy: the participants are those of {type(plan).__name__}, of which no sampling is known; take cohorts"
        )
    if fed.network.running and fed.statistics != Reading.KEPT:
        raise PrivacyError(
            f"privacy: the server takes running statistics ({fed.statistics}), which nothing clips or hides; choose "
            "statistics='kept'"
        )
    clients = len(fed)
    cohort, rounds = clients if plan.size is None else plan.size, max(run.rounds, len(run.history))
    delta, sigma = clients**-1.1 if delta is None else delta, float(h.sigma)
    return Privacy(epsilon(rounds, clients, cohort, sigma, delta), delta, rounds, clients, cohort, sigma)


def epsilon(rounds: int, clients: int, cohort: int, sigma: float, delta: float) -> float:
    """Return epsilon for replacing one client, of a noisy sum over a cohort without replacement in each round.

    Args:
        rounds: number of rounds.
        clients: number of clients.
        cohort: number of participants of a round.
        sigma: standard deviation of the noise of the sum, over the clip norm.
        delta: delta of the guarantee (epsilon, delta).

    Raises:
        PlanError: a number of rounds or clients isn't a whole number of at least 1.
        ParameterError: ``cohort`` exceeds ``clients``, or ``sigma`` or ``delta`` is outside its domain.
        FedspecError: ``dp-accounting`` isn't installed.
    """
    for name, number in (("rounds", rounds), ("clients", clients), ("cohort", cohort)):
        check_whole(name, number, "an epsilon is of at least 1")
    if cohort > clients:
        raise ParameterError(f"cohort: got {cohort} of {clients} clients; give at most {clients}")
    if not (sigma > 0 and isfinite(sigma)):
        raise ParameterError(f"sigma: got {sigma!r}; give a number above 0")
    if not 0 < delta < 1:
        raise ParameterError(f"delta: got {delta!r}; give a number between 0 and 1")
    try:
        from dp_accounting import GaussianDpEvent, NeighboringRelation, SampledWithoutReplacementDpEvent, rdp
    except ImportError as error:
        raise FedspecError(f"privacy: it needs dp-accounting; {to_install('privacy', 'fedspec-torch')}") from error
    found = []
    # A draw of the cohort never harms, but the bound on its divergence may exceed that without a draw.
    for size in {cohort, clients}:
        accountant = rdp.RdpAccountant(neighboring_relation=NeighboringRelation.REPLACE_ONE)
        # The sums of two cohorts that differ in one client's change differ by up to twice the clip norm.
        accountant.compose(SampledWithoutReplacementDpEvent(clients, size, GaussianDpEvent(sigma / 2)), rounds)
        found.append(float(accountant.get_epsilon(delta)))
    return min(found)
