"""Setting of an offer: its algorithm and level, every option resolved, and the values that the subject fixes."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from fedspec import buffers
from fedspec.averaging import OF_WEIGHTS, delivery
from fedspec.catalogue import CATALOGUE, Algorithm, Method, find, id_of
from fedspec.chain import accumulates, chain
from fedspec.contract import BESIDE, Level, Offer, SubjectInfo
from fedspec.domains import require
from fedspec.errors import ContractError, UnknownNameError
from fedspec.facts import Fact
from fedspec.faults import check_faults
from fedspec.given import VARYING
from fedspec.parts import check_words
from fedspec.readings import Solver, Weighting
from fedspec.schedules import Every, schedule_of
from fedspec.steps import steps_of


@dataclass(frozen=True)
class Reach:
    """Largest sizes of the large cases.

    Attributes:
        coordinates: coordinates of the model; at levels with problems, where each client has d x d numbers, a thirtieth
            of it.
        rounds: rounds, arrivals, or local steps of one client.
        clients: in a round.
        steps: local steps of a client in a round.
        delay: versions that an update may be late.
    """

    coordinates: int = 1000
    rounds: int = 50
    clients: int = 50
    steps: int = 20
    delay: int = 20


USUAL_REACH = Reach()
"""Default sizes of the large cases."""

RATES_AT: dict[str, tuple[Level, ...]] = {"rounds": ("server", "round", "trace"), "clients": ("round",)}
"""Levels at which events may set new rates, by the value of the offer's ``rates``."""

TAU_SQUARED = "tau-squared"
"""Value of the option v0 that an offer may declare, beside the options of a row that has both v0 and tau."""


@dataclass(frozen=True, eq=False)
class Setting:
    """Description of the cases to draw: an algorithm at a level, its resolved options, the values the subject fixes.

    Two settings are the same only if they are one object: what is known of one is remembered for it.
    """

    algorithm: Algorithm
    level: Level
    reading: str
    options: Mapping[str, str]
    dtype: str = "float64"
    fixed: Mapping[str, float] = field(default_factory=dict)
    nonzero: tuple[str, ...] = ()
    one_block: bool = False
    matrices: bool = False
    everyone: bool = False
    """True if the subject declares that all clients take part in every round."""
    v0_is_tau_squared: bool = False
    steps_only: bool = False
    """True if ||a_i||_1 is the number of steps in every message: the claim says that clients take plain SGD steps."""
    reach: Reach = USUAL_REACH
    variant: str = ""
    each_rate: bool = False
    """True if the subject declares that its user sets the rate of every local step."""
    buffers: Mapping[str, str] = field(default_factory=dict)
    """Readings of statistics and counters, if the subject declares that its models carry buffers."""
    resumes: bool = False
    """True if the subject declares that its sessions can be saved and restored."""
    faults: Mapping[str, str] = field(default_factory=dict)
    """Treatments of faulty messages, by kind of fault, if the subject declares them."""
    schedules: Mapping[str, str] = field(default_factory=dict)
    """Schedules that the implementation computes itself, by hyper-parameter."""
    gradients: tuple[str, ...] = ()
    """Chain of transformations that each gradient of a client goes through before its step."""
    messages: tuple[str, ...] = ()
    """Chain of transformations that each client's change goes through before the average."""
    parts: Mapping[str, str] = field(default_factory=dict)
    """Words of blocks that aren't trained or averaged like the others."""
    steps: tuple[str, ...] = ()
    """Changes of a client's model before and after each step."""
    varies: str = ""
    """``rounds`` if the subject declares that its user sets new rates per round, ``clients`` if per client."""

    def __post_init__(self) -> None:
        """Set ``matrices`` if the algorithm takes matrices only, whatever the subject accepts."""
        if self.algorithm.has(Fact.MATRICES):
            object.__setattr__(self, "matrices", True)

    @property
    def micro(self) -> int:
        """Number of micro-batches of each gradient; 0: a gradient comes whole."""
        first = self.gradients[0] if self.gradients else ""
        return int(float(first.split()[1])) if accumulates(first) else 0

    @property
    def longer(self) -> int:
        """Steps more that a client's rounds have: two periods of lookahead."""
        return 2 * steps_of(self.steps).k

    @property
    def numbers(self) -> tuple[str, ...]:
        """Hyper-parameters that the algorithm uses at this level under these options."""
        return self.algorithm.numbers_under(self.level, self.options)

    @property
    def solver(self) -> Solver:
        """Local solver: the one in the options, else proximal steps if the algorithm has mu, else plain SGD."""
        if "solver" in self.options:
            return Solver(self.options["solver"])
        return Solver.PROXIMAL if "mu" in self.numbers else Solver.SGD

    @property
    def takes(self) -> tuple[str, ...]:
        """Further inputs that the cases of a program carry, for example noise or draws."""
        takes = self.algorithm.takes
        if self.options.get("sampled_weights", "with-replacement") != "with-replacement":
            takes = tuple(t for t in takes if t != "repeats")
        if self.everyone:
            takes = (*(t for t in takes if t not in {"repeats", "everyone"}), "everyone")
        return takes

    @property
    def crowd(self) -> int:
        """Smallest number of clients of a round: 5 (n > 2 f + 2 with f = 1) if the server elects clients, else 1."""
        return 5 if self.algorithm.has(Fact.ELECTING) else 1

    @property
    def counts_all(self) -> bool:
        """True if a case states the number of all clients: at level server, if the rule counts all of them."""
        return self.level == "server" and self.algorithm.served is not None

    @property
    def controls(self) -> bool:
        """True if messages carry changes of control variates."""
        served = self.algorithm.served
        return self.level == "server" and served is not None and served.controls

    @property
    def losses(self) -> bool:
        """True if the server reads clients' losses: messages carry them, and objectives have a constant."""
        return self.algorithm.losses

    def tied(self, hyper: Mapping[str, Any]) -> dict[str, Any]:
        """Return the hyper-parameters with v0 set to tau^2, if the offer declares that."""
        return {**hyper, "v0": hyper["tau"] ** 2} if self.v0_is_tau_squared else dict(hyper)

    @property
    def unlimited(self) -> Setting:
        """Setting without the subject's limits on models and participants."""
        return replace(self, one_block=False, matrices=False, everyone=False)


