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
        data: as ``fedspec simulate --data`` has it.
        model: None: the usual one of the data.
        clients: how many.
        alpha: Dirichlet's, where data are split by label.
        batch: examples of a minibatch.
        cohort: clients of a round; None: all.
        steps: local steps: a number; two, drawn between once for each client; or drawn from a normal distribution.
        epochs: passes over a client's examples instead; two: a whole number of them drawn once for each client.
        redraw: whether what is drawn is drawn anew in every round.
        graph: of gossip.
        delay: the largest of late updates.
        way: how gradients are computed; it is fixed, so that numbers do not depend on what is measured to be fast.
        clip: the largest length of a gradient; None: it is as long as it is.
        absent: how many clients never come, the last ones; of late updates.
        eager: how many times as often as another half a half of those who come does, the first ones; likewise.
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
        name: how the recipe calls it.
        algorithm: its id in the catalogue.
        reading: None: the canonical one.
        set: hyper-parameters and options that were not sought.
        tuned: those that were, as the grid was won.
        grid: what was tried of each tuned one.
        setting: where it takes place; the recipe's own, unless it says otherwise.
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
        rounds: of each run.
        seeds: how many, from 0 on.
        expected: the sentence that is known to come out; empty: none is.
        setting: what is otherwise than in the recipe.
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
        relation: ``times``: of is at most bound times than; ``above``: of - than is at least bound; ``within``:
            |of - than| is at most bound; ``falls``: the measure falls from each of ``along`` to the next.
        of: the trial it is about.
        than: the trial that it is compared with.
        along: trials in a row.
        bound: the number of the relation.
        because: why this number.
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
        id: the name of its file.
        paper: as ``fedspec papers`` calls it.
        place: where the claim stands in it.
        claim: in our words.
        setting: where the trials take place.
        trials: what is run.
        checks: what must come out.
        sizes: how much is run, by name: small and large.
        fall: of the client rate; None: it is constant.
        last: over how many of the last evaluations a measure is the mean.
        target: what accuracy ``rounds`` counts up to.
        tuning: the measure that grids are won by.
        remarks: what is ours, and what is otherwise than in the paper.
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
