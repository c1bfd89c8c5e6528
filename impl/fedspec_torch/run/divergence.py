"""Errors for a run whose numbers are no longer finite."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from fedspec.errors import FedspecError

DIVERGED = "the model has diverged (a smaller eta_l or eta may help)"
"""Message for numbers that stop being finite after some steps."""


class DivergedError(FedspecError):
    """Error: a loss or the model isn't finite; the message says in which round, and a remedy."""


def check_losses(losses: Mapping[int, float], round: int, unclean: Callable[[], str] = str) -> None:
    """Raise an error if a client's first loss in a round isn't finite.

    Args:
        losses: losses of some clients.
        round: the number of the round.
        unclean: function that returns the clients whose examples have a non-finite entry.

    Raises:
        DivergedError: a loss isn't finite; the message has the clients' numbers, and remedies.
    """
    wrong = [i for i, loss in losses.items() if not math.isfinite(loss)]
    if not wrong:
        return
    named = ", ".join(map(str, wrong[:5])) + (", ..." if len(wrong) > 5 else "")
    who = "every client" if len(wrong) == len(losses) else f"client{'s' * (len(wrong) > 1)} {named}"
    begun = "" if round else "no step was taken before: "
    raise DivergedError(
        f"round {round}: the loss is {losses[wrong[0]]} for {who}; {begun}{explain_non_finite(unclean(), round)}"
    )


def explain_non_finite(unclean: str, round: int = 1) -> str:
    """Return the likely cause of numbers that aren't finite, with a remedy."""
    if unclean:
        return f"examples of {unclean} are not finite: leave them out, or fill them"
    return DIVERGED if round else "look for numbers that are not finite in the data, the model or the loss itself"