def check_offer(offer: Offer, algorithm: Algorithm) -> None:
    """Raise if an offer names something that its algorithm doesn't have, or an invalid value.

    Raises:
        FedspecError: a name is unknown to the algorithm, no type is named, or a fixed value is outside its domain.
    """
    for what, names, known in (
        ("fixed", offer.fixed, algorithm.numbers),
        ("nonzero", offer.nonzero, (*algorithm.numbers, "weight")),
        ("intermediates", offer.intermediates, algorithm.shows_at(offer.level)),
        ("dtypes", offer.dtypes, ("float64", "float32")),
        ("blocks", (offer.blocks,), ("any", "one", "matrices")),
        ("participation", (offer.participation,), ("any", "all")),
        ("rates", (offer.rates,), ("one", "each", "rounds", "clients")),
    ):
        for name in names:
            if name not in known:
                raise UnknownNameError(
                    f"{what}: the claim of {algorithm.id} says {name!r}; known: {', '.join(known) or 'none'}"
                )
    if not offer.dtypes:
        raise ContractError(f"dtypes: the claim of {algorithm.id} names none; name float64, float32 or both")
    for name, value in offer.fixed.items():
        require(name, value)
    if not re.fullmatch(r"[\w.+-]*(?: [\w.+-]+)*", offer.variant):
        raise ContractError(
            f"variant: the claim of {algorithm.id} says {offer.variant!r}; use letters, digits, single spaces and "
            f". _ + -, so that --only VARIANT:ALGORITHM can name it"
        )
    if offer.participation == "all" and (offer.level == "client" or algorithm.event == "arrival"):
        raise ContractError(
            f"participation: the claim of {algorithm.id} says 'all' at level {offer.level}, where clients do not take "
            f"part in rounds; leave it out"
        )
    settable = offer.level == "client" and "eta_l" in algorithm.numbers
    if offer.rates == "each" and (not settable or "eta_l" in offer.fixed):
        why = "its rate is fixed" if settable else f"no event of level {offer.level} carries one for it"
        raise ContractError(f"rates: the claim of {algorithm.id} says 'each', but {why}; leave it out")
    if offer.rates in RATES_AT:
        anew = {*VARYING} & {*algorithm.numbers_at(offer.level)} - {*offer.fixed}
        there = RATES_AT[offer.rates]
        why = "none of its numbers varies" if offer.level in there else f"that is about level {' or '.join(there)}"
        if not anew or offer.level not in there:
            raise ContractError(
                f"rates: the claim of {algorithm.id} says {offer.rates!r} at level {offer.level}, but {why}; "
                f"leave it out"
            )
    if offer.buffers:
        check_buffers(offer)
    if offer.faults and offer.level != "server":
        raise ContractError(
            f"faults: the claim of {algorithm.id} declares some at level {offer.level}, and only a server is sent "
            f"messages; leave them out"
        )
    check_faults(offer.faults)
    check_schedules(offer, algorithm)
    chain(offer.gradients, f"gradients: the claim of {algorithm.id}")
    if offer.gradients and offer.level == "server":
        raise ContractError(
            f"gradients: the claim of {algorithm.id} is at level server, which sees no gradient; leave them out"
        )
    if any(map(accumulates, offer.gradients[offer.level == "client" :])):
        raise ContractError(
            f"gradients: the claim of {algorithm.id} at level {offer.level} says {', '.join(offer.gradients)}; micro-"
            f"batches are accumulated first, and only events of level client hold them: claim the local solver there"
        )
    delivery(offer.messages, f"messages: the claim of {algorithm.id}")
    if offer.messages and not (
        offer.level == "server" or (offer.level == "round" and isinstance(algorithm.run, Method))
    ):
        raise ContractError(
            f"messages: the claim of {algorithm.id} is at level {offer.level}, where no change of a client reaches a "
            f"server by itself; claim level server, or leave them out"
        )
    check_parts(offer, algorithm)
    check_steps(offer, algorithm)
    if offer.blocks == "matrices" and offer.level in {"round", "trace"} and "layers" not in algorithm.takes:
        raise ContractError(
            f"blocks: the claim of {algorithm.id} says 'matrices' at level {offer.level}, where its model is one "
            f"vector; leave it out and reshape the vector in the adapter"
        )


