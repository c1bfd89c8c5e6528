"""Contract of every adapter: a claim, a case, a session of events.

An *adapter* connects an implementation to the judge. It lists its *claims* and starts a *session* for a case; a session
takes one event at a time and returns the model after it (``x``) and any intermediate. Four levels fit every kind of
implementation:

========  ==========================================================  =========================================
level     what the judge sends                                         what the implementation computes itself
========  ==========================================================  =========================================
client    ``Gradient``: the gradient of one local step; ``Begin``: a   the local solver
          new round starts at the given model
server    ``Messages``: what every participating client sent           aggregation and server step
round     ``Round``: who takes part and how many steps each; the       everything
          problem (quadratics) comes with the case
trace     ``Exchange``: one round among peers, with its gossip;        everything
          ``Arrival``: one update reaches an asynchronous server
========  ==========================================================  =========================================

This module needs NumPy, and jaxtyping for annotations, and nothing else. ``fedspec.wire`` carries the same records as
JSON lines to a program in any language.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias, get_args, runtime_checkable

import numpy as np

from fedspec.arith import Array, Scalar
from fedspec.errors import ContractError
from fedspec.given import Given
from fedspec.plan import Arrival, Exchange

__all__ = [
    "BESIDE",
    "LEVELS",
    "Adapter",
    "Answer",
    "Arrival",
    "Begin",
    "Blocks",
    "Buffers",
    "Case",
    "Claim",
    "ClientMessage",
    "Event",
    "Exchange",
    "Gradient",
    "Info",
    "Level",
    "Messages",
    "Offer",
    "Quadratics",
    "Resuming",
    "Round",
    "Session",
    "Subject",
    "SubjectInfo",
    "blocks_like",
]

Level: TypeAlias = Literal["client", "server", "round", "trace"]
LEVELS: tuple[Level, ...] = get_args(Level)

BESIDE = ("schedules", "gradients", "messages", "parts", "steps")
"""Fields of a claim that say what an implementation does beside its rule; its cases repeat them."""

Blocks: TypeAlias = Mapping[str, Array]
"""Named arrays in the order of the case's ``x0``: a model, a gradient or a moment."""

Buffers: TypeAlias = Mapping[str, Array]
"""Arrays that a model carries beside its parameters, such as BatchNorm's: statistics are floats, counters integers."""

Answer: TypeAlias = Mapping[str, "Blocks | Array | Sequence[Array] | float"]
"""Result of a step: ``x`` and intermediates. Each is given as blocks, as a list of arrays in the order of ``x0``, as
one flat vector of all blocks in that order, or (scalars such as ``tau_eff``) as a number. If the case has
``buffers``, the answer also holds the server's buffers after the step under that key, named as in the case.
"""


