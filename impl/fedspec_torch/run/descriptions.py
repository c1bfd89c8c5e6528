"""Short descriptions of a run: participation, local work, minibatches, rates by round."""

from __future__ import annotations

from typing import Any

from fedspec_torch.run.local_work import Epochs, ForClients, Redrawn
from fedspec_torch.run.rates import Numbers, Rated
from fedspec_torch.run.schedules import Arrivals, Cohorts, Exchanges


def told_of(run: Any) -> dict[str, str]:
    """Describe a run's participation, local work and gradient options, by name."""
    fed, plan = run.federation, run.plan.plan if isinstance(run.plan, Rated) else run.plan
    who, steps = _plan(plan)
    return {
        "clients": f"{len(fed)}",
        "in a round": who,
        "local steps": steps,
        "batch": "all examples" if fed.batch_size is None else f"{fed.batch_size}",
        "gradients clipped to": _clips(fed.clip, fed.clip_value),
        "weight decay": f"{fed.weight_decay:g}" if fed.weight_decay else "none",
        "minibatches of a gradient": "none" if fed.accumulate == 1 else f"{fed.accumulate}",
    }


def rates_of(run: Any) -> dict[str, str]:
    """Describe the hyper-parameters that change from round to round."""
    return {n.name: _rate(n, run.rounds) for n in run.plan.rates} if isinstance(run.plan, Rated) else {}


def _clips(norm: float | None, value: float | None) -> str:
    return f"{norm:g}" if norm is not None else "none" if value is None else f"[-{value:g}, {value:g}] entry by entry"


def _plan(plan: Any) -> tuple[str, str]:
    match plan:
        case Cohorts(size=size, steps=steps):
            return "all" if size is None else f"{size}", _steps(steps)
        case Exchanges(graph=graph, clusters=clusters, steps=steps):
            return f"all along a {graph}" + (f" in {clusters} clusters" if clusters > 1 else ""), _steps(steps)
        case Arrivals(largest_delay=late, steps=steps):
            return f"who arrives, at most {late} versions late", _steps(steps)
    return type(plan).__name__, ""


def _steps(steps: Any) -> str:
    match steps:
        case (low, high):
            return f"{low} to {high}, drawn once for each client"
        case Redrawn(low, high):
            return f"{low} to {high}, drawn in each round"
        case Epochs(passes=tuple() as each):
            return f"those of {min(each):g} to {max(each):g} epochs, a number for each client"
        case Epochs(passes=passes):
            return f"those of {passes:g} epoch{'s' * (passes != 1)}"
        case ForClients(steps=each):
            return f"{min(each)} to {max(each)}, a number for each client"
    return f"{steps}"


def _rate(numbers: Numbers, rounds: int) -> str:
    if by := getattr(numbers.at, "words", ""):
        return str(by)
    first, last = numbers.of(0), numbers.of(rounds - 1)
    return f"by round{' and client' * numbers.each}, {first:.3g} at first and {last:.3g} at last"
