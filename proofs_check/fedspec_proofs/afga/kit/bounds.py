"""Both sides of the paper's inequalities about one round, with the disputed constants as arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

from fedspec_proofs.afga.kit import rounds
from fedspec_proofs.afga.kit.network import Network
from fedspec_proofs.afga.kit.networks import BREAKING, HOLDS, network, some
from fedspec_proofs.claim import Dropped, Finding
from fedspec_proofs.engines import Inequality, Sides, combine, searched
from fedspec_proofs.words import as_text

F = Fraction

TRIES, DROP = 360, 80
"""Numbers of random networks: in a search, and in a search with an assumption dropped."""

C_1 = 72
"""Value used for the universal constant of Lemmas F.3 and F.4."""


def printed_growth(steps: Any) -> Any:
    """C_I as printed: 1 + 3/2 / (4I - 1)."""
    return 1 + F(3, 2) / (4 * steps - 1)


def growth(steps: Any) -> Any:
    """C_I as the paper's proof yields it for eta_l <= 1/(8IL)."""
    return 1 + F(1) / (4 * steps - 1) + F(1) / (4 * steps)


def drift_as_printed(net: Network) -> Iterable[Sides]:
    """Both sides of eq. (38) at each local step."""
    states = rounds.path(net)
    rest = 8 * net.I * net.eta_l**2 * net.heterogeneous + net.eta_l**2 * net.sigma2 / net.n
    for before, after in pairwise(states):
        yield rounds.drift(net, after), printed_growth(net.I) * rounds.drift(net, before) + rest


def drift_terms(v: Any, C_I: Any, away: Any, inner: Any) -> dict[str, Any]:
    """Terms of the right side of eq. (41), from drift (``away``) and consensus error (``inner``) before the step."""
    e2 = v.eta_l**2
    return {
        "drift": C_I * away,
        "consensus error": 16 * v.I * e2 * v.L**2 * inner,
        "gradients": 16 * v.I * e2 * v.heterogeneous,
        "noise": e2 * v.sigma2 / v.n,
        "sampling": v.fac * 16 * v.I * e2 * v.sbar2,
    }


def drift_of(net: Network, C_I: Any) -> Iterable[Sides]:
    """Both sides of eq. (41) at each local step, with the given C_I."""
    for before, after in pairwise(rounds.path(net)):
        yield rounds.drift(net, after), drift_terms(net, C_I, rounds.drift(net, before), rounds.consensus(net, before))


def zetas(net: Network) -> list[Any]:
    """Values of zeta at which Lemma F.2 is checked: the values of the two cases of Lemma F.3's proof, and 1."""
    case = net.rho_max / (1 - net.rho_max) if 0 < net.rho_max < 1 else F(1, 2)
    return [case, F(4 * net.I - 1), F(1)]


def consensus_terms(v: Any, keep: Any, rho_L: Any, own: Any, inner: Any, away: Any) -> dict[str, Any]:
    """Terms of the right side of eq. (42), averaged over clusters: keep is rho_max^2 (1 + 1/zeta), own the mean of
    rho_k^2 (1 + zeta) sigma_k^2.
    """
    e2 = v.eta_l**2
    return {
        "consensus error, kept": keep * inner,
        "consensus error, by gradients": 4 * v.L**2 * e2 * rho_L * inner,
        "drift": e2 * rho_L * 4 * v.L**2 * away,
        "gradients": e2 * 4 * rho_L * v.heterogeneous,
        "dissimilarity": e2 * 4 * own,
        "noise": e2 * v.sigma2 * v.rho_max**2,
    }


def consensus_of(net: Network) -> Iterable[Sides]:
    """Both sides of eq. (42) at each local step, for several zeta."""
    for zeta in zetas(net):
        keep, rho_L = net.rho_max**2 * (1 + 1 / F(zeta)), net.rho_max**2 * (1 + zeta)
        own = sum(r**2 * (1 + zeta) * s for r, s in zip(net.rho, net.sigma2_k, strict=True)) / F(net.K)
        for before, after in pairwise(rounds.path(net)):
            inner, away = rounds.consensus(net, before), rounds.drift(net, before)
            yield rounds.consensus(net, after), consensus_terms(net, keep, rho_L, own, inner, away)


def error_factors(I: Any, rho2: Any, H: Any) -> dict[str, Any]:
    """Coefficients of gradients, dissimilarities and noise in eq. (47), divided by (t + 1) C_1 eta_l^2."""
    tail = 1 + H**2 * rho2 / I**2
    return {
        "gradients": I + rho2 * H,
        "dissimilarity": rho2 * H,
        "noise": rho2,
        "noise of the mean": tail,
        "sampling": tail,
    }


