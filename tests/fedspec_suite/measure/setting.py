"""What an offer is judged on: its algorithm and level, every option resolved, and what the subject pins down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fedspec.catalogue import Algorithm, find
from fedspec.contract import Level, Offer
from fedspec.domains import require
from fedspec.errors import ContractError, UnknownNameError
from fedspec.readings import Solver

SOLVER_NUMBERS: dict[Solver, tuple[str, ...]] = {
    Solver.SGD: (),
    Solver.PROXIMAL: ("mu",),
    Solver.DECAYED: ("gamma",),
    Solver.MOMENTUM: ("rho",),
    Solver.NESTEROV: ("rho",),
    Solver.DAMPENED: ("rho",),
    Solver.MOMENTUM_PROXIMAL_OUTSIDE: ("rho", "mu"),
    Solver.MOMENTUM_PROXIMAL_INSIDE: ("rho", "mu"),
}
"""The hyper-parameters that each of FedNova's local solvers has."""


@dataclass(frozen=True)
class Setting:
    """What cases are drawn for: an algorithm at a level under resolved options, and what the subject pins down."""

    algorithm: Algorithm
    level: Level
    reading: str
    options: Mapping[str, str]
    dtype: str = "float64"
    fixed: Mapping[str, float] = field(default_factory=dict)
    nonzero: tuple[str, ...] = ()
    one_block: bool = False
    v0_is_tau_squared: bool = False
    steps_only: bool = False
    """Whether every message's ||a_i||_1 is its number of steps: the subject declares plain SGD clients."""

    @property
    def numbers(self) -> tuple[str, ...]:
        """The hyper-parameters that play a part in this setting."""
        played = self.algorithm.played(self.options)
        names = tuple(n for n in self.algorithm.numbers_at(self.level) if n in played)
        if "solver" in self.options and self.level != "server":
            solver = Solver(self.options["solver"])
            names = tuple(n for n in names if n not in {"mu", "rho", "gamma"} or n in SOLVER_NUMBERS[solver])
        if any(self.options.get(n, "fixed") != "fixed" for n in ("tau_eff_choice", "sampled_steps")):
            names = tuple(n for n in names if n != "tau_eff")
        if self.options.get("zero") == "zero-over-zero":
            names = tuple(n for n in names if n != "eps")
        if self.options.get("phi", "clip") != "clip":
            names = tuple(n for n in names if n not in {"phi_m", "phi_M"})
        if "staleness" in self.options:
            mine = {"polynomial": {"twice_a"}, "hinge": {"hinge_a", "hinge_b"}}.get(self.options["staleness"], set())
            names = tuple(n for n in names if n not in {"twice_a", "hinge_a", "hinge_b"} - mine)
        return names

    @property
    def solver(self) -> Solver:
        """The local solver of a method: what its options say, else proximal steps where it has mu, else plain ones."""
        if "solver" in self.options:
            return Solver(self.options["solver"])
        return Solver.PROXIMAL if "mu" in self.numbers else Solver.SGD

    @property
    def takes(self) -> tuple[str, ...]:
        """What else the cases of a program carry."""
        takes = self.algorithm.takes
        if self.options.get("sampled_weights", "with-replacement") != "with-replacement":
            takes = tuple(t for t in takes if t != "repeats")
        return takes


def check_offer(offer: Offer, algorithm: Algorithm) -> None:
    """Refuse an offer that names what its algorithm does not have, or values that are none.

    Raises:
        FedspecError: a name is unknown to the algorithm, no type is named, or a fixed value is outside its domain.
    """
    for what, names, known in (
        ("fixed", offer.fixed, algorithm.numbers),
        ("nonzero", offer.nonzero, (*algorithm.numbers, "weight")),
        ("intermediates", offer.intermediates, algorithm.shows),
        ("dtypes", offer.dtypes, ("float64", "float32")),
        ("blocks", (offer.blocks,), ("any", "one")),
    ):
        for name in names:
            if name not in known:
                raise UnknownNameError(
                    f"{what}: the offer of {algorithm.id} says {name!r}; known: {', '.join(known) or 'none'}"
                )
    if not offer.dtypes:
        raise ContractError(f"dtypes: the offer of {algorithm.id} names none; name float64, float32 or both")
    for name, value in offer.fixed.items():
        require(name, value)


def setting_of(offer: Offer, dtype: str = "") -> Setting:
    """What an offer is judged on, all options resolved; in its first floating-point type unless told.

    Raises:
        UnknownNameError: algorithm, level, reading or option is not in the catalogue.
    """
    algorithm = find(offer.algorithm)
    if offer.level not in algorithm.levels:
        raise UnknownNameError(
            f"level: {offer.algorithm} cannot be judged at level {offer.level!r}; known: {', '.join(algorithm.levels)}"
        )
    check_offer(offer, algorithm)
    options = dict(offer.options)
    tied = options.pop("v0", "") == "tau-squared"
    return Setting(
        algorithm=algorithm,
        level=offer.level,
        reading=offer.reading,
        options=algorithm.resolve(offer.reading, options),
        dtype=dtype or offer.dtypes[0],
        fixed=dict(offer.fixed),
        nonzero=offer.nonzero,
        one_block=offer.blocks == "one",
        v0_is_tau_squared=tied,
        steps_only=options.get("solver") == Solver.SGD or "solver" not in algorithm.options,
    )
