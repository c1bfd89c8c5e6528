"""Gradients of a module for a stack of clients, each at its own parameters and on its own minibatch.

Four ways to the same numbers, up to the order of sums, which don't depend on the layers that a module has:

* ``stacked``: the forward pass of all clients under ``vmap``, then one plain backward pass of the summed losses;
* ``vmapped``: forward and backward pass of one client under ``vmap``;
* ``looped``: one client after another, plain autograd on the module itself with its parameters set: it takes any
  module, and is what the others are held to (:mod:`fedspec_torch.gradients.gradcheck`);
* ``channels_last``: the same with images, and the weights of convolutions, in that memory format.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad_and_value, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel

from fedspec.errors import ShapeError
from fedspec_torch.arith import Stack, Vector, Weights, fills_device
from fedspec_torch.data.examples import Examples, Minibatch
from fedspec_torch.data.structures import PAIR, Structure
from fedspec_torch.gradients import heap, module_state
from fedspec_torch.gradients.calls import Call, Loss, call_of
from fedspec_torch.gradients.dropout import masking
from fedspec_torch.gradients.recurrent import stepping_of
from fedspec_torch.gradients.vmap_guard import guard
from fedspec_torch.refusals import ModuleError, Reason

Method: TypeAlias = Callable[..., tuple[Stack, Weights]]
"""Gradient method of a network: from models [n, d] and minibatches [n, b, ...] to gradients [n, d] and losses [n]."""

IMAGES = 4
"""Number of axes of a minibatch of images, and of a 2-D convolution's weights."""

KEPT = torch.preserve_format
"""Memory format that leaves parameters and images as they are."""

LYING = "in a vector"
"""Marker of parameters that are views of a vector while they are lent."""

_turns: WeakKeyDictionary[nn.Module, threading.RLock] = WeakKeyDictionary()
_asked = threading.Lock()