@dataclass(frozen=True)
class Claim:
    """Declaration of an adapter: its implementation computes an algorithm, at a level, under a reading.

    Attributes:
        algorithm: id in the catalogue (``fedspec list``).
        level: ``client``, ``server``, ``round`` or ``trace``.
        reading: the published definition it claims to follow (``fedspec show ALGORITHM``); empty: the canonical one.
        options: declared choices where the reading leaves one, such as ``{"weights": "uniform"}``.
        fixed: hyper-parameters that the implementation does not let its user set, with the value it uses.
        nonzero: hyper-parameters that the implementation refuses to take as zero although the algorithm allows it;
            ``weight`` means that it refuses a client without examples.
        intermediates: quantities that ``step`` returns beside ``x``, such as ``("m", "v")``.
        dtypes: floating-point types it computes in.
        blocks: ``"any"``; ``"one"`` when its model is a single array; ``"matrices"`` when every array has two axes.
        participation: ``"any"``, or ``"all"`` when it runs only with the same clients, all of them, in every round.
        notes: additional work of the adapter; shown in the report.
        variant: interface of the implementation, if it has several; the claim's cases have the same value.
        rates: ``"one"``: one rate for all steps. At level client, ``"each"``: the user can set the rate of every step.
            At the other levels, ``"rounds"``: the user can change rates, mu, rho and gamma in every round;
            ``"clients"``: also for each client of a round.
        buffers: treatment of buffers at level server, if the implementation's models have some: the readings of
            ``statistics`` and of ``counters``, such as ``{"statistics": "averaged", "counters": "largest"}``
            (``fedspec.buffers``).
        resumes: True if its sessions have ``save`` and ``restore``; the judge then interrupts them (docs/resume.md).
        faults: treatment of invalid messages at level server, by kind, such as ``{"nan": "skips"}``
            (``fedspec.faults``).
        schedules: schedules of rates that the implementation makes by itself, by hyper-parameter, such as
            ``{"eta": "cosine/round period=100 floor=0.1"}`` (``fedspec.schedules``).
        gradients: transformations of each gradient before a client's step, in order, such as ``("clip-norm 1", "decay
            0.01")`` (``fedspec.chain``).
        messages: transformations of each client's change on its way to the average, and the average itself, in order,
            such as ``("clip-norm 1", "bfloat16")`` (``fedspec.rounding``, ``fedspec.averaging``).
        parts: blocks that aren't trained or averaged like the others, such as ``{"head": "local"}``
            (``fedspec.parts``).
        steps: transformations of a client's model before and after its step, in order, such as ``("decoupled-decay
            0.01", "lookahead 5 0.8")`` (``fedspec.steps``).
    """

    algorithm: str
    level: Level
    reading: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    fixed: Mapping[str, float] = field(default_factory=dict)
    nonzero: tuple[str, ...] = ()
    intermediates: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ("float64", "float32")
    blocks: Literal["any", "one", "matrices"] = "any"
    participation: Literal["any", "all"] = "any"
    notes: str = ""
    variant: str = ""
    rates: Literal["one", "each", "rounds", "clients"] = "one"
    buffers: Mapping[str, str] = field(default_factory=dict)
    resumes: bool = False
    faults: Mapping[str, str] = field(default_factory=dict)
    schedules: Mapping[str, str] = field(default_factory=dict)
    gradients: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()
    parts: Mapping[str, str] = field(default_factory=dict)
    steps: tuple[str, ...] = ()


@dataclass(frozen=True)
class Info:
    """Name and version of an implementation, with its adapter's claims (``offers`` is their former name).

    ``variant`` separates two interfaces of one package, here or by claim.
    """

    name: str
    version: str
    claims: tuple[Claim, ...]
    variant: str = ""
    concurrent: bool = True
    """False if starting a session ends the previous session."""

    def __init__(
        self,
        name: str,
        version: str,
        claims: tuple[Claim, ...] = (),
        variant: str = "",
        concurrent: bool = True,
        *,
        offers: tuple[Claim, ...] = (),
    ) -> None:
        """Set the fields; the claims may be passed as ``claims`` or as ``offers``."""
        # The record is frozen.
        vars(self).update(name=name, version=version, claims=offers or claims, variant=variant, concurrent=concurrent)

    @property
    def offers(self) -> tuple[Claim, ...]:
        """The claims, under the field's former name."""
        return self.claims


Offer: TypeAlias = Claim
"""Former name of :class:`Claim`, kept for adapters that import it."""

SubjectInfo: TypeAlias = Info
"""Former name of :class:`Info`, kept for adapters that import it."""


@dataclass(frozen=True)
class Quadratics:
    """The clients' objectives at levels ``round`` and ``trace``: F_i(x) = x' H_i x / 2 - e_i' x, gradient H_i x - e_i.

    If an algorithm reads losses, F_i(x) = x' H_i x / 2 - e_i' x + f_i, and every F_i(x) of a case is above 0.

    Attributes:
        H: [clients, d, d] the matrices H_i, symmetric.
        e: [clients, d] the vectors e_i.
        examples: [clients] sample sizes n_i; with weights by examples, p_i is n_i / sum of n over the participants.
        f: [clients] F_i(0), where the algorithm reads losses; None for other algorithms.
    """

    H: Array
    e: Array
    examples: Array
    f: Array | None = None


