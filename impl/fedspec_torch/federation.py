"""A module, a loss and the clients' data as a population that every algorithm of the catalogue can train."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

import torch
from torch import Tensor, nn

from fedspec.errors import FedspecError, PlanError, ShapeError, UnknownNameError
from fedspec.plan import Setup
from fedspec_torch.arith import Stack, Vector, Weights, check_whole
from fedspec_torch.checking import check_first, check_same_parameters, named
from fedspec_torch.choosing import IN_PLACE, Choice, Run, choose, choose_run, differs, first_line
from fedspec_torch.data import Examples, Held, Made, Minibatch, Pool, check_counts
from fedspec_torch.gradients import WAYS, WRITTEN_OUT, Loss, Network, looped
from fedspec_torch.layered import OTHERWISE, LayersError
from fedspec_torch.looking import Look, apart, beside, look
from fedspec_torch.own import own_of
from fedspec_torch.parts import check_module
from fedspec_torch.plan import Oracle
from fedspec_torch.refusals import LossError, ModuleError, Reason
from fedspec_torch.training import Training

Plain: TypeAlias = tuple[Stack, Stack, Weights]
"""Models, and the gradients and losses of plain autograd there."""

__all__ = ["Federation", "LossError", "ModuleError", "on"]


@dataclass(frozen=True, eq=False)
class Federation:
    """A model and the clients that train it.

    Layers of the module are the blocks of the algorithms: layers of Fed-LAMB, axes of SM3's covers. Its own parameters
    are read once, as the initial model; after a run :meth:`module_at` gives it with other ones.

    Attributes:
        model: any module without running statistics and without dropout that is switched on.
        loss: the mean loss of a minibatch, from output and targets, such as ``torch.nn.functional.cross_entropy``.
        data: one pair (inputs, targets) for each client, or a function that makes it from the client's number.
        batch_size: of a local step; None, or more than a client has: all it has.
        examples: n_i of every client, where ``data`` is a function.
        seed: what the order of the minibatches depends on, together with round and client.
        way: ``compiled``, ``layered``, ``stacked``, ``vmapped`` or ``looped``; ``fused``: layered, but whole runs of
            plain SGD in one kernel; None: the one that is measured to be fastest. The ways agree up to rounding; name
            one for runs that are equal bit for bit.
        precision: None: that of the parameters; ``bf16``: gradients in bfloat16 as ``torch.autocast`` computes them, of
            a model in float32, which is also what all else is computed in.
        shuffled: whether a client's examples come in another order in every round; else in that in which it has them.
        choices: the ways that were measured to be fastest, by the number of clients in a block in powers of two.

    Raises:
        ModuleError: the module keeps running statistics, drops units, or has nothing to train. What only a call shows
            is refused when the first minibatch comes by.
        LossError: the loss is no function.
        ShapeError: the data do not fit together.
        PlanError: a batch holds no example.
        UnknownNameError: there is no such way.
    """

    model: nn.Module
    loss: Loss
    data: Sequence[Examples] | Callable[[int], Examples]
    batch_size: int | None = None
    examples: Sequence[int] = ()
    seed: int = 0
    way: str | None = None
    shuffled: bool = True
    precision: str | None = None
    choices: dict[int, Choice] = field(default_factory=dict, init=False, repr=False)
    _first: list[tuple[Look, Plain]] = field(default_factory=list, init=False, repr=False)
    _agreed: set[str] = field(default_factory=set, init=False, repr=False)

    def __post_init__(self) -> None:
        check_module(self.model, self.loss)
        if self.batch_size is not None:
            check_whole("batch_size", self.batch_size, "a minibatch holds at least one example")
        check_whole("seed", self.seed, "what is drawn depends on a number", least=0)
        if self.way not in (None, *WAYS, "fused"):
            raise UnknownNameError(f"way: got {self.way!r}; known: {', '.join(WAYS)}, fused")
        if self.precision not in (None, "bf16"):
            raise UnknownNameError(f"precision: got {self.precision!r}; known: bf16")
        if self.precision and self.x0.dtype != torch.float32:
            raise ModuleError(f"precision: bf16 rounds a model in float32; this one is in {self.x0.dtype}")
        if callable(self.data):
            check_counts(self.examples)
        elif not (hasattr(self.data, "__getitem__") and hasattr(self.data, "__len__")):
            raise ShapeError(f"data: got {type(self.data).__name__}; give a list with one pair for each client")
        if not callable(self.data) and self.examples:
            raise PlanError("examples: given, but data says it; leave it out")
        # The model is read now: what becomes of the module later is another one.
        _ = self.pool, self.x0, self.own

    @cached_property
    def network(self) -> Network:
        """The module as a function of one vector."""
        return Network(self.model, self.loss, self.precision)

    @cached_property
    def pool(self) -> Pool:
        """Where the examples come from."""
        if callable(self.data):
            return Made(self.data, self.examples, self.x0.device)
        return Held(self.data)

    @cached_property
    def x0(self) -> Vector:
        """The initial model: the module's parameters when the federation was made."""
        return self.network.vector()

    @cached_property
    def own(self) -> dict[str, str]:
        """What module and loss computed with beside the parameters when the federation was made."""
        return own_of(self.model, self.loss)

    @cached_property
    def setup(self) -> Setup:
        """What algorithms ask before the first round."""
        return Setup(tuple(self.pool.examples), self.network.shapes)

    def __len__(self) -> int:
        return len(self.pool.examples)

    def known_way(self, n: int) -> str | None:
        """How the gradients of a block of n clients are computed; None: the first of about that size shows it."""
        found = self.choices.get(n.bit_length())
        name = self._named or (found.name if found else None)
        return name if name in self._agreed else None

    @property
    def _named(self) -> str | None:
        return "layered" if self.way == "fused" else self.way

    def way_for(self, x: Stack, batch: Minibatch, ignored: str = "") -> str:
        """How the gradients of a block are computed, looked at and measured when the first of about its size comes by.

        Args:
            x: the models.
            batch: the minibatches.
            ignored: why no way that is written out takes these clients' examples; nothing where they do.

        Raises:
            ModuleError: the module draws at random, keeps something from one call to the next, or writes to its
                parameters; or the way comes to other gradients than plain autograd.
            LossError: the loss does not depend on what is trained.
            LayersError: the way is asked for by name and does not take this.
        """
        known = self.known_way(len(x))
        if known:
            return known
        check_same_parameters(self.network)
        here = Look.at(self.network, x, batch)
        if not self._first:
            near = beside(here.about, here.seed)[0]
            check_first(self.network, x[0], near, batch.inputs[0], batch.targets[0])
        plain = here.plain()
        if not self._first:
            self._first.append((here, plain))
        size = len(x).bit_length()
        if self._named:
            self._look(self._named, here, plain)
            return self._named
        if size not in self.choices:

            def agrees(name: str) -> None:
                if name in WRITTEN_OUT and ignored:
                    raise LayersError(f"{name}: {ignored}")
                self._look(name, here, plain, advised=False)

            self.choices[size] = choose(self.network, x, batch, agrees=agrees)
        elif self.choices[size].name not in self._agreed:
            self._look(self.choices[size].name, here, plain)
        return self.choices[size].name

    def _look(self, name: str, here: Look, plain: Plain, *, advised: bool = True) -> None:
        try:
            look(self.network, name, here, plain)
        except LayersError as error:
            raise LayersError(f"{name}: {error}; {OTHERWISE}" if advised else str(error)) from error
        except (FedspecError, torch.OutOfMemoryError):
            raise
        except Exception as error:
            why = f"the module, or the loss, {Reason.UNBEARABLE}: {type(error).__name__}: {first_line(error)}"
            raise LayersError(f"{name}: {why}; {OTHERWISE}" if advised else why) from error
        self._agreed.add(name)

    def look_again(self, ways: Iterable[str], round: int, x: Vector, batch: Minibatch) -> None:
        """Look again, at two clients of a round and at what was seen first: state may show late, and so may data.

        Args:
            ways: those by which clients were trained.
            round: its number.
            x: the model after it.
            batch: minibatches of some of its clients.

        Raises:
            ModuleError: one of them differs from plain autograd, or plain autograd from what it was at first.
        """
        check_same_parameters(self.network)
        here = Look.at(self.network, x.expand(len(batch.inputs), -1), batch, seed=round)
        # What was changed since is told as changed, in whatever way it shows.
        for first, (models, *then) in self._first:
            # One client is enough of what has been seen.
            alone = Minibatch(first.batch.inputs[:1], first.batch.targets[:1])
            gap = apart(looped(self.network, models[:1], alone), [part[:1] for part in then])
            # A GPU may add in another order, and less exactly than it is asked.
            if gap > (first.rounding if x.device.type == "cpu" else max(first.rounding, 1e-3)):
                raise ModuleError(
                    f"model: after round {round} its loss or its gradients are {gap:.2g} away from what they were "
                    f"at first, with the same parameters and minibatch: it, or the loss, {Reason.KEEPS}, or was "
                    f"changed since; make it a function of its inputs, and another federation of another module"
                )
        # What plain autograd does not take, no way is to blame for.
        plain = here.plain()
        for name in sorted({"looped" if way == "alone" else way for way in ways} - {"looped"}):
            self._look(name, here, plain)

    def know(self, n: int, like: int) -> None:
        """Take for blocks of n clients the way that was measured for fewer, unless there is one."""
        if like.bit_length() in self.choices:
            self.choices.setdefault(n.bit_length(), self.choices[like.bit_length()])

    def run_for(self, x: Stack, tau: Sequence[int], runs: Mapping[str, Run | str]) -> Run:
        """How a block takes all its steps of plain SGD, measured when the first block of about its size comes by.

        Args:
            x: where the clients begin.
            tau: how many steps each takes.
            runs: the ways by name, or why there is none.

        Raises:
            LayersError: the way is asked for by name and does not take this.
        """
        size = len(x).bit_length()
        if self.way:
            name = {"looped": "alone"}.get(self.way, self.way if self.way in runs else IN_PLACE)
        else:
            if not self.choices[size].run:
                self.choices[size] = choose_run(self.choices[size], x, tau, runs)
            name = self.choices[size].run
        # A saved run may go on where its way is not offered.
        run = runs.get(name, runs[IN_PLACE])
        if isinstance(run, str) and not self.way:
            run = runs[IN_PLACE]
        if isinstance(run, str):
            raise LayersError(f"{name}: {run}; leave way out, or name another")
        in_place = runs[IN_PLACE]
        if self.way == "fused" and name not in self._agreed and not isinstance(in_place, str):
            refused = differs(x, tau, run, in_place)
            if refused:
                raise LayersError(f"{name}: {refused}; leave way out, or name another")
            self._agreed.add(name)
        return run

    def in_round(self, round: int, *, keeps: bool = False) -> Training:
        """The clients with the minibatches of that round; see :class:`fedspec_torch.training.Training`."""
        return Training(self, round, keeps)

    def oracle(self, clients: Sequence[int]) -> Oracle:
        """The gradients of these clients on their minibatches of round 0: a federation is a population by itself."""
        return self.in_round(0).oracle(clients)

    def module_at(self, x: Vector) -> nn.Module:
        """The module itself, its parameters set to a model."""
        with self.network.turn, torch.no_grad():
            for name, value in self.network.named(x).items():
                self.network.parameters[name].copy_(value)
        return self.model

    def evaluate(self, x: Vector, examples: Examples) -> tuple[float, float]:
        """Loss, and the share of examples whose largest output is their target (NaN: no classes)."""
        inputs, targets = examples
        with self.network.lent(), torch.no_grad(), named("the test examples", lambda: examples):
            self.network.put(x)
            output = self.model(inputs)
            loss = float(self.loss(output, targets))
            one = isinstance(output, Tensor) and output.ndim == targets.ndim + 1
            # Of one output there is no largest.
            classes = one and output.shape[1] > 1 and not targets.is_floating_point()
            share = float((output.argmax(1) == targets).double().mean()) if classes else float("nan")
        return loss, share


def on(federation: Federation, device: torch.device | str) -> Federation:
    """The same federation with module and data on another device."""
    data = federation.data
    if not callable(data):
        data = [(inputs.to(device), targets.to(device)) for inputs, targets in data]
    return replace(federation, model=federation.model.to(device), data=data)
