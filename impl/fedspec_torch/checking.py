"""Whether a module and a loss can be trained as they are: what is seen before anything runs, and on a first minibatch.

A run is a function of model, minibatches and numbers alone; what draws at random, or keeps something from one call to
the next, would make it one of the order of calls too, and no saved run could go on as if it had not been stopped.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fedspec.errors import FedspecError, ShapeError
from fedspec_torch.arith import Stack, Vector
from fedspec_torch.choosing import first_line
from fedspec_torch.data import Minibatch
from fedspec_torch.gradients import Loss, Network, looped
from fedspec_torch.memories import Written, kept_by
from fedspec_torch.refusals import LossError, ModuleError, Reason
from fedspec_torch.watching import Watching


def check_module(module: nn.Module, loss: Loss) -> None:
    """Refuse a module whose loss depends on more than its parameters and the minibatch, as far as its parts show it.

    Raises:
        ModuleError: with the name of the part.
        LossError: the loss is no function.
    """
    if not isinstance(module, nn.Module):
        raise ModuleError(f"model: got {type(module).__name__}; give a torch.nn.Module")
    if not callable(loss):
        raise LossError(f"loss: got {loss!r}; give a function of output and targets, such as F.cross_entropy")
    check_mode("Federation")
    check_listed(module)
    for name, part in module.named_modules():
        where = f"model: {name or 'the module'} ({type(part).__name__})"
        if getattr(part, "track_running_stats", False):
            raise ModuleError(
                f"{where} {Reason.STATISTICS}, which no algorithm here averages; "
                f"use GroupNorm or LayerNorm, or track_running_stats=False"
            )
        if isinstance(part, nn.modules.dropout._DropoutNd) and part.training and part.p > 0:
            raise ModuleError(f"{where} {Reason.DRAWS} what it drops; call model.eval(), or set its p to 0")
        if any(isinstance(p, nn.parameter.UninitializedParameter) for p in part.parameters(recurse=False)):
            raise ModuleError(f"{where} has no shapes yet; call the model on a minibatch once before")
    if not any(p.requires_grad and p.numel() for p in module.parameters()):
        raise ModuleError("model: nothing to train; a module needs a parameter with requires_grad and a number in it")
    kinds = {(p.dtype, p.device) for p in module.parameters() if p.requires_grad}
    for dtype, device in sorted(kinds, key=str):
        if dtype.is_complex:
            raise ModuleError(
                f"model: it has parameters of {dtype}, and runs are in real numbers; hold real and imaginary parts in "
                f"a parameter of float32 or float64 (torch.view_as_real) and join them in forward (view_as_complex)"
            )
        if dtype not in (torch.float32, torch.float64):
            raise ModuleError(
                f"model: it has parameters of {dtype}, and runs are in float32 or float64; give model.float(), "
                f"and Federation(..., precision='bf16') for gradients in bfloat16"
            )
        if device.type == "meta":
            raise ModuleError("model: it has parameters without values, on meta; give them some (model.to_empty, init)")
    if len(kinds) > 1:
        raise ModuleError(
            f"model: its parameters are of {' and '.join(sorted(f'{t} on {d}' for t, d in kinds))}; "
            f"one vector holds them all, so give all one type and device"
        )
    check_apart({name: p for name, p in module.named_parameters() if p.requires_grad and p.numel()})


def check_mode(what: str) -> None:
    """Refuse to begin where torch differentiates nothing, whatever a module is.

    Raises:
        ModuleError: torch.inference_mode is on.
    """
    if torch.is_inference_mode_enabled():
        raise ModuleError(f"{what}: torch.inference_mode is on, in which no gradient can be computed; leave it before")


def check_listed(module: nn.Module) -> None:
    """Refuse a module that says of itself that it has other parameters than its parts have.

    Raises:
        ModuleError: with those of which nobody knows whether they are to be trained.
    """
    held = dict(nn.Module.named_parameters(module))
    trained = {id(p) for p in held.values() if p.requires_grad}
    # The second of them asks the first.
    for name in ("named_parameters", "parameters"):
        listed = {id(p) for p in map(_parameter, getattr(module, name)()) if p.requires_grad}
        others = [at for at, p in held.items() if id(p) in trained ^ listed]
        if listed != trained:
            raise ModuleError(
                f"model: {type(module).__name__} has a method {name} of its own, which lists other parameters than its "
                f"parts have ({', '.join(others[:5]) or 'not of any part'}); leave it as torch has it, and call "
                f"requires_grad_(False) on what is not to be trained"
            )


def _parameter(listed: Any) -> Tensor:
    found: Tensor = listed[1] if isinstance(listed, tuple) else listed
    return found


def check_apart(parameters: Mapping[str, Tensor]) -> None:
    """Refuse parameters that lie in the same memory, each of which would be written over by the other.

    Raises:
        ModuleError: with two of them.
        ModuleError: one was made in torch.inference_mode.
    """
    ends: list[tuple[int, int, str]] = []
    for name, p in parameters.items():
        if p.is_inference():
            raise ModuleError(f"model: {name} was made in torch.inference_mode, and has no gradient; make it outside")
        if p.layout != torch.strided or p.device.type == "meta":
            continue
        if any(n > 1 and step == 0 for n, step in zip(p.shape, p.stride(), strict=True)):
            raise ModuleError(f"model: numbers of {name} lie in the same memory (expand); give it a clone of its own")
        length = 1 + sum((n - 1) * step for n, step in zip(p.shape, p.stride(), strict=True))
        ends.append((p.data_ptr(), p.data_ptr() + length * p.element_size(), name))
    ends.sort()
    for (_, end, one), (begin, _, other) in pairwise(ends):
        if begin < end:
            raise ModuleError(
                f"model: {one} and {other} are two parameters in the same memory (tied by .data); give both parts one "
                f"parameter (a.weight = b.weight), or compute one from the other in forward"
            )


def check_same_parameters(network: Network, who: str = "it") -> None:
    """Refuse a module of which a part was replaced, added, frozen or unfrozen since: nobody would train it.

    Raises:
        ModuleError: with the names of its parameters.
    """
    # While another thread calls the module, its parameters may be that thread's.
    with network.turn:
        held = dict(network.module.named_parameters())
    now = {name: p for name, p in held.items() if p.requires_grad and p.numel()}
    added = [name for name, p in now.items() if network.parameters.get(name) is not p]
    others = added + [name for name in network.parameters if name not in now]
    if others:
        raise ModuleError(
            f"model: {who} has other parameters than when the federation was made: {', '.join(others[:5])} "
            f"(replaced, added, removed, frozen or unfrozen); make another federation of it"
        )


def check_first(network: Network, x: Vector, inputs: Tensor, targets: Tensor) -> None:
    """Refuse what two calls at one model on one minibatch show: draws, something kept or written, no gradient.

    Raises:
        ModuleError: the module, or the loss, draws at random, keeps something between calls, or writes to its
            parameters or to the minibatch.
        LossError: the loss does not depend on what is trained, or is no number.
    """
    kept = {name: buffer.clone() for name, buffer in network.module.named_buffers()}
    drawn, losses, known, wrote = _generators(x.device), [], [], list[list[str]]()
    given: dict[str, Tensor] = {f"the parameter {name}": p for name, p in network.parameters.items()}
    given |= {"the inputs of a minibatch": inputs, "the targets of a minibatch": targets}
    with network.lent(), warnings.catch_warnings():
        warnings.filterwarnings("error", "Using a target size")
        network.put(x)
        try:
            for _ in range(2):
                with torch.enable_grad(), Watching(network.asked), Written(given) as written:
                    loss = network.value_of(network.module, inputs, targets)
                losses.append(loss.detach())
                known.append(kept_by(network.module, network.loss))
                wrote.append(written.names)
        except UserWarning as error:
            raise ShapeError(
                f"loss: {str(error).split('. ')[0]}: outputs would be compared with targets of others; "
                f"give targets in the shape of the output (unsqueeze)"
            ) from error
    if wrote[0] and not wrote[1]:
        raise ModuleError(
            f"model: it, or the loss, {Reason.WRITES} when it is first called: {', '.join(wrote[0])}, as if it began "
            f"with the data; make it anew, and call it once on a minibatch before the federation is made"
        )
    if wrote[1]:
        raise ModuleError(
            f"model: it, or the loss, {Reason.WRITES}: {', '.join(wrote[1])} (inplace=True, a clamp, max_norm); "
            f"what becomes of parameters is the algorithm's, and minibatches are the clients': write to a copy"
        )
    check_same_parameters(network, "forward, or the loss, has changed which parameters it has; it")
    if drawn != _generators(x.device):
        raise ModuleError(
            f"model: it, or the loss, {Reason.DRAWS} (dropout, noise), so that no run could be repeated or resumed; "
            f"call model.eval(), or draw from the inputs alone"
        )
    for name, buffer in network.module.named_buffers():
        # As numbers of bytes: what is no number is not equal to itself.
        if name not in kept or not torch.equal(_bytes(buffer), _bytes(kept[name])):
            raise ModuleError(
                f"model: it {Reason.KEEPS}: its buffer {name} changes with every call, as a running statistic, which "
                f"no algorithm here averages; call model.eval(), or leave it as it is"
            )
    for where, value in known[1].items():
        if known[0].get(where) != value:
            raise ModuleError(
                f"model: it, or the loss, {Reason.KEEPS}: {where} is another after each of two calls with the same "
                f"parameters and minibatch; make it a function of its inputs, and keep notes outside of it"
            )
    # A GPU may add in another order.
    if not torch.allclose(losses[0], losses[1], rtol=1e-3, atol=0, equal_nan=True):
        raise ModuleError(
            f"model: two calls with the same parameters and minibatch have losses {losses[0].item()} and "
            f"{losses[1].item()}; it {Reason.KEEPS}, or {Reason.DRAWS}: make it a function of its inputs"
        )
    if not loss.requires_grad:
        raise LossError(
            f"loss: it {Reason.BLIND} that is trained, or torch is not told how (detach, argmax, "
            "comparison, numbers of Python or NumPy); compute it by torch from the model's output"
        )


@contextmanager
def named(whose: str, examples: Callable[[], tuple[Tensor, Tensor]]) -> Iterator[None]:
    """What model and loss do not take is told with whose it is and what is in it.

    Raises:
        ModuleError: in place of torch's error.
    """
    try:
        yield
    except (FedspecError, torch.OutOfMemoryError):
        raise
    except Exception as error:
        # An assertion, a key that is not there: whatever a forward or a loss raises.
        inputs, targets = examples()
        raise ModuleError(
            f"model: it, or the loss, does not take a minibatch of {whose}, inputs {_told(inputs)} and targets "
            f"{_told(targets)}: {type(error).__name__}: "
            f"{first_line(error)}; see that plain torch trains on one, "
            f"and give data that fit the model, in its type"
        ) from error


@contextmanager
def of_clients(who: Sequence[int], batches: Sequence[Minibatch]) -> Iterator[None]:
    """What is not taken of the last of these minibatches is told with the clients."""
    some = ", ".join(map(str, who[:5])) + (", ..." if len(who) > 5 else "")
    with named(f"client{'s' * (len(who) > 1)} {some}", lambda: (batches[-1].inputs, batches[-1].targets)):
        yield


@contextmanager
def blamed(network: Network, who: Sequence[int], x: Stack, batches: Sequence[Minibatch]) -> Iterator[None]:
    """The same, with the one client whose minibatch plain autograd does not take, whichever way it was found in.

    Raises:
        ModuleError: in place of torch's error.
    """
    with of_clients(who, batches):
        try:
            yield
        except (FedspecError, torch.OutOfMemoryError):
            raise
        except Exception:
            for j, client in enumerate(who[: len(batches[-1].inputs)] if batches else ()):
                alone = Minibatch(batches[-1].inputs[j : j + 1], batches[-1].targets[j : j + 1])
                with of_clients([client], [alone]):
                    looped(network, x[j : j + 1], alone)
            raise


def check_test(pair: Any) -> None:
    """Refuse what a model cannot be evaluated on.

    Raises:
        ShapeError: it is no pair of equally many inputs and targets, at least one.
    """
    is_pair = isinstance(pair, tuple | list) and len(pair) == 2 and all(isinstance(part, Tensor) for part in pair)
    if not is_pair or not all(part.ndim for part in pair) or not 0 < len(pair[0]) == len(pair[1]):
        got = tuple(tuple(part.shape) for part in pair) if is_pair else type(pair).__name__
        raise ShapeError(f"test: got {got}; give a pair (inputs, targets) of two tensors of equally many examples")


def _told(part: Tensor) -> str:
    """Shape and type, and of whole numbers which."""
    whole = part.numel() and not (part.is_floating_point() or part.is_complex())
    return f"{tuple(part.shape)} {part.dtype}" + (f" from {int(part.min())} to {int(part.max())}" if whole else "")


def _generators(device: torch.device) -> list[bytes]:
    states = [torch.get_rng_state()]
    states += [torch.cuda.get_rng_state(device)] if device.type == "cuda" else []
    # NumPy's global state is what a module that calls np.random draws from.
    _, words, *more = np.random.get_state()
    ours = (repr(random.getstate()).encode(), np.asarray(words).tobytes(), repr(more).encode())
    return [*(state.numpy().tobytes() for state in states), *ours]


def _bytes(buffer: Tensor) -> Any:
    return buffer.detach().contiguous().reshape(-1).view(torch.uint8)