def check_average(offer: Offer, algorithm: Algorithm, weights: str) -> None:
    """Raise if an offer's messages change a weighted average that its algorithm doesn't take.

    Raises:
        ContractError: the algorithm has no option ``weights``, or numbers of examples are capped that don't count.
    """
    changed = [link for link in offer.messages if link.partition(" ")[0] in (*OF_WEIGHTS, "noise")]
    if changed and not weights:
        raise ContractError(
            f"messages: the claim of {algorithm.id} says {changed[0]!r}, which changes a weighted average of the "
            f"changes, and this algorithm has no option weights; leave it out"
        )
    if weights != Weighting.EXAMPLES and any(link.startswith("weight-cap") for link in changed):
        raise ContractError(
            f"messages: the claim of {algorithm.id} says 'weight-cap', which caps numbers of examples, and its clients "
            f"are weighted by {weights}; leave it out, or claim weights='examples'"
        )


def check_schedules(offer: Offer, algorithm: Algorithm) -> None:
    """Raise if an offer's schedule is invalid, or is for a hyper-parameter or unit that the level cannot schedule.

    Raises:
        ContractError: a schedule is none, or is not about this level.
    """
    settable = {*VARYING} & {*algorithm.numbers_at(offer.level)}
    if offer.level == "client":
        settable &= {"eta_l"}
    if algorithm.event == "arrival" and offer.level == "trace":
        # A round is a full buffer in one algorithm and an update in another.
        settable = set()
    for name, said in offer.schedules.items():
        where = f"schedules: the claim of {algorithm.id} at level {offer.level}"
        if name not in settable:
            known = ", ".join(sorted(settable)) or "none"
            raise ContractError(f"{where} names {name!r}; rates that can have a schedule there: {known}")
        every = schedule_of(said, f"{where}: {name}").every
        if offer.level != "client" and every is not Every.ROUND:
            raise ContractError(f"{where} says {said!r}, but only level client shows single steps; count every round")
    if offer.schedules and offer.rates != "one":
        raise ContractError(
            f"schedules: the claim of {algorithm.id} says rates={offer.rates!r} too; either the implementation makes "
            f"its schedule, or its user sets the rates"
        )


