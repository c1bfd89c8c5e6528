"""Functions of an algorithm, grouped by whether its clients and server can run separately.

An algorithm is a *solver* (level ``client``: one gradient a step), a *method* (levels ``server`` and ``round``: the
server alone, or clients and server together) or a *program* (levels ``round`` and ``trace``: clients that keep state,
adapt, exchange models or arrive late, so that neither half runs alone).

Each function has an option for each choice that the readings of its algorithm make. :mod:`fedspec.folding` prints the
text of one reading.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from fedspec.arith import Scalar, Vector
from fedspec.derived import ReadOff, entered, shown_names
from fedspec.hyper import Hyper
from fedspec.plan import Inbox, Oracle, Setup
from fedspec.readings import Strategy


@dataclass(frozen=True, kw_only=True)
class Served:
    """Stand-alone server of a program, for level server.

    Attributes:
        init: function that returns the state before the first round, from the model and the number of all clients.
        server: function that returns the state after a round's messages, and the intermediates by the paper's names.
        shows: the names of the intermediates, and the fields of the state.
        reads: clients' hyper-parameters that the server needs too.
        spares: hyper-parameters that the server doesn't read here, though their names don't mark them as the clients'.
        controls: True if the messages have the changes of control variates.
    """

    init: Callable[[Any, Vector, int], Any]
    server: Callable[[Any, Any, Inbox], tuple[Any, dict[str, Any]]]
    shows: ReadOff[tuple[str, ...]] = ReadOff(lambda served: shown_names(served.init, [served.server]))
    reads: tuple[str, ...] = ()
    spares: tuple[str, ...] = ()
    controls: bool = False


@dataclass(frozen=True, kw_only=True)
class Method:
    """Functions of an algorithm with separate client and server functions."""

    hyper: type[Hyper]
    init: Callable[..., Any]
    """Function from the model, and its blocks' shapes if ``takes`` has layers, to the state before the first round."""
    server: Callable[[Any, Any, Inbox], tuple[Any, dict[str, Any]]]
    local: Callable[[Any, Vector, Oracle, int], Vector]
    norm: Callable[[Any, int], Scalar]
    whole: bool = False
    """True if the server reads the changes more than once or sorts them. They are then all kept in memory instead of
    being summed as they arrive."""
    losses: bool = False
    """True if the server reads the clients' losses F_i at the model that the round begins with. Messages then carry
    these losses, so clients must provide their objective and not only gradients.
    """
    reads: tuple[str, ...] = ()
    """Hyper-parameters of the clients that the server reads too, also at level server."""
    takes: tuple[str, ...] = ()
    """``layers`` if the server's steps look at the blocks of a model, whose shapes ``init`` then takes."""

    def begin(self, h: Any, x: Vector, shapes: Mapping[str, Sequence[int]]) -> Any:
        """State before the first round, of a model with blocks of these shapes."""
        return self.init(h, x, tuple(map(tuple, shapes.values()))) if "layers" in self.takes else self.init(h, x)

    @property
    def steps(self) -> tuple[Callable[..., Any], ...]:
        """Functions of a round, in order; ``norm``, which computes ||a_i||_1, only if the server reads it."""
        reads_norm = "a_norms" in entered([self.server]).attributes
        return (self.local, self.norm, self.server) if reads_norm else (self.local, self.server)


@dataclass(frozen=True, kw_only=True)
class LocalSolver:
    """Functions of a local solver: its rule, and ``begin``, which makes the state at the start of a round."""

    rule: Callable[..., Any]
    begin: Callable[..., Any] | None = None
    """Function from the model, and ``v0`` and the cover if it takes them, to a state; None: the model is the state."""
    plays: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Option values under which a hyper-parameter has an effect, as in ``Hyper.plays``: a solver has no record."""


@dataclass(frozen=True, kw_only=True)
class Program:
    """Functions of an algorithm whose clients and server can't run separately; one event is one step.

    Attributes:
        hyper: the record of hyper-parameters and options.
        init: function that returns the state before the first event, from the model and the :class:`Setup` of the
            clients; the state has a field ``x``.
        step: function that returns the state after one event and the intermediates by the paper's names, from the
            clients and a ``Plan``, ``Exchange`` or ``Arrival``; algorithms with a buffer accept several arrivals that
            fit the buffer.
        event: ``round``, ``exchange`` or ``arrival``.
        takes: further fields and limits of the algorithm's cases: ``layers`` (a model of several blocks),
            ``strategies`` or ``scales`` (one for each participant), ``noise`` (one number for each coordinate),
            ``draws`` (one number for each coordinate and participant), ``repeats`` (a client may take part twice in a
            round), ``clusters``, ``peers`` (no server: row i of ``x0`` is the model of client i), ``senders`` (only the
            computing clients mix, and W has a row for each), ``one-set`` (the senders compute at every local step),
            ``everyone`` (all clients take part in every round), ``one-length`` (all clients take equally many steps),
            ``one-step`` (each client takes one step).
        strategies: the local solvers that a plan may name, if a plan names one for each participant.
        served: the stand-alone server, if there is one: the program can then also be judged at level server.
    """

    hyper: type[Hyper]
    init: Callable[[Any, Vector, Setup], Any]
    step: Callable[..., tuple[Any, dict[str, Any]]]
    event: Literal["round", "exchange", "arrival"] = "round"
    takes: tuple[str, ...] = ()
    strategies: tuple[str, ...] = tuple(map(str, Strategy))
    served: Served | None = None