@dataclass(frozen=True)
class Case:
    """Inputs that start a run: algorithm, options, model and hyper-parameters; the implementation draws nothing random.

    Attributes:
        algorithm: id in the catalogue.
        level: the level to run at.
        reading: the claimed reading.
        options: every choice of the reading, resolved: ``{"bias_correction": "none", "weights": "examples"}``.
        dtype: ``float32`` or ``float64``, the type of all arrays and of the returned ``x``.
        x0: the initial model as named blocks.
        hyper: hyper-parameters by their catalogue names, as floats.
        problem: the clients' objectives (levels ``round`` and ``trace``), functions of all blocks as one vector: the
            gradient of client i is H[i] x - e[i]. If there is no server, ``x0`` is one block [clients, d]: row i is the
            model of client i.
        variant: variant of the claim; empty if the claim has none.
        population: at level server, the number N of all clients, if the rule also counts clients that don't take part.
        buffers: at level server, the buffers of the initial model, if the claim declares buffers.
        schedules: the claim's schedules; ``hyper`` then has the initial rates, and events have no rate.
        gradients: the claim's transforms of gradients; events and problem have the gradients before these transforms.
        messages: the claim's transforms of messages; events have the changes before these transforms.
        parts: the claim's special blocks; ``x0`` has each of these blocks, and other blocks.
        steps: the claim's changes of the model around a step.
    """

    algorithm: str
    level: Level
    reading: str
    options: Mapping[str, str]
    dtype: str
    x0: Blocks
    hyper: Mapping[str, Any]
    problem: Quadratics | None = None
    variant: str = ""
    population: int | None = None
    buffers: Buffers | None = None
    schedules: Mapping[str, str] = field(default_factory=dict)
    gradients: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()
    parts: Mapping[str, str] = field(default_factory=dict)
    steps: tuple[str, ...] = ()


@dataclass(frozen=True)
class Gradient:
    """Event at level client: take one local step with this gradient, evaluated at the current local model.

    Attributes:
        g: the gradient; with ``tokens``, row j of each block is the gradient of micro-batch j's mean loss.
        eta_l: the rate of this step, for claims with ``rates="each"``; None: the case's rate. If the case has a
            schedule, every round begins with that rate.
        tokens: number of tokens of each micro-batch, for claims that accumulate them; empty: ``g`` is one gradient.
    """

    g: Blocks
    eta_l: Scalar | None = None
    tokens: tuple[Scalar, ...] = ()


@dataclass(frozen=True)
class Begin:
    """Event at level client: a new round begins at the server model ``x``; reset state that lives for one round."""

    x: Blocks


@dataclass(frozen=True)
class ClientMessage:
    """Message of a client at the end of a round.

    The number of examples is called ``weight`` here, and ``examples`` in ``Quadratics`` and in ``plan.Message``, where
    a weight is p_i.

    Attributes:
        client: the client's number.
        delta: the client's local model minus the model from which it started; the server adds this change.
        weight: the client's number of examples n_i, a whole number >= 0.
        steps: the client's number of local steps tau_i.
        a_norm: the l1 norm of the client's accumulation vector a_i (FedNova); tau_i for plain SGD.
        control: the change c_i^+ - c_i of the client's control variate, as blocks (for SCAFFOLD and similar
            algorithms); else None.
        loss: F_i at the model from which the client started, over all its examples (q-FedAvg); else None.
        buffers: buffers of the local model, under the names of the case's buffers; None if the case has none.
        round: the round that the message answers, counted from 1, in a case of faults; None: the present round.
        draws: d draws in [0, 1), in the order of ``x0``, if the claim rounds messages at random.
    """

    client: int
    delta: Blocks
    weight: Scalar
    steps: int
    a_norm: Scalar
    control: Blocks | None = None
    loss: Scalar | None = None
    buffers: Buffers | None = None
    round: int | None = None
    draws: tuple[Scalar, ...] = ()


@dataclass(frozen=True)
class Messages:
    """Event at level server: aggregate these messages and take one server step.

    Attributes:
        messages: messages of the participants.
        hyper: the server's hyper-parameters with a new value in this step; all others are as in the case.
        noise: d standard normal draws, in the order of ``x0``, if the claim's messages have ``noise``.
    """

    messages: tuple[ClientMessage, ...]
    hyper: Given = field(default_factory=dict, hash=False)
    noise: tuple[Scalar, ...] = ()


