"""Records of a recipe: what to run, and the result that a paper claims."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Normal:
    """Distribution of the number of local steps: normal, rounded, and clipped to [least, greatest]."""

    mean: float
    deviation: float
    least: int
    greatest: int


@dataclass(frozen=True)
class Setting:
    """Setting of a run: data, model, clients and local work.

    Attributes:
        data: data set, in the notation of ``fedspec simulate --data``.
        model: name of the model; None: the data set's default model.
        clients: number of clients.
        alpha: alpha of the Dirichlet split by label.
        batch: number of examples in a minibatch.
        cohort: number of clients in a round; None: all.
        steps: local steps: a number; a pair (least, greatest), drawn once for each client; or drawn from a normal
            distribution.
        epochs: passes over a client's examples, in place of ``steps``; a pair: a whole number between the two, drawn
            once for each client.
        redraw: True if numbers of local steps are drawn again in every round.
        graph: the graph of gossip, such as ``ring``.
        delay: the largest delay of late updates, in model versions.
        way: the gradient method; it is fixed, so that results don't depend on timings.
        clip: the largest norm of a gradient; None: no clipping.
        absent: number of clients that never send an update (the last ones by number), for late updates.
        eager: factor by which the first half of the active clients sends more often than the second half, for late
            updates.
    """

    data: str
    clients: int
    model: str | None = None
    alpha: float = 0.3
    batch: int = 16
    cohort: int | None = None
    steps: int | tuple[int, int] | Normal | None = None
    epochs: float | tuple[int, int] | None = None
    redraw: bool = False
    graph: str = "ring"
    delay: int = 0
    way: str = "compiled"
    clip: float | None = None
    absent: int = 0
    eager: float = 1.0


@dataclass(frozen=True)
class Trial:
    """Algorithm with its hyper-parameters, under a name that the checks use.

    Attributes:
        name: the name of the trial in the recipe.
        algorithm: its id in the catalogue.
        reading: None: the canonical one.
        set: fixed hyper-parameters and options.
        tuned: hyper-parameters that the grid search chose.
        grid: the values that the grid search tries, by hyper-parameter.
        setting: setting of the trial; the recipe's setting by default.
    """

    name: str
    algorithm: str
    setting: Setting
    reading: str | None = None
    set: Mapping[str, Any] = field(default_factory=dict)
    tuned: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Fall:
    """Schedule that divides the client rate by a factor after these shares of the rounds."""

    factor: float
    after: tuple[float, ...]

    def at(self, rounds: int) -> list[int]:
        """Return the rounds at which the rate falls, in a run of ``rounds`` rounds."""
        return [round(share * rounds) for share in self.after]


@dataclass(frozen=True)
class Size:
    """Size of the runs of a recipe.

    Attributes:
        rounds: number of rounds of each run.
        seeds: number of seeds, which count from 0.
        expected: the known outcome, a sentence; empty: none is known.
        setting: changes of the recipe's setting for this size.
    """

    rounds: int
    seeds: int
    expected: str = ""
    setting: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Check:
    """Expected relation between the measures of two trials, or of several in a row.

    Attributes:
        measure: a name of ``MEASURES``.
        relation: ``times``: the measure of ``of`` is at most ``bound`` times the measure of ``than``; ``above``: it is
            larger by at least ``bound``; ``within``: the two differ by at most ``bound``; ``falls``: the measure
            decreases from each trial of ``along`` to the next.
        of: the trial that is checked.
        than: the trial with which ``of`` is compared.
        along: the trials in order, for ``falls``.
        bound: the number in the relation.
        because: reason for this number.
    """

    measure: str
    relation: str
    of: str = ""
    than: str = ""
    along: tuple[str, ...] = ()
    bound: float = 0.0
    because: str = ""


@dataclass(frozen=True)
class Recipe:
    """Claim of a paper, and the runs and checks that test it.

    Attributes:
        id: the name of the recipe's file, without suffix.
        paper: key of the paper, as in ``fedspec papers``.
        place: place of the claim in the paper.
        claim: the claim in our words.
        setting: setting of the trials, unless a trial has another.
        trials: the algorithms to run, with hyper-parameters.
        checks: the expected relations between the results.
        sizes: the number of rounds and seeds, by name: small and large.
        fall: schedule of the client learning rate; None: it is constant.
        last: number of last evaluations over which a measure is averaged.
        target: accuracy that a run must reach, for the measure ``rounds``.
        tuning: the measure by which grid searches choose.
        remarks: differences between this experiment and the paper's.
    """

    id: str
    paper: str
    place: str
    claim: str
    setting: Setting
    trials: tuple[Trial, ...]
    checks: tuple[Check, ...]
    sizes: Mapping[str, Size]
    fall: Fall | None = None
    last: int = 1
    target: float = 0.0
    tuning: str = "accuracy"
    remarks: tuple[str, ...] = ()

    def trial(self, name: str) -> Trial:
        """Return the trial of that name."""
        return next(t for t in self.trials if t.name == name)
