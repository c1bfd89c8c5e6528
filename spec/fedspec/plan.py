"""Plans and messages: a round's randomness as data, and the messages from clients to server."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, fields, replace
from numbers import Integral
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from fedspec.arith import Mixing, Scalar, Vector
from fedspec.domains import DECAY, REAL, all_finite, all_nonnegative, check_steps, outside, require_count, require_sizes
from fedspec.errors import PlanError
from fedspec.given import Given, anew
from fedspec.records import record

Oracle: TypeAlias = Callable[[int, Vector], Vector]
"""Gradient oracle of a client: maps the local step k = 0, 1, ... and the point x to a gradient."""


@runtime_checkable
class Valued(Protocol):
    """Gradient oracle that also evaluates its objective, for servers that read losses."""

    def __call__(self, k: int, x: Vector, /) -> Vector:
        """Gradient at local step k and point x."""
        ...

    def value(self, x: Vector, /) -> Scalar:
        """Loss F_i(x) over all data of the client."""
        ...


@record
class Setup:
    """Sample sizes and model shapes, known before the first round.

    Attributes:
        examples: the sample size n_i of every client.
        shapes: the shapes of the model's blocks (its layers), by name, in order.

    Raises:
        PlanError: the list of clients is empty.
        WeightError: a sample size is negative, infinite, NaN or not a number.
    """

    examples: tuple[Scalar, ...]
    shapes: Mapping[str, Sequence[int]]

    def __post_init__(self) -> None:
        if not len(self.examples):
            raise PlanError("examples: there is no client; give the sample size of at least one")
        require_sizes("examples: client", self.examples)

    @property
    def clients(self) -> int:
        """Number of clients."""
        return len(self.examples)


@record
class Plan:
    """Plan of a synchronous round: its participants with their numbers of local steps and examples.

    Attributes:
        participants: numbers of the participants.
        steps: the participants' numbers of local steps tau_i.
        examples: the participants' sample sizes n_i.
        strategies: the local solver of each participant, if clients use different ones.
        scales: factor of each participant's change, if the plan has it.
        noise: d standard normal draws for a server that adds noise: a tuple, or a NumPy array for a large model.
        draws: d draws in [0, 1) for each participant, for clients that round at random: a tuple, or a NumPy array for a
            large model.
        repeats: True if a client may be named more than once.
        hyper: hyper-parameters with a new value in this round, or one for each participant
            (:data:`fedspec.given.VARYING`). The code that runs the round reads them (:mod:`fedspec.varying`), not an
            algorithm's text.

    Raises:
        PlanError: there is no participant, a client appears twice, the lengths differ, a number of steps is below 1, a
            scale or a draw of noise isn't a finite number, a draw isn't in [0, 1), or a hyper-parameter can't vary.
        ParameterError: a hyper-parameter is outside its domain.
        WeightError: a sample size is negative, infinite, NaN or not a number.
    """

    participants: tuple[int, ...]
    steps: tuple[int, ...]
    examples: tuple[Scalar, ...]
    strategies: tuple[str, ...] = ()
    scales: tuple[Scalar, ...] = ()
    noise: tuple[Scalar, ...] = ()
    draws: tuple[tuple[Scalar, ...], ...] = ()
    repeats: bool = False
    hyper: Given = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if not self.participants:
            raise PlanError("participants: the list is empty; a round needs at least one client")
        if len({len(self.participants), len(self.steps), len(self.examples)}) != 1:
            raise PlanError(
                f"plan: {len(self.participants)} participants, {len(self.steps)} step counts and "
                f"{len(self.examples)} sample sizes; give one of each for every participant"
            )
        for what, given in (("strategies", self.strategies), ("scales", self.scales), ("draws", self.draws)):
            if given and len(given) != len(self.participants):
                raise PlanError(f"{what}: {len(given)} for {len(self.participants)} participants; give one for each")
        if not self.repeats and len(set(self.participants)) != len(self.participants):
            raise PlanError(f"participants: {self.participants} names a client twice; name each once")
        for tau in self.steps:
            check_steps(tau)
        require_sizes("examples: client", self.examples, self.participants)
        for what, numbers in (("scales", self.scales), ("noise", self.noise)):
            for j, number in enumerate(() if all_finite(numbers) else numbers):
                if outside(number, REAL):
                    raise PlanError(f"{what}: entry {j} is {number!r}; each is a {REAL.words}")
        for j, row in enumerate(self.draws):
            # Of a large model there are many.
            for u in () if all_nonnegative(row) and np.max(row) < 1 else row:
                if outside(u, DECAY):
                    raise PlanError(f"draws: participant {j} has {u!r}; each draw is {DECAY.words}")
        if self.hyper:
            object.__setattr__(self, "hyper", anew(self.hyper, len(self.participants)))

    def part(self, places: Sequence[int]) -> Plan:
        """Plan of the participants at the given positions, in this order."""
        columns = ("participants", "steps", "examples", "strategies", "scales", "draws")
        some: dict[str, Any] = {n: tuple(getattr(self, n)[j] for j in places if getattr(self, n)) for n in columns}
        hyper = {n: tuple(v[j] for j in places) if isinstance(v, tuple) else v for n, v in self.hyper.items()}
        return replace(self, **some, hyper=hyper)

    def check_clients(self, clients: Sequence[object]) -> None:
        """Raise PlanError if the plan names a client that doesn't exist.

        Raises:
            PlanError: a participant is not one of the clients.
        """
        check_clients("participants", self.participants, len(clients))

    def of_everyone(self, n: int) -> Plan:
        """Plan reordered by client number, if all n clients take part; else raise PlanError.

        Raises:
            PlanError: a client doesn't take part, or a participant isn't one of the n clients.
        """
        absent = sorted({*range(n)} - {*self.participants})
        if absent:
            raise PlanError(
                f"participants: clients {absent} are missing; this algorithm needs all clients in every round"
            )
        check_clients("participants", self.participants, n)
        return self.part(sorted(range(n), key=self.participants.__getitem__))


@record
class Exchange:
    """Plan of a gossip round: local steps, each followed by an exchange of models.

    Attributes:
        senders: S_r, the clients whose changes the server receives; empty if there is no server.
        computing: S_(r,t), the clients that compute a gradient at local step t = 0, 1, ...
        mixing: the mixing matrix W; entry [i, j] is the weight of client j's model in client i's new model. If only
            computing clients mix, row k belongs to the k-th client of the set: of the senders, or of each S_(r,t) if
            these sets differ.
        clusters: disjoint clusters of clients; only clients of one cluster mix; empty: a single cluster.
        hyper: hyper-parameters with a new value in this round, one number each.

    Raises:
        PlanError: a client is named twice in one set, or a hyper-parameter can't vary.
        ParameterError: a hyper-parameter is outside its domain.
    """

    senders: tuple[int, ...]
    computing: tuple[tuple[int, ...], ...]
    mixing: Mixing
    clusters: tuple[tuple[int, ...], ...] = ()
    hyper: Given = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        anew(self.hyper)
        named = [("senders", self.senders), *((f"computing[{t}]", S) for t, S in enumerate(self.computing))]
        for what, who in (*named, ("clusters", tuple(i for cluster in self.clusters for i in cluster))):
            if len(set(who)) != len(who):
                raise PlanError(f"{what}: {who} names a client twice; name each once")

    def check_clients(self, clients: Sequence[object]) -> None:
        """Raise PlanError if the plan names a client that doesn't exist.

        Raises:
            PlanError: a sender or computing client isn't one of the n clients, or the clusters don't partition them.
        """
        for what, who in (("senders", self.senders), *((f"computing[{t}]", S) for t, S in enumerate(self.computing))):
            check_clients(what, who, len(clients))
        if self.clusters and sorted(i for cluster in self.clusters for i in cluster) != list(range(len(clients))):
            raise PlanError(
                f"clusters: {self.clusters} do not divide 0..{len(clients) - 1}; name every client in one cluster"
            )


@record
class Arrival:
    """Arrival of one client's update at the server of an asynchronous algorithm.

    Attributes:
        client: client of the update.
        steps: the client's number of local steps K.
        delay: tau, the number of versions since the model from which the client began; 0: the present model.
        hyper: hyper-parameters with a new value for this update, one number each: the client's when it began, the
            server's when the update arrives.

    Raises:
        PlanError: the delay is negative, the number of steps is below 1, or a hyper-parameter can't vary.
        ParameterError: a hyper-parameter is outside its domain.
    """

    client: int
    steps: int
    delay: int
    hyper: Given = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        check_steps(self.steps)
        require_count("delay", self.delay)
        anew(self.hyper)

    def check_clients(self, clients: Sequence[object]) -> None:
        """Raise PlanError if the update's client doesn't exist.

        Raises:
            PlanError: the update's client isn't one of the n clients.
        """
        check_clients("client", (self.client,), len(clients))


def check_clients(what: str, who: Iterable[Any], n: int) -> None:
    """Raise PlanError if a client number is outside 0..n-1.

    Raises:
        PlanError: a client number is negative, n or more, or not a whole number.
    """
    for i in who:
        if i.__class__ is int and 0 <= i < n:
            continue
        whole = isinstance(i, Integral) and not isinstance(i, bool)
        if not whole or not 0 <= i < n:
            raise PlanError(f"{what}: client {i} is not one of 0..{n - 1}")


@record
class Message:
    """Message from a client to the server after its local steps.

    Attributes:
        delta: the client's change: local model minus the model from which it started (a descent direction).
        examples: the client's sample size n_i.
        steps: the client's number of local steps tau_i.
        a_norm: ||a_i||_1 of the client's solver; tau_i for plain SGD.
        control: the change of the client's control variate; None if it keeps none.
        loss: F_i at the model from which the client started, if the server reads it; else None.
    """

    delta: Vector
    examples: Scalar
    steps: int
    a_norm: Scalar
    control: Vector | None = None
    loss: Scalar | None = None


@record
class Messages:
    """Messages of a round's participants as columns, with an entry for each participant.

    Attributes:
        deltas: the participants' changes as a stack [n, d].
        examples: the participants' sample sizes n_i.
        steps: the participants' numbers of local steps tau_i.
        a_norms: ||a_i||_1 of the participants' solvers; tau_i for plain SGD.
        controls: the changes of the participants' control variates as a stack; None if they keep none.
        losses: function that returns each participant's F_i at the model from which it started, when the server reads
            it; None: unknown.

    Raises:
        PlanError: a column doesn't have exactly one entry for every client.
    """

    deltas: Any
    examples: Sequence[Scalar]
    steps: Sequence[int]
    a_norms: Sequence[Scalar]
    controls: Any = None
    losses: Callable[[], Sequence[Scalar]] | None = None

    def __post_init__(self) -> None:
        lengths = [len(getattr(self, f.name)) for f in fields(self) if f.name not in ("controls", "losses")]
        if len(set(lengths)) != 1:
            raise PlanError("messages: {} deltas, {} examples, {} steps, {} a_norms; give one of each".format(*lengths))


Inbox: TypeAlias = Messages | Sequence[Message]
"""Messages that a server receives in a round, as one stacked record or one by one."""