@dataclass(frozen=True)
class Round:
    """Event at level round: run one whole round.

    Attributes:
        participants: numbers of the clients that take part.
        steps: the participants' numbers of local steps, in the same order.
        strategies: the local solver of each participant, for algorithms that blend several.
        scales: factor of each participant's change, for algorithms that read such factors.
        noise: d standard normal draws, in the order of ``x0``, for servers that add noise.
        draws: d draws in [0, 1) for each participant, in the order of ``x0``, for clients that round at random.
        hyper: hyper-parameters with a new value in this round, for claims that let the user change them: a number, or
            one for each participant. All others are as in the case.
    """

    participants: tuple[int, ...]
    steps: tuple[int, ...]
    strategies: tuple[str, ...] = ()
    scales: tuple[Scalar, ...] = ()
    noise: tuple[Scalar, ...] = ()
    draws: tuple[tuple[Scalar, ...], ...] = ()
    hyper: Given = field(default_factory=dict, hash=False)


Event: TypeAlias = Gradient | Begin | Messages | Round | Exchange | Arrival


@runtime_checkable
class Session(Protocol):
    """A running case, which takes one event at a time."""

    def step(self, event: Event) -> Answer:
        """Process one event; return at least ``{"x": model}``."""
        ...


class Resuming(Session, Protocol):
    """A session that can be saved and restored, for claims with ``resumes=True``."""

    def save(self) -> bytes:
        """Return the complete state of the session as bytes; the judge stores them and never reads them."""
        ...

    def restore(self, saved: bytes) -> None:
        """Continue from the saved state; called before any event, perhaps in a new process."""
        ...


@runtime_checkable
class Adapter(Protocol):
    """Connection of an implementation to the judge: its claims, and a session for each case."""

    info: Info

    def start(self, case: Case) -> Session:
        """Start a session for one case, with fresh state."""
        ...


Subject: TypeAlias = Adapter
"""Former name of :class:`Adapter`, kept for adapters that import it."""


def blocks_like(value: object, x0: Blocks, name: str) -> dict[str, Array]:
    """Convert one value of an answer to named blocks with the names and shapes of ``x0``.

    Args:
        value: blocks by name, a list of arrays in the order of ``x0``, or one flat vector of all of them.
        x0: the model that gives names and shapes.
        name: name of the value, for the error.

    Raises:
        ContractError: a block is missing or has another shape.
    """
    arrays: Sequence[Any]
    shape = _shape(value)
    if isinstance(value, Mapping):
        if set(value) != set(x0):
            raise ContractError(
                f"{name} has blocks {sorted(map(str, value))}, the model has {list(x0)}; "
                f"return every block of x0 under its own name"
            )
        arrays = [value[b] for b in x0]
    elif len(x0) == 1 and shape == next(iter(x0.values())).shape:
        arrays = [value]
    elif isinstance(value, list | tuple) and len(value) == len(x0) and any(_shape(a) != () for a in value):
        arrays = value
    elif shape == (sum(a.size for a in x0.values()),):
        ends = np.cumsum([a.size for a in x0.values()])
        parts = np.split(np.asarray(value), ends[:-1])
        arrays = [part.reshape(a.shape) for part, a in zip(parts, x0.values(), strict=True)]
    else:
        raise ContractError(
            f"{name} {_described(value)}, the model's blocks have {', '.join(str(a.shape) for a in x0.values())}; "
            f"return blocks by name, a list of arrays in the order of x0, or one flat vector"
        )
    for k, (b, like, got) in enumerate(zip(x0, x0.values(), arrays, strict=True)):
        if _shape(got) != like.shape:
            at = f"{name}[{b!r}]" if isinstance(value, Mapping) else f"{name}[{k}]"
            raise ContractError(
                f"{at} {_described(got)}, the model's block {b!r} has {like.shape}; return it in that shape"
            )
    return {b: np.asarray(a) for b, a in zip(x0, arrays, strict=True)}


def _described(value: Any) -> str:
    shape = _shape(value)
    return "is None" if value is None else "is no array" if shape is None else f"has shape {shape}"


def _shape(value: Any) -> tuple[int, ...] | None:
    """The shape of an array or of nested lists; None for a mapping or for ragged lists."""
    try:
        return None if isinstance(value, Mapping) else np.shape(value)
    except ValueError:
        return None