def check_parts(offer: Offer, algorithm: Algorithm) -> None:
    """Raise if an offer gives a block an unknown word, or one without meaning at its level or beside its other fields.

    Raises:
        ContractError: a word is unknown or has no meaning.
    """
    where = f"parts: the claim of {algorithm.id}"
    check_words(offer.parts, where)
    if not offer.parts:
        return
    if offer.level == "trace":
        raise ContractError(f"{where} is at level trace, whose models have no parts; claim another level")
    moved = [name for name, said in offer.parts.items() if said in ("local", "kept")]
    if moved and offer.level == "client":
        raise ContractError(
            f"{where} says {offer.parts[moved[0]]!r} of block {moved[0]} at level client, where nothing is sent; claim "
            f"level server or round, or leave it out"
        )
    if moved and offer.level == "round" and not isinstance(algorithm.run, Method):
        raise ContractError(
            f"{where} says {offer.parts[moved[0]]!r} of block {moved[0]} at level round, but its clients and server "
            f"keep more than a model; claim level server"
        )
    for name, said in (("buffers", offer.buffers), ("faults", offer.faults)):
        if said:
            raise ContractError(f"{where} has {name} too; make two claims, one with parts and one with {name}")
    if "kept" in offer.parts.values() and offer.messages:
        raise ContractError(
            f"{where} keeps a block and has messages too, whose norms may count the block or not; claim 'local', or "
            f"leave messages out"
        )
    if drawn := [link for link in offer.messages if link.startswith(("noise", "fixed-random"))]:
        raise ContractError(
            f"{where} has messages={drawn[0]!r} too, which has a draw for each coordinate of the whole model; make two "
            f"claims, one with parts and one with the draws"
        )
    if offer.blocks == "one":
        raise ContractError(f"{where} says blocks='one' too, and a part is a block among others; leave one of them out")


def check_steps(offer: Offer, algorithm: Algorithm) -> None:
    """Raise if an offer's changes of the model are invalid, or can't be made at its level.

    Raises:
        ContractError: one is invalid, or the loop of the row's clients doesn't take them.
    """
    where = f"steps: the claim of {algorithm.id}"
    steps = steps_of(offer.steps, where)
    chosen = {**algorithm.reading(offer.reading or algorithm.readings[0].name).fixes, **offer.options}
    if steps.k > USUAL_REACH.steps:
        raise ContractError(f"{where} says lookahead {steps.k}; cases reach {USUAL_REACH.steps} steps, so lower k")
    why = ""
    if offer.steps and offer.level != "client":
        if offer.level != "round" or not isinstance(algorithm.run, Method):
            why = "whose clients have a loop of their own" if offer.level == "round" else "which shows no step"
        elif chosen.get("solver") == Solver.MOMENTUM_PROXIMAL_OUTSIDE or chosen.get("norm") == "code":
            why = "whose solver pulls to its anchor beside its gradient, or whose norm counts steps of its own"
    if why:
        raise ContractError(
            f"{where} is at level {offer.level}, {why}; claim the local solver at level client, or leave them out"
        )


def check_buffers(offer: Offer) -> None:
    """Raise if an offer's readings of buffers are incomplete or unknown, or its level isn't ``server``.

    Raises:
        FedspecError: the level is not server, a kind has no reading, or one that does not exist.
    """
    if offer.level != "server":
        raise ContractError(
            f"buffers: the claim of {offer.algorithm} names readings at level {offer.level}, and only messages to a "
            f"server carry buffers; leave them out"
        )
    if set(offer.buffers) != set(buffers.KINDS):
        raise ContractError(
            f"buffers: the claim of {offer.algorithm} says {dict(offer.buffers)}; give a reading of each of "
            f"{' and '.join(buffers.KINDS)}"
        )
    for kind, name in offer.buffers.items():
        buffers.known(kind, name)


def untied(algorithm: Algorithm, declared: Mapping[str, str]) -> tuple[bool, dict[str, str]]:
    """Return whether declared options tie v0 to tau^2, and the other options.

    Raises:
        UnknownNameError: v0 is said to be something else.
    """
    if "v0" not in declared or not {"v0", "tau"} <= {*algorithm.numbers}:
        return False, dict(declared)
    if declared["v0"] != TAU_SQUARED:
        raise UnknownNameError(
            f"option: unknown value {declared['v0']!r} of v0; known: {TAU_SQUARED}. Put a number into `fixed`"
        )
    return True, {n: v for n, v in declared.items() if n != "v0"}


