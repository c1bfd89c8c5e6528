"""Early stopping by a callback that sees every round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fedspec.errors import PlanError
from fedspec_torch.run.metrics import Told


class Stop(Exception):
    """Signal, raised by an ``on_round`` function, that the run ends after the current round; it isn't an error.

    ``for r in run`` ends after that round, and continues with the next one if it is started again. ``run.step()``
    raises the signal after the round is done. In :func:`fedspec_torch.tune` the combination then has no score.
    """


def notify(told: Sequence[Told], run: Any, done: Any) -> Stop | None:
    """Call all callbacks for a finished round; return the first ``Stop`` that one raised, or None.

    Raises:
        PlanError: a callback raises StopIteration, which would end the innermost loop instead of the run.
    """
    stop: Stop | None = None
    for one in told:
        try:
            one(run, done)
        except Stop as asked:
            stop = stop or asked
        except StopIteration as error:
            raise PlanError(
                f"on_round: a callback raised StopIteration after round {done.round}; raise fedspec_torch.Stop to end "
                "a run, or give next() a default"
            ) from error
    return stop