@dataclass(eq=False)
class Network:
    """A module as a function of one flat vector of its trainable parameters.

    Attributes:
        module: the module to train; a caller has exclusive use of it, and must restore its parameters.
        loss: loss of an output and its targets, or None (:mod:`fedspec_torch.gradients.calls`).
        precision: None: the parameters' type; ``bf16``: matrix products of numbers that are rounded to bfloat16, as in
            ``torch.autocast``, and everything else in float32.
        asked: the torch functions that module and loss called in the first call
            (:mod:`fedspec_torch.gradients.vmap_guard`).
    """

    module: nn.Module
    loss: Loss
    precision: str | None = None
    structure: Callable[[], Structure] = lambda: PAIR
    """Return the structure of minibatches, once the first is known."""
    asked: set[str] = field(default_factory=set, init=False, repr=False)
    lies: bool = field(default=False, init=False)
    """True if parameters may be views of a vector; a view of a parameter, in the module or a closure, would not
    follow.
    """
    _memory: threading.local = field(default_factory=threading.local, init=False, repr=False)

    @cached_property
    def parameters(self) -> dict[str, nn.Parameter]:
        """Non-empty trained parameters by name; a shared parameter occurs once."""
        return {name: p for name, p in self.module.named_parameters() if p.requires_grad and p.numel()}

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the trained parameters, by name."""
        return {name: tuple(p.shape) for name, p in self.parameters.items()}

    @cached_property
    def call(self) -> Call:
        """Call of the module and the loss on a minibatch."""
        return call_of(self.module, self.loss, self.structure())

    @cached_property
    def running(self) -> dict[str, Tensor]:
        """Buffers that hold running statistics, by name."""
        return module_state.running(self.module)

    @property
    def draws(self) -> bool:
        """True if module or loss drew random numbers at the first call."""
        return module_state.RANDOM in self.asked

    @cached_property
    def stepping(self) -> Callable[[], AbstractContextManager[Any]]:
        """Context of vmapped calls: recurrent layers step by step, if the module has any."""
        return stepping_of(self.module)

    @property
    def by_itself(self) -> str:
        """Reason why clients need plain autograd one by one, or masks of their own in a stack; "" if none."""
        return f"it {Reason.DRAWS}, and each client has draws of its own" if self.draws else ""

    @property
    def ways(self) -> list[str]:
        """Names of ``METHODS`` that are worth trying.

        Masks are drawn in the order of memory, so that what draws would draw others in another format.
        """
        images = not self.draws and any(len(shape) == IMAGES for shape in self.shapes.values())
        alone = [name for name in ALONE if images or name != CHANNELS_LAST]
        if self.is_large:
            return alone
        return [*(["stacked"] if self.draws else ["stacked", "vmapped"]), *alone]

    @cached_property
    def is_large(self) -> bool:
        """True if one client's model fills the device, so that clients are trained one after another."""
        first, *_ = self.parameters.values()
        return fills_device(sum(self.sizes), first)

    @cached_property
    def sizes(self) -> list[int]:
        """Number of entries of each parameter."""
        return [prod(shape) for shape in self.shapes.values()]

    @cached_property
    def places(self) -> dict[str, tuple[str, ...]]:
        """Paths of each parameter in the module; a parameter that submodules share has several.

        A part that has several names is entered by one of them: torch 2.13 leaves the last call's tensors in it
        otherwise.
        """
        found: dict[int, list[str]] = {}
        for prefix, part in self.module.named_modules():
            for name, p in part._parameters.items():
                if p is not None:
                    found.setdefault(id(p), []).append(f"{prefix}.{name}".lstrip("."))
        return {name: tuple(found[id(p)]) for name, p in self.parameters.items()}

    def buffer(self, x: Stack, name: str = "") -> Stack:
        """Return this thread's buffer for the gradients of such a block, or for a solver's vectors of that name."""
        return self.kept(f"vector {name}", lambda: x.new_empty(x.shape), x)[: len(x)]

    def kept(self, name: str, make: Callable[[], Any], x: Stack | None = None, more: object = None) -> Any:
        """Return this thread's value of that name, which is made at the first call.

        If x is given, it is made anew for a block of another type, for one that is larger, or if ``more`` is another.
        """
        held, n = vars(self._memory), 0 if x is None else len(x)
        key = None if x is None else (x.dtype, x.device, more)
        if name not in held or held[name][0] != key or held[name][1] < n:
            # The old one leaves its memory.
            held.pop(name, None)
            held[name] = (key, n, make())
        return held[name][2]

    @cached_property
    def turn(self) -> threading.RLock:
        """Lock for calls of the module, shared by federations and threads."""
        with _asked:
            return _turns.setdefault(self.module, threading.RLock())

    @contextmanager
    def lent(self, form: torch.memory_format = KEPT) -> Iterator[list[nn.Parameter]]:
        """Lend the module's parameters to be overwritten; on exit restore them and their gradients.

        Who has them in this thread in that format may have them again, and hands them on as they are.

        Args:
            form: the memory format of parameters with four axes while they are lent.
        """
        parameters, outside = list(self.parameters.values()), vars(self._memory).get("lent")
        if outside == form:
            yield parameters
            return
        aside = module_state.restoring(parameters[0].device, self.running, draws=self.draws)
        with self.turn, aside:
            before = [(p.detach().clone(), p.grad) for p in parameters]
            laid = [(p, p.data) for p in parameters if p.dim() == IMAGES and form is not (outside or KEPT)]
            try:
                for p, data in laid:
                    p.data = data.clone(memory_format=torch.contiguous_format if form is KEPT else form)
                self._memory.lent = form
                yield parameters
            finally:
                self._memory.lent = outside
                for p, data in laid:
                    p.data = data
                with torch.no_grad():
                    for p, (value, grad) in zip(parameters, before, strict=True):
                        p.copy_(value)
                        p.grad = grad

    @contextmanager
    def lying_in(
        self, y: Vector, g: Vector | None = None, form: torch.memory_format = KEPT
    ) -> Iterator[list[nn.Parameter]]:
        """Lend the module's parameters as views of the vector y, so that a step on them is a step on y.

        If :attr:`lies` isn't known, or y has another format or type, the parameters are a copy of the vector, which is
        written back at the end.

        Args:
            y: the vector.
            g: the vector in which the gradients are accumulated; None: in torch's own ``.grad`` tensors.
            form: the memory format of parameters with four axes.
        """
        parameters = list(self.parameters.values())
        if not self.lies or form is not KEPT or any(p.dtype != y.dtype for p in parameters):
            with self.lent(form):
                self.put(y)
                yield parameters
                if g is not None:
                    self.collect(g)
                torch.cat([p.detach().reshape(-1) for p in parameters], out=y)
            return
        grads = [None] * len(parameters) if g is None else [*self.named(g.zero_()).values()]
        outside = vars(self._memory).get("lent")
        aside = module_state.restoring(y.device, self.running, draws=self.draws) if outside is None else nullcontext()
        with self.turn, aside, heap.reused(y.nbytes) if y.device.type == "cpu" else nullcontext():
            before = [(p.data, p.grad) for p in parameters]
            try:
                self._memory.lent = LYING
                for p, part, grad in zip(parameters, self.named(y).values(), grads, strict=True):
                    p.data, p.grad = part, grad
                yield parameters
            finally:
                self._memory.lent = outside
                for p, (data, grad) in zip(parameters, before, strict=True):
                    p.data, p.grad = data, grad

    def put(self, x: Vector) -> None:
        """Set the module's parameters to the vector x, and clear their gradients."""
        with torch.no_grad():
            copied([*self.parameters.values()], [*self.named(x).values()])
            for p in self.parameters.values():
                p.grad = None

    def collect(self, g: Vector) -> None:
        """Write the gradients of the module's parameters to g; a parameter that the loss doesn't use gets zero."""
        parameters = self.parameters.values()
        found = [torch.zeros_like(p) if p.grad is None else p.grad.to_dense() for p in parameters]
        copied([*self.named(g).values()], found)

    @contextmanager
    def of_client(self, batch: Minibatch, j: int) -> Iterator[None]:
        """Set client j's random seed and running statistics for a call, and store the new statistics."""
        if batch.seeds and self.draws:
            module_state.sow(batch.leaves[0].device, batch.seeds[j])
        if batch.statistics is None:
            yield
            return
        module_state.write_buffers(self.running, batch.statistics[j])
        yield
        batch.statistics[j] = module_state.read_buffers(self.running)

    def backward(self, leaves: Examples, form: torch.memory_format = KEPT) -> Tensor:
        """Compute the loss of a minibatch, fill the parameters' ``grad``, and return the loss."""
        if form is not KEPT:
            leaves = tuple(part.contiguous(memory_format=form) if part.dim() == IMAGES else part for part in leaves)
        with torch.enable_grad():
            loss = self.value_of(self.module, leaves)
            loss.backward()  # type: ignore[no-untyped-call]
        return loss.detach()

    def rounding(self, device: torch.device) -> AbstractContextManager[Any]:
        """Return the autocast context of the precision; a null context without one."""
        return torch.autocast(device.type, torch.bfloat16) if self.precision else nullcontext()

    def vector(self) -> Vector:
        """Return the module's current parameters as one new vector."""
        return torch.cat([p.detach().reshape(-1) for p in self.parameters.values()])

    def named(self, x: Vector | Stack) -> dict[str, Tensor]:
        """Return views of the parameters in a vector [d], or in a stack [n, d], by name."""
        parts = x.split(self.sizes, dim=-1)
        lead = x.shape[:-1]
        return {n: part.reshape((*lead, *shape)) for (n, shape), part in zip(self.shapes.items(), parts, strict=True)}

    def value(
        self, parameters: Mapping[str, Tensor], running: Mapping[str, Tensor], *leaves: Tensor
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the loss of a minibatch, and the running statistics after it.

        Args:
            parameters: tensors in place of the module's trained parameters.
            running: tensors in place of its running statistics.
            leaves: the minibatch.

        Raises:
            ShapeError: the loss isn't a single number.
        """
        at = {place: parameters[name] for name, places in self.places.items() for place in places}
        # A norm writes to what it is given.
        after = {name: buffer.clone() for name, buffer in running.items()}
        loss = self.value_of(
            lambda *a, **named: functional_call(self.module, at | after, a, named, tie_weights=False), leaves
        )
        return loss, after

    def running_of(self, batch: Minibatch) -> dict[str, Tensor]:
        """Return the clients' running statistics before a call, as the module's buffers with an axis of clients."""
        return {} if batch.statistics is None else module_state.split_buffers(self.running, batch.statistics)

    def value_of(self, run: Callable[..., Any], leaves: Examples) -> Tensor:
        """Return the loss of a minibatch, where ``run`` computes the module's output.

        Raises:
            ShapeError: the loss isn't a single number.
        """
        with self.rounding(leaves[0].device):
            *_, loss = self.call(run, leaves)
        if not isinstance(loss, Tensor):
            raise ShapeError(f"loss: got {type(loss).__name__}; return one number as a tensor (leave out float, item)")
        if loss.numel() != 1:
            raise ShapeError(
                f"loss: got shape {tuple(loss.shape)}; return one number (take the mean over the minibatch)"
            )
        return loss.reshape(())


def stacked(network: Network, x: Stack, batch: Minibatch) -> tuple[Stack, Weights]:
    """Gradients of all clients by one vmapped forward pass and one backward pass of the summed losses.

    torch's own rule for a norm under vmap takes clients as further channels, so each has its own statistics.
    """
    leaf = x.detach().requires_grad_()
    masks = masking(network.draws, x.device, batch.seeds)
    with torch.enable_grad(), network.turn, guard(network.asked), attending(), network.stepping(), masks as drawn:
        run = vmap(network.value) if drawn is None else drawn.over(network.value)
        losses, after = run(network.named(leaf), network.running_of(batch), *batch.leaves)
        (g,) = torch.autograd.grad(losses.sum(), leaf)
    _keep(batch, after)
    return g, losses.detach()


def _keep(batch: Minibatch, after: Mapping[str, Tensor]) -> None:
    """Store the clients' running statistics after a call."""
    if batch.statistics is not None:
        batch.statistics.copy_(module_state.read_buffers(after, axes=1))


def attending() -> AbstractContextManager[Any]:
    """Use torch's plain attention (two products and a softmax) inside this context.

    Of a hundred clients' transformers torch's kernels for it were refused under vmap (``stacked``), or took three times
    as long (``vmapped``), on an H200 with torch 2.11. On a CPU vmap calls them for one client after another.
    """
    found: AbstractContextManager[Any] = sdpa_kernel(SDPBackend.MATH)
    return found


def vmapped(network: Network, x: Stack, batch: Minibatch) -> tuple[Stack, Weights]:
    """Gradients of all clients by vmap of one client's gradient."""

    def one(row: Vector, running: Mapping[str, Tensor], *leaves: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        return network.value(network.named(row), running, *leaves)

    with network.turn, guard(network.asked), attending(), network.stepping():
        g, (losses, after) = vmap(grad_and_value(one, has_aux=True))(
            x.detach(), network.running_of(batch), *batch.leaves
        )
    _keep(batch, after)
    # What the loss holds beside may want gradients of its own.
    return g.detach(), losses.detach()


def looped(
    network: Network, x: Stack, batch: Minibatch, form: torch.memory_format = KEPT, out: Stack | None = None
) -> tuple[Stack, Weights]:
    """Gradients by plain autograd, one client after another.

    Args:
        network: the module and the loss.
        x: [n, d] the clients' models.
        batch: the clients' minibatches.
        form: the memory format of images and of convolution weights.
        out: the tensor to which the gradients are written; None: a new tensor.

    Raises:
        ModuleError: the module has changed its parameters.
    """
    g = torch.empty_like(x, memory_format=torch.contiguous_format) if out is None else out
    losses = x.new_empty(len(x))
    if network.lies:
        for j, leaves in enumerate(zip(*batch.leaves, strict=True)):
            with network.lying_in(x[j], g[j], form) as parameters, network.of_client(batch, j), unwritten(parameters):
                losses[j] = network.backward(leaves, form)
        return g, losses
    with network.lent(form) as parameters:
        for j, leaves in enumerate(zip(*batch.leaves, strict=True)):
            network.put(x[j])
            with network.of_client(batch, j):
                losses[j] = network.backward(leaves, form)
            for p, was in zip(parameters, network.named(x[j]).values(), strict=True):
                check_unwritten(p, was)
            network.collect(g[j])
    return g, losses


def channels_last(network: Network, x: Stack, batch: Minibatch) -> tuple[Stack, Weights]:
    """Gradients by plain autograd, one client after another, with images and convolutions in channels_last format.

    Raises:
        ModuleError: the module has changed its parameters.
    """
    return looped(network, x, batch, form_of(CHANNELS_LAST))


def form_of(way: str | None) -> torch.memory_format:
    """Return the memory format that a gradient method uses for images and convolution weights."""
    return torch.channels_last if way == CHANNELS_LAST else KEPT


def copied(to: Sequence[Tensor], values: Sequence[Tensor]) -> None:
    """Copy tensors into given tensors in one call."""
    write: Any = torch._foreach_copy_
    write(to, values)


@contextmanager
def unwritten(parameters: Sequence[Tensor]) -> Iterator[None]:
    """Raise an error if the call inside changes a parameter, judged by tensor versions: no parameter is read for it.

    Raises:
        ModuleError: the call wrote to a parameter.
    """
    versions = [p._version for p in parameters]
    yield
    for p, version in zip(parameters, versions, strict=True):
        if p._version != version:
            raise was_written(p)


def check_unwritten(p: Tensor, was: Tensor) -> None:
    """Raise an error if a parameter differs from the value that it was given.

    Raises:
        ModuleError: a parameter's value has changed.
    """
    if not torch.equal(p.detach(), was) and not bool(was.isnan().any()):
        raise was_written(p)


def was_written(p: Tensor) -> ModuleError:
    """Return the error for a module that writes to its parameters."""
    return ModuleError(
        f"model: it {Reason.WRITES}: a parameter of shape {tuple(p.shape)} is another after a call (a clamp, "
        f"max_norm), and what becomes of it is the algorithm's; use a parametrization, or clamp a copy"
    )


METHODS: dict[str, Method] = {
    "stacked": stacked,
    "vmapped": vmapped,
    "looped": looped,
    "channels_last": channels_last,
}
"""Gradient methods by name that don't depend on a module's layers."""

CHANNELS_LAST = "channels_last"


ALONE = {"looped": "alone", CHANNELS_LAST: CHANNELS_LAST}
"""Methods that train one client after another by plain autograd, and the name of their runs of SGD."""
