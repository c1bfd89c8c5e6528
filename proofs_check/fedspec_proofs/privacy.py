"""Differential privacy of noisy averaging with randomly sampled clients, over several rounds, by Rényi accounting.

The accountant is Google's ``dp-accounting`` (the extra ``privacy``). Each round is a Gaussian mechanism on a Poisson
sample of the clients; its Rényi divergences add up over the rounds, and the best order gives epsilon.

Source: FedAda2, L206 and App. H.1 (L1639), which state (13.1, 0.0025) at order 2 for sigma = 1, a rate of 0.1 and 500
rounds; external: Mironov, Talwar and Zhang (2019), and Canonne, Kamath and Steinke (2020) for the conversion.
"""

from __future__ import annotations

from fedspec.domains import require
from fedspec.errors import FedspecError, ParameterError, to_install

ORDERS = (*range(2, 65), 128, 256, 512, 1024)
"""Rényi orders to try. Orders between 1 and 2 are left out, since the accountant's series may diverge there; fewer
orders can only make epsilon larger, never invalid.
"""


def budget(sigma: float, rate: float, rounds: int, delta: float) -> tuple[float, float]:
    """Return the epsilon of the privacy guarantee (epsilon, delta), and the Rényi order that attains it.

    Args:
        sigma: noise multiplier, the standard deviation of the noise over the clip norm.
        rate: the probability that a client takes part in a round.
        rounds: number of rounds.
        delta: delta of the guarantee (epsilon, delta).

    Raises:
        ParameterError: an argument is outside its domain.
        FedspecError: ``dp-accounting`` is not installed.
    """
    require("sigma", sigma)
    if not sigma > 0:
        raise ParameterError(f"sigma: got {sigma}; without noise there is no budget, choose sigma > 0")
    if not 0 < rate <= 1:
        raise ParameterError(f"rate: got {rate}; it is the probability of taking part in a round, in (0, 1]")
    if rounds != int(rounds) or rounds < 1:
        raise ParameterError(f"rounds: got {rounds}; it is a whole number >= 1")
    if not 0 < delta < 1:
        raise ParameterError(f"delta: got {delta}; it is a probability, in (0, 1)")
    try:
        from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent, rdp
    except ImportError as error:
        raise FedspecError(f"budget: it needs dp-accounting; {to_install('privacy', 'fedspec-proofs')}") from error
    accountant = rdp.RdpAccountant(ORDERS)
    accountant.compose(PoissonSampledDpEvent(rate, GaussianDpEvent(sigma)), int(rounds))
    epsilon, order = accountant.get_epsilon_and_optimal_order(delta)
    return float(epsilon), float(order)
