"""Checks of a module and a loss on a minibatch: is the loss a deterministic function of parameters and minibatch?

A run is a function of model, minibatches and numbers alone; what draws at random, or keeps something from one call to
the next, would make it one of the order of calls too, and no saved run could go on as if it had not been stopped.
"""

from __future__ import annotations

import random
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor

from fedspec.errors import FedspecError, ShapeError
from fedspec_torch.arith import Stack, Vector, bytes_of
from fedspec_torch.data.examples import Examples, Minibatch
from fedspec_torch.federation.autotune import first_line
from fedspec_torch.federation.side_effects import WriteWatcher, held_values
from fedspec_torch.gradients import module_state
from fedspec_torch.gradients.methods import Network, looped
from fedspec_torch.gradients.vmap_guard import Watching, guard
from fedspec_torch.refusals import LossError, ModuleError, Reason

LOOKS = 10
"""Calls in a row after which a moved generator counts as moved by the module, and not by another thread."""


def check_same_parameters(network: Network, who: str = "it") -> None:
    """Raise an error if a parameter was replaced, added, removed, frozen or unfrozen since the federation was built.

    Raises:
        ModuleError: a parameter was replaced, added, removed, frozen or unfrozen; the message has the names of the
            parameters.
    """
    # While another thread calls the module, its parameters may be that thread's.
    with network.turn:
        held = dict(network.module.named_parameters())
    now = {name: p for name, p in held.items() if p.requires_grad and p.numel()}
    added = [name for name, p in now.items() if network.parameters.get(name) is not p]
    others = added + [name for name in network.parameters if name not in now]
    if others:
        raise ModuleError(
            f"model: {who} has other parameters than when the federation was made: {', '.join(others[:5])} (replaced, "
            "added, removed, frozen or unfrozen); make a new federation"
        )


def check_first(network: Network, x: Vector, near: Vector, leaves: Examples) -> None:
    """Call the module on one minibatch twice at each of two models, and raise an error if the calls aren't pure.

    The first calls are at the model that a plain loop begins with. Two more are beside it: what a loss keeps and moves
    towards the model does not move where it is. All are given the same draws of torch's generator, so that only other
    draws are told from each other; running statistics are other ones at the second call of two, which is to change
    nothing.

    Raises:
        ModuleError: the module, or the loss, draws from another generator, keeps state between calls, computes with its
            running statistics while it trains, or writes to its parameters or to the minibatch.
        LossError: the loss doesn't depend on the trained parameters, or isn't a number.
    """
    kept = {name: b.clone() for name, b in network.module.named_buffers() if name not in network.running}
    before, losses, known, wrote = _others(), [], [], list[list[str]]()
    given: dict[str, Tensor] = {f"the parameter {name}": p for name, p in network.parameters.items()}
    given |= {f"the {n} of a minibatch": p for n, p in zip(network.call.structure.tensors, leaves, strict=True)}
    with (
        network.lent(),
        module_state.restoring(x.device, network.running, draws=True),
        warnings.catch_warnings(),
    ):
        warnings.filterwarnings("error", "Using a target size")
        try:
            for model in (x, None, near, None):
                module_state.sow(x.device, 0)
                seeded = _torchs(x.device)
                # A second call is at the same versions of the same tensors: who goes by these keeps nothing.
                if model is not None:
                    network.put(model)
                else:
                    module_state.write_buffers(network.running, 2 * module_state.read_buffers(network.running) + 1)
                looked = explaining_watched(network, leaves)
                with torch.enable_grad(), looked, Watching(network.asked), WriteWatcher(given) as written:
                    loss = network.value_of(network.module, leaves)
                losses.append(loss.detach())
                known.append(held_values(network.module, network.loss))
                wrote.append(written.names)
                if seeded != _torchs(x.device) and (written.drew or _draws(network, leaves, x.device)):
                    network.asked.add(module_state.RANDOM)
            drew = before != _others() and _moves(_others, lambda: network.value_of(network.module, leaves))
        except UserWarning as error:
            raise ShapeError(
                f"loss: {str(error).split('. ')[0]}: outputs would be compared with other examples' targets; give "
                "targets in the shape of the output (unsqueeze)"
            ) from error
    if wrote[0] and not any(wrote[1:]):
        raise ModuleError(
            f"model: it, or the loss, {Reason.WRITES} when it is first called: {', '.join(wrote[0])}, for example to "
            "initialise from data; make a new module, and call it once on a minibatch before you make the federation"
        )
    if any(wrote):
        names = [*dict.fromkeys(name for some in wrote for name in some)]
        raise ModuleError(
            f"model: it, or the loss, {Reason.WRITES}: {', '.join(names)} (inplace=True, a clamp, max_norm); only the "
            "algorithm may change parameters, and minibatches must stay the same: write to a copy"
        )
    check_same_parameters(network, "forward, or the loss, has changed which parameters it has; it")
    if drew:
        raise ModuleError(
            f"model: it, or the loss, {Reason.DRAWS}, from a generator of Python's or NumPy's, which fedspec can't "
            "seed, so runs couldn't be repeated or resumed; draw from torch's own generator, as dropout does"
        )
    for name, buffer in network.module.named_buffers():
        # As numbers of bytes: what is no number is not equal to itself.
        is_same = name in network.running or (name in kept and torch.equal(bytes_of(buffer), bytes_of(kept[name])))
        if not is_same:
            # The way out is to train the same module in another mode, from the buffers that its user gave.
            with torch.no_grad():
                for own, value in kept.items():
                    network.module.get_buffer(own).copy_(value)
            raise ModuleError(
                f"model: it {Reason.KEEPS}: its buffer {name} changes with every call, and isn't a running statistic "
                "of one of torch's norms; call model.eval(), or don't change the buffer in forward"
            )
    moved = (where for one, other in (known[:2], known[2:]) for where in other if one.get(where) != other[where])
    if where := next(moved, ""):
        raise ModuleError(
            f"model: it, or the loss, {Reason.KEEPS}: {where} differs after each of two calls with the same parameters "
            "and minibatch; make the loss a function of its inputs, and record values outside of it"
        )
    # A GPU may add in another order; running statistics were others at the second of two calls.
    for one, other in (losses[:2], losses[2:]):
        if torch.allclose(one, other, rtol=1e-3, atol=0, equal_nan=True):
            continue
        raise ModuleError(
            f"model: two calls with the same parameters and minibatch have losses {one.item()} and {other.item()}; it "
            f"{Reason.KEEPS}, such as running statistics that it computes with, or {Reason.DRAWS}: make the loss a "
            "function of its inputs"
        )
    if not loss.requires_grad:
        raise LossError(
            f"loss: it {Reason.BLIND} that is trained, or torch can't differentiate it (detach, argmax, comparison, "
            "numbers of Python or NumPy); compute it by torch from the model's output"
        )


