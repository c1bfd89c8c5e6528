"""A module, a loss and the clients' data as a population that every algorithm of the catalogue can train."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import torch
from torch import Tensor, nn

from fedspec.errors import PlanError, ShapeError, UnknownNameError
from fedspec.plan import Setup
from fedspec_torch.arith import Vector, check_whole
from fedspec_torch.data.batches import Minibatches
from fedspec_torch.data.datasets import Reader
from fedspec_torch.data.examples import Examples, GeneratedPool, Held, Pool, check_counts, checked_examples, examples_of
from fedspec_torch.data.loading import Numbered, reader
from fedspec_torch.data.structures import Structure
from fedspec_torch.federation.autotune import Choice
from fedspec_torch.federation.batch_checks import naming_owner
from fedspec_torch.federation.dispatch import Ways
from fedspec_torch.federation.fingerprints import Fingerprint, fingerprint_of
from fedspec_torch.federation.gradient_options import GradientOptions
from fedspec_torch.federation.modes import evaluating, modes_kept
from fedspec_torch.federation.module_checks import check_module, warn_of_evaluation
from fedspec_torch.federation.statistics import Moving, Reading, check_reading
from fedspec_torch.federation.training import Training
from fedspec_torch.gradients.calls import Loss, accuracy
from fedspec_torch.gradients.methods import Network
from fedspec_torch.gradients.module_state import read_buffers, recompute_hooked, tracks, write_buffers
from fedspec_torch.plan import Oracle
from fedspec_torch.refusals import LossError, ModuleError
from fedspec_torch.ways.table import WAYS, methods

__all__ = ["Federation", "LossError", "ModuleError", "on"]


@dataclass(frozen=True, eq=False, repr=False)
class Federation:
    """Model, loss and clients' data, as a population that algorithms train.

    Layers of the module are the blocks of the algorithms: layers of Fed-LAMB, axes of SM3's covers. Its own parameters
    are read once, as the initial model; after a run :meth:`module_at` gives it with other ones.

    Attributes:
        model: any module; its draws from torch's generator, for example for dropout, are a function of ``seed``, round,
            client and local step (:func:`fedspec_torch.gradients.module_state.seed_of`).
        loss: the mean loss of a minibatch, from output and targets, such as ``torch.nn.functional.cross_entropy``, or
            None for a model that returns its loss (:mod:`fedspec_torch.gradients.calls`).
        data: one batch for each client: a pair (inputs, targets) or any tree of tensors whose first axis counts
            examples; or a function that returns the batch of a client from its number; or Datasets or DataLoaders
            (objects with a length and access by index), one for each client, or a single one with ``parts``. fedspec
            reads a Dataset when its client takes part, and refuses a Dataset that draws at random
            (:mod:`fedspec_torch.data.datasets`).
        batch_size: examples in the minibatch of a local step; None: the batch size of the DataLoaders. Without any, or
            if it exceeds a client's number of examples, the minibatch has all of them.
        examples: number of examples n_i of every client; needed if ``data`` is a function.
        seed: seed from which, with round and client, the order of the minibatches is drawn.
        way: the gradient method: ``compiled``, ``layered``, ``stacked``, ``vmapped`` or ``looped``; ``fused``: layered,
            with whole runs of plain SGD in one kernel; None: the method that is measured to be fastest. The methods
            agree up to rounding; name one for runs that are equal bit for bit.
        precision: None: the parameters' type; ``bf16``: gradients in bfloat16 as with ``torch.autocast``, for a float32
            model; everything else is computed in float32.
        shuffled: True: every round has a new order of each client's examples; False: they stay in the given order.
        parts: the indices of every client's examples in a single Dataset, as :mod:`fedspec_torch.data.partition`
            returns them.
        keys: the entries of a Dataset's dicts that are inputs and targets; None: the dict is the example.
        cached: True: read the Datasets once, when the federation is made, and keep the tensors in memory.
        statistics: rule for running statistics at the server, for example of BatchNorm: ``averaged`` by sample sizes,
            ``kept`` by each client, of the ``last`` participant, or ``recomputed``
            (:mod:`fedspec_torch.federation.statistics`).
        clip: the largest norm of a client's gradient of a minibatch; longer gradients are scaled down to it.
        clip_value: the largest magnitude of an entry of that gradient; larger entries are clamped to it. It excludes
            ``clip``.
        weight_decay: lambda: lambda times the local model is added to the gradient, after clipping; so moments include
            it.
        accumulate: number of minibatches over which a gradient is averaged; they are passed through one after another.
        choices: the fastest methods by measurement, by the number of clients in a block (powers of two).

    Raises:
        ModuleError: the module has nothing to train, or a part that runs don't support; faults that only a call can
            show are raised at the first minibatch.
        LossError: the loss isn't a function.
        ShapeError: the clients' data differ in structure, shape or type.
        PlanError: ``batch_size`` or ``accumulate`` is less than 1, or ``statistics`` is unknown.
        ParameterError: ``clip``, ``clip_value`` or ``weight_decay`` is outside its domain, or both clips are given.
        UnknownNameError: ``way`` isn't the name of a gradient method.
    """

    model: nn.Module
    loss: Loss
    data: Sequence[Any] | Callable[[int], Any] | Numbered
    batch_size: int | None = None
    examples: Sequence[int] = ()
    seed: int = 0
    way: str | None = None
    shuffled: bool = True
    precision: str | None = None
    parts: Sequence[Any] | None = None
    keys: tuple[str, str] | None = None
    cached: bool = False
    statistics: str = Reading.AVERAGED
    clip: float | None = None
    clip_value: float | None = None
    weight_decay: float = 0.0
    accumulate: int = 1
    choices: dict[int, Choice] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        check_module(self.model, self.loss)
        warn_of_evaluation(self.model)
        check_reading(self.statistics)
        _ = self.stated
        if self.reader and self.batch_size is None:
            object.__setattr__(self, "batch_size", self.reader.batch_size)
        if self.batch_size is not None:
            check_whole("batch_size", self.batch_size, "a minibatch holds at least one example")
        check_whole("seed", self.seed, "what is drawn depends on a number", least=0)
        known = dict.fromkeys((*methods(), *WAYS))
        if self.way not in (None, *known):
            raise UnknownNameError(f"way: got {self.way!r}; known: {', '.join(known)}")
        if self.precision == "fp16":
            raise UnknownNameError(
                "precision: got 'fp16', in which small gradients become 0 unless a GradScaler scales the loss, and "
                "runs have none; give bf16, or enter torch.autocast(..., torch.float16) in forward"
            )
        if self.precision not in (None, "bf16"):
            raise UnknownNameError(f"precision: got {self.precision!r}; known: bf16")
        if self.precision and self.x0.dtype != torch.float32:
            raise ModuleError(f"precision: bf16 needs a model in float32; this one is in {self.x0.dtype}")
        if self.reader is None:
            for name in ("keys", "cached"):
                if getattr(self, name):
                    raise PlanError(f"{name}: given, but data isn't a Dataset; leave {name} out")
            if callable(self.data):
                check_counts(self.examples)
            elif isinstance(self.data, Tensor) or not all(hasattr(self.data, n) for n in ("__getitem__", "__len__")):
                raise ShapeError(f"data: got {type(self.data).__name__}; give a list with one batch for each client")
        if self.examples and not (self.reader is None and callable(self.data)):
            raise PlanError(
                "examples: given, but data isn't a function, so fedspec counts the examples; leave examples out"
            )
        # The model is read now: what becomes of the module later is another one.
        _ = self.pool, self.x0, self.b0, self.own, self.modes, self.network.running
        _ = self.pool.structure and self.network.call

    def __repr__(self) -> str:
        name, n, d = type(self.model).__name__, sum(self.pool.examples), len(self.x0)
        return f"<Federation: {len(self)} clients, {n} examples, {name} of {d} parameters>"

    @cached_property
    def modes(self) -> dict[nn.Module, bool]:
        """Training mode of each submodule when the federation was built."""
        return {part: part.training for part in self.model.modules()}

    @cached_property
    def network(self) -> Network:
        """Module as a function of one flat parameter vector."""
        return Network(self.model, self.loss, self.precision, lambda: self.structure)

    @cached_property
    def reader(self) -> Reader | None:
        """Reader of the examples if the data are Datasets, else None."""
        return reader(self.data, self.parts, self.keys)

    @cached_property
    def pool(self) -> Pool:
        """Source of the examples."""
        if self.reader is not None:
            self.reader.look()
            like = self.reader.structure
            made = GeneratedPool(self.reader, self.reader.examples, self.x0.device, "its Dataset", like)
            return Held([like.tree(made.of([i])[0]) for i in range(len(made.examples))]) if self.cached else made
        if callable(self.data):
            return GeneratedPool(self.data, self.examples, self.x0.device)
        batches: Any = self.data
        return Held(batches)

    @property
    def structure(self) -> Structure:
        """Structure of the clients' batches; if it isn't known yet, client 0's examples are generated."""
        if not self.pool.structure:
            self.pool.of([0])
        return cast("Structure", self.pool.structure)

    @cached_property
    def ways(self) -> Ways:
        """Choice of gradient methods."""
        return Ways(self.network, self.way, self.choices, self.x0)

    @cached_property
    def x0(self) -> Vector:
        """Initial model: the module's parameters when the federation was built."""
        return self.network.vector()

    @cached_property
    def stated(self) -> GradientOptions | None:
        """Options that are applied to every gradient; None if all are default."""
        found = GradientOptions(self.clip, self.clip_value, self.weight_decay, self.accumulate)
        return None if found == GradientOptions() else found

    @cached_property
    def b0(self) -> Vector:
        """Running statistics when the federation was built; empty if the module has none."""
        return read_buffers(self.network.running)

    @cached_property
    def own(self) -> Fingerprint:
        """Fingerprint of everything but the trained parameters in module and loss, when the federation was built."""
        return fingerprint_of(self.model, self.loss)

    @cached_property
    def setup(self) -> Setup:
        """Sample sizes and parameter shapes, which algorithms ask for before the first round."""
        return Setup(tuple(self.pool.examples), self.network.shapes)

    def __len__(self) -> int:
        return len(self.pool.examples)

    def in_round(self, round: int, *, keeps: bool = False, moving: Moving | None = None) -> Training:
        """Return the clients with their minibatches of that round."""
        minibatches = Minibatches(self.pool, self.batch_size, self.seed, self.shuffled)
        moving = moving or (Moving(self.b0) if self.network.running else None)
        return Training(self.ways, minibatches, round, keeps, moving=moving, stated=self.stated)

    def oracle(self, clients: Sequence[int]) -> Oracle:
        """Return the gradient function of these clients on their minibatches of round 0."""
        return self.in_round(0).oracle(clients)

    def module_at(self, x: Vector, b: Vector | None = None) -> nn.Module:
        """Return a copy of the module with parameters x and running statistics b (default: the initial ones).

        Raises:
            ModuleError: torch can't copy the module.
        """
        with self.network.lent(), torch.no_grad():
            self.network.put(x)
            write_buffers(self.network.running, self.b0 if b is None else b)
            with evaluating(self.model):
                recompute_hooked(self.model)
            try:
                copy = deepcopy(self.model)
            except Exception as error:
                raise ModuleError(
                    f"model: torch can't copy it ({type(error).__name__}: {error}); make another module, and set its "
                    "parameters: torch.nn.utils.vector_to_parameters(run.x, parameters that are trained)"
                ) from error
            # Copies of a scripted or traced module have plain tensors for parameters.
            for own, there in zip(self.model.parameters(), copy.parameters(), strict=True):
                there.requires_grad_(own.requires_grad)
            return copy

    @contextmanager
    def in_its_modes(self) -> Iterator[None]:
        """Put each submodule into the mode it had when the federation was built; restore the modes on exit."""
        with modes_kept(self.model):
            for part in self.model.modules():
                part.training = self.modes.get(part, part.training)
            yield

    def recomputed(self, x: Vector, who: Sequence[int]) -> Vector:
        """Return the running statistics [b] after one pass of model x over all examples of these clients."""
        leaves = tuple(map(torch.cat, zip(*(examples_of(self.pool, i) for i in who), strict=True)))
        norms = [part for part in self.model.modules() if tracks(part)]
        momenta = [part.momentum for part in norms]
        with self.network.lent(), evaluating(self.model), torch.no_grad():
            self.network.put(x)
            for part in norms:
                # A norm whose momentum is 1 keeps what it has seen last.
                part.training, part.momentum = True, 1.0
            try:
                self.network.call(self.model, leaves)
                return read_buffers(self.network.running)
            finally:
                for part, momentum in zip(norms, momenta, strict=True):
                    part.momentum = momentum

    def not_taken(self, client: int | None, test: Any = None) -> str:
        """Describe an example of a client, or of the test set, on which the module fails.

        Empty if that is true of none or of all examples; also on a GPU, where an index outside a table breaks every
        later call.
        """
        if self.x0.device.type != "cpu":
            return ""
        leaves = self.tested(test) if client is None else examples_of(self.pool, client)
        refused: list[int] = []
        with self.network.lent(), evaluating(self.model), torch.no_grad():
            self.network.put(self.x0)
            for k in range(len(leaves[0])):
                try:
                    self.network.call(self.model, [part[k : k + 1] for part in leaves])
                except Exception:
                    refused.append(k)
        if not 0 < len(refused) < len(leaves[0]):
            return ""
        k = refused[0]
        at = int(self.reader.parts[client][k]) if self.reader and client is not None else k
        target = leaves[-1][k]
        said = f", of target {target.item()}" if target.numel() == 1 else ""
        return f"it is example {at}{said}" + (f", and {len(refused) - 1} more" if len(refused) > 1 else "")

    def tested(self, test: Any, who: str = "test") -> Examples:
        """Return the tensors of a test batch, checked to have the structure of the clients' batches."""
        return checked_examples(who, test, self.pool.structure)[0]

    def evaluate(
        self, x: Vector, examples: Any, b: Vector | None = None, shown: Callable[[Any], Any] | None = None
    ) -> tuple[float, float]:
        """Return the loss, and the share of examples whose largest output is their class's (NaN without classes).

        The module is in its evaluation mode, with these running statistics; ``shown`` takes output and targets.
        """
        leaves = self.tested(examples)
        with (
            self.network.lent(),
            evaluating(self.model),
            torch.no_grad(),
            naming_owner(self.network, "the test examples", lambda: leaves),
        ):
            self.network.put(x)
            write_buffers(self.network.running, self.b0 if b is None else b)
            output, targets, loss = self.network.call(self.model, leaves)
            found = float(loss), accuracy(output, targets)
        if shown:
            shown((output, targets))
        return found


def on(federation: Federation, device: torch.device | str) -> Federation:
    """Move a federation, with module and data, to another device."""
    given: dict[str, Any] = {}
    if isinstance(pool := federation.pool, Held):
        data = [pool.structure.tree([part.to(device) for part in leaves]) for leaves in pool.leaves]
        given = {"data": data, "parts": None, "keys": None, "cached": False}
    with federation.in_its_modes():
        return replace(federation, model=federation.model.to(device), **given)