def unclaimed(algorithm: Algorithm, offer: Offer) -> dict[str, str]:
    """Return momentum as solver if a server's offer claims no solver: then ||a_i||_1 may be any number.

    A server sees its clients' solver through ||a_i||_1 alone. Only a claim of plain SGD makes that the number of steps.
    """
    fixed = {**algorithm.reading(offer.reading).fixes, **offer.options}
    free = offer.level == "server" and "solver" in algorithm.options and "solver" not in fixed
    return {"solver": str(Solver.MOMENTUM)} if free else {}


def with_readings(info: SubjectInfo) -> SubjectInfo:
    """Return a subject's declarations, with the canonical reading in each offer that names no reading."""
    return replace(info, claims=tuple(with_reading(o) for o in info.offers))


def with_reading(offer: Offer) -> Offer:
    """Return an offer with the canonical reading of its level, if it names no reading."""
    row = None if offer.reading else CATALOGUE.get(id_of(offer.algorithm))
    # What is wrong with an offer is said when it is judged.
    fitting = row.readings_at(offer.level) if row and offer.level in row.levels else ()
    return replace(offer, reading=fitting[0].name) if fitting else offer


def _copied(field: Any) -> Any:
    """A claim's mapping or sequence of words, which its author may have made a list."""
    return dict(field) if isinstance(field, Mapping) else tuple(field)


def setting_of(offer: Offer, dtype: str = "", reach: Reach = USUAL_REACH) -> Setting:
    """Resolve an offer to its setting, the same object for offers with equal fields.

    The floating-point type is the offer's first by default.

    Raises:
        UnknownNameError: algorithm, level, reading or option is not in the catalogue.
    """
    algorithm = find(offer.algorithm)
    if offer.algorithm != algorithm.id:
        raise UnknownNameError(
            f"algorithm: a claim says {offer.algorithm!r}, an alias of {algorithm.id}; cases contain the id, so "
            f"write {algorithm.id!r}"
        )
    if offer.level not in algorithm.levels:
        raise UnknownNameError(
            f"level: {offer.algorithm} cannot be judged at level {offer.level!r}; known: {', '.join(algorithm.levels)}"
        )
    check_offer(offer, algorithm)
    reading = algorithm.reading(offer.reading)
    if reading not in (there := algorithm.readings_at(offer.level)):
        raise UnknownNameError(
            f"reading: {offer.reading!r} of {algorithm.id} cannot be judged at level {offer.level!r}, which lacks "
            f"inputs that it needs; known there: {', '.join(r.name for r in there)}"
        )
    tied, options = untied(algorithm, offer.options)
    resolved = algorithm.resolve(offer.reading, {**unclaimed(algorithm, offer), **options})
    check_average(offer, algorithm, resolved.get("weights", ""))
    setting = Setting(
        algorithm=algorithm,
        level=offer.level,
        reading=offer.reading,
        options=resolved,
        dtype=dtype or offer.dtypes[0],
        fixed=dict(offer.fixed),
        nonzero=offer.nonzero,
        one_block=offer.blocks == "one",
        matrices=offer.blocks == "matrices",
        everyone=offer.participation == "all",
        v0_is_tau_squared=tied,
        steps_only=resolved.get("solver", Solver.SGD) == Solver.SGD,
        reach=reach,
        variant=offer.variant,
        each_rate=offer.rates == "each",
        buffers=dict(offer.buffers),
        resumes=offer.resumes,
        faults=dict(offer.faults),
        **{name: _copied(getattr(offer, name)) for name in BESIDE},
        varies=offer.rates if offer.rates in RATES_AT else "",
    )
    # The algorithm by its object, which the kept setting holds: a file may bring another of that id.
    key = id(algorithm), *(str(getattr(setting, f.name)) for f in fields(setting) if f.name != "algorithm")
    kept = _settings.pop(key, setting)
    _settings[key] = kept
    if len(_settings) > SETTINGS:
        del _settings[next(iter(_settings))]
    return kept


SETTINGS = 16
"""Number of settings that are kept at a time, with what is known of each."""

_settings: dict[Hashable, Setting] = {}