@contextmanager
def explaining_watched(network: Network, leaves: Examples) -> Iterator[None]:
    """Explain errors that occur only while fedspec watches operators, such as CTC's on lengths on the CPU.

    Raises:
        ModuleError: the call fails only while fedspec watches operators; this error replaces torch's error.
    """
    try:
        yield
    except Exception as error:
        try:
            network.value_of(network.module, leaves)
        except Exception:
            raise error from None
        raise ModuleError(
            f"model: it, or the loss, {Reason.UNSEEN}: {type(error).__name__}: {first_line(error)}; while fedspec "
            "observes operators, torch takes others, and the call fails only then; create tensors in forward or loss, "
            "such as lengths and masks, on the device and in the type of their inputs"
        ) from error


@contextmanager
def naming_owner(
    network: Network, whose: str, examples: Callable[[], Examples], client: int | None = None
) -> Iterator[None]:
    """Turn an error of the model or loss into a ModuleError that names the minibatch's owner and its content.

    Raises:
        ModuleError: the model or the loss fails; this error replaces torch's error.
    """
    try:
        yield
    except (FedspecError, torch.OutOfMemoryError):
        raise
    except Exception as error:
        # An assertion, a key that is not there: whatever a forward or a loss raises.
        parts = zip(network.call.structure.tensors, examples(), strict=True)
        refused = ModuleError(
            f"model: it, or the loss, does not take a minibatch of {whose}, "
            f"{' and '.join(f'{what} {_told(part)}' for what, part in parts)}: {type(error).__name__}: "
            f"{first_line(error)}; see that plain torch trains on one, called as {network.call.words}, "
            f"and give data that fit the model, in its type"
        )
        refused.client = client
        raise refused from error


@contextmanager
def naming_clients(network: Network, who: Sequence[int], batches: Sequence[Minibatch]) -> Iterator[None]:
    """Turn an error of the model or loss into one that names the clients of the last minibatch in ``batches``."""
    some = ", ".join(map(str, who[:5])) + (", ..." if len(who) > 5 else "")
    one = who[0] if len(who) == 1 else None
    with naming_owner(network, f"client{'s' * (len(who) > 1)} {some}", lambda: batches[-1].leaves, one):
        yield


@contextmanager
def naming_culprit(network: Network, who: Sequence[int], x: Stack, batches: Sequence[Minibatch]) -> Iterator[None]:
    """Turn an error of any gradient method into one that names the client on which plain autograd fails too.

    Raises:
        ModuleError: a gradient method fails; this error replaces torch's error.
    """
    with naming_clients(network, who, batches):
        try:
            yield
        except (FedspecError, torch.OutOfMemoryError):
            raise
        except Exception:
            for j, client in enumerate(who[: len(batches[-1].leaves[0])] if batches else ()):
                alone = batches[-1].alone(j)
                # On a GPU an index outside a table would break off every call that comes after.
                asked = network.asked if x.device.type == "cuda" else set[str]()
                with naming_clients(network, [client], [alone]), guard(asked):
                    looped(network, x[j : j + 1], alone)
            raise


def _told(part: Tensor) -> str:
    """Shape and type, and of whole numbers which."""
    whole = part.numel() and not (part.is_floating_point() or part.is_complex())
    return f"{tuple(part.shape)} {part.dtype}" + (f" from {int(part.min())} to {int(part.max())}" if whole else "")


def _torchs(device: torch.device) -> list[bytes]:
    states = [torch.get_rng_state()]
    states += [torch.cuda.get_rng_state(device)] if device.type == "cuda" else []
    return [state.numpy().tobytes() for state in states]


def _others() -> list[bytes]:
    # NumPy's global state is what a module that calls np.random draws from.
    _, words, *more = np.random.get_state()
    return [repr(random.getstate()).encode(), np.asarray(words).tobytes(), repr(more).encode()]


def _draws(network: Network, leaves: Examples, device: torch.device) -> bool:
    return _moves(lambda: _torchs(device), lambda: network.value_of(network.module, leaves))


def _moves(state: Callable[[], list[bytes]], call: Callable[[], object]) -> bool:
    """True if a generator moves with every call; another thread may have drawn from it."""
    if threading.active_count() == 1:
        return True
    for _ in range(LOOKS):
        before = state()
        call()
        if before == state():
            return False
    return True