def consensus_factors(I: Any, rho2: Any, H: Any) -> dict[str, Any]:
    """Coefficients in eq. (69), divided by (t + 1) C_1 eta_l^2, as :func:`error_factors`."""
    share = H**2 * rho2 / I**2
    return {
        "gradients": rho2 * H,
        "dissimilarity": rho2 * H,
        "noise": rho2,
        "noise of the mean": share,
        "sampling": share,
    }


def sources(v: Any) -> dict[str, Any]:
    """Quantities that the coefficients multiply, apart from gradients; sbar2 is the mean of the sigma_k^2."""
    return {
        "dissimilarity": v.sbar2,
        "noise": v.sigma2,
        "noise of the mean": v.sigma2 / v.n,
        "sampling": v.fac * v.I * v.sbar2,
    }


def change_as_printed(net: Network) -> Iterable[Sides]:
    """Both sides of eq. (73) as printed."""
    states, e2, share = rounds.path(net), net.eta_l**2, F(net.n - net.m, net.m * max(net.n - 1, 1))
    right = 2 * e2 * net.I * net.sigma2 / net.N
    right += 2 * e2 * (net.I - 1) * sum(rounds.slopes_at_models(net, s) for s in states[:-1])
    right += 4 * e2 * rounds.slopes_at_means(net, states[-2])
    right += 8 * (share + e2 * net.L**2) * rounds.consensus(net, states[-2])
    right += 2 * e2 * net.sigma2 / net.N * F(net.n - net.m, net.m) * net.rho_max**2
    yield rounds.change_squared(net, states[-1]), right


def change_terms(v: Any, inner: Any, at_models: Any) -> dict[str, Any]:
    """Terms of the bound of E|Deltabar_r|^2, from consensus errors and squared slopes, both summed over t < I."""
    e2, N = v.eta_l**2, v.K * v.n
    return {
        "noise": 2 * e2 * v.I * v.K * v.m * v.sigma2 / N**2,
        "dissimilarity": 4 * e2 * v.I * v.fac * v.sbar2 / N,
        "consensus errors": 4 * e2 * v.L**2 * v.fac / N * inner,
        "slopes": 2 * e2 * v.m**2 / v.n**2 * v.I * at_models,
    }


def change_by_drawing(v: Any, inner: Any) -> Any:
    """Part of E|Delta_r|^2 due to sampling the senders: (n-m)/(Km(n-1)) times the consensus error at I."""
    return v.fac * v.n / v.m**2 / v.K * inner


def change_tight(net: Network) -> Iterable[Sides]:
    """Both sides of the corrected eq. (73): exact variance of sampling senders, plus a bound of the mean change."""
    *states, last = rounds.path(net)
    by_drawing = F(net.n - net.m, net.K * net.m * max(net.n - 1, 1)) * rounds.consensus(net, last)
    sums = (sum(f(net, s) for s in states) for f in (rounds.consensus, rounds.slopes_at_models))
    right = change_terms(net, *sums)
    yield rounds.change_squared(net, last), {**right, "senders": by_drawing}
    yield rounds.mean_change_squared(net, last), {f"mean: {name}": term for name, term in right.items()}


def one_round(sides: Callable[[Network], Iterable[Sides]], *names: str) -> Finding:
    """Search for a violation of an inequality about one round; all such inequalities use the same random networks.

    An assumption that the search does not show to matter is broken by hand where :data:`BREAKING` has a network for it.

    Args:
        sides: function that returns both sides of the inequality at a network.
        names: names of the assumptions.
    """
    found = searched(Inequality(network, some(HOLDS, *names), sides), TRIES, drop=DROP)
    hand = by_hand(sides, *names)
    return replace(found, dropped={name: hand[name] if hand[name].matters else d for name, d in found.dropped.items()})


def by_hand(sides: Callable[[Network], Iterable[Sides]], *names: str) -> dict[str, Dropped]:
    """Check the inequality on the networks of :data:`BREAKING`, each of which violates one assumption only."""
    inequality = Inequality(network, some(HOLDS, *names), sides)
    dropped = dict.fromkeys(names, Dropped(False, "none of the networks that break it alone is a counterexample"))
    for name, net in BREAKING:
        if name in dropped and (shown := combine.by_hand(inequality, name, f"by hand: {as_text(net)}", net)).matters:
            dropped[name] = shown
    return dropped
