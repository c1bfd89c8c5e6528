"""Checks of a module's submodules and parameters before a run: can fedspec train it?"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from itertools import pairwise
from typing import Any
from weakref import WeakSet

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.dropout import _DropoutNd

from fedspec_torch.gradients.calls import Loss
from fedspec_torch.refusals import LossError, ModuleError


def check_module(module: nn.Module, loss: Loss) -> None:
    """Raise an error if the module's type, parameters or submodules show that it can't be trained.

    Raises:
        ModuleError: the module can't be trained; the message names the part.
        LossError: the loss isn't a function.
    """
    if not isinstance(module, nn.Module):
        raise ModuleError(f"model: got {type(module).__name__}; give a torch.nn.Module")
    if hasattr(module, "_orig_mod"):
        raise ModuleError(
            "model: it is the result of torch.compile, whose forward changes with its calls; give the module itself: "
            "fedspec computes the gradients of many clients by its own methods"
        )
    if isinstance(loss, type):
        raise LossError(f"loss: got the class {loss.__name__}; give an instance, {loss.__name__}()")
    if loss is not None and not callable(loss):
        raise LossError(f"loss: got {loss!r}; give a function (F.cross_entropy), or None if the model returns its loss")
    check_mode("Federation")
    check_listed(module)
    for name, part in module.named_modules():
        where = f"model: {name or 'the module'} ({type(part).__name__})"
        if any(isinstance(p, nn.parameter.UninitializedParameter) for p in part.parameters(recurse=False)):
            raise ModuleError(
                f"{where} has parameters without shapes; call the model on a minibatch once before you make the "
                "federation"
            )
    if not any(p.requires_grad and p.numel() for p in module.parameters()):
        raise ModuleError("model: nothing to train; give a module with a non-empty parameter that has requires_grad")
    kinds = {(p.dtype, p.device) for p in module.parameters() if p.requires_grad}
    for dtype, device in sorted(kinds, key=str):
        if dtype.is_complex:
            raise ModuleError(
                f"model: it has parameters of {dtype}, but runs need real numbers; store real and imaginary parts in a "
                "parameter of float32 or float64 (torch.view_as_real), and join them in forward (view_as_complex)"
            )
        if dtype not in (torch.float32, torch.float64):
            raise ModuleError(
                f"model: it has parameters of {dtype}, but runs need float32 or float64; give model.float(), and "
                "Federation(..., precision='bf16') for gradients in bfloat16"
            )
        if device.type == "meta":
            raise ModuleError(
                "model: it has parameters on the device meta, which have no values; initialise them first "
                "(model.to_empty, init)"
            )
    if len(kinds) > 1:
        raise ModuleError(
            f"model: its parameters are of {' and '.join(sorted(f'{t} on {d}' for t, d in kinds))}; one vector holds "
            "them all, so give all parameters one type and device"
        )
    check_apart({name: p for name, p in module.named_parameters() if p.requires_grad and p.numel()})


WARNED: WeakSet[nn.Module] = WeakSet()
"""Modules for which the warning about evaluation mode was printed."""


def warn_of_evaluation(module: nn.Module) -> None:
    """Warn once if the whole module is in evaluation mode and a submodule would behave differently in training mode.

    A part alone in that mode is meant so, as a norm that is frozen.
    """
    idle = sorted({type(p).__name__ for p in module.modules() if not p.training and _trains_otherwise(p)})
    if module.training or not idle or module in WARNED:
        return
    WARNED.add(module)
    warnings.warn(
        f"model: it is in its evaluation mode, and is trained so: {', '.join(idle)} will do what it does there. Call "
        f"model.train() before Federation(...); where it is meant, call model.train() and then eval() of these parts",
        UserWarning,
        stacklevel=4,
    )


def _trains_otherwise(part: nn.Module) -> bool:
    """True if a part of torch's behaves differently in its training mode."""
    match part:
        case _NormBase():
            return bool(part.track_running_stats)
        case _DropoutNd():
            return part.p > 0
        case nn.RNNBase() | nn.MultiheadAttention():
            return part.dropout > 0
    return False


def check_mode(what: str, device: str = "") -> None:
    """Raise an error if torch's inference mode, or autocast on ``device``, is active.

    Raises:
        ModuleError: torch.inference_mode is on, or torch.autocast on ``device``.
    """
    if torch.is_inference_mode_enabled():
        raise ModuleError(f"{what}: torch.inference_mode is on, so gradients can't be computed; leave it first")
    # It keeps rounded copies of parameters until it is left, whatever is written to them since.
    if device and torch.is_autocast_enabled(device):
        raise ModuleError(
            f"{what}: torch.autocast is on around the run, and caches rounded copies of parameters that the run "
            "overwrites; leave it first, and enter it in forward, or give Federation(..., precision='bf16')"
        )


def check_listed(module: nn.Module) -> None:
    """Raise an error if the module's ``parameters()`` differs from the parameters of its submodules.

    Raises:
        ModuleError: the lists differ; the message names the parameters that are in only one of the two lists.
    """
    held = dict(nn.Module.named_parameters(module))
    trained = {id(p) for p in held.values() if p.requires_grad}
    # The second of them asks the first.
    for name in ("named_parameters", "parameters"):
        listed = {id(p) for p in map(_parameter, getattr(module, name)()) if p.requires_grad}
        others = [at for at, p in held.items() if id(p) in trained ^ listed]
        if listed != trained:
            raise ModuleError(
                f"model: {type(module).__name__} overrides {name}, which lists other parameters than its submodules "
                f"have ({', '.join(others[:5]) or 'not of any part'}); remove the override, and call "
                "requires_grad_(False) on parameters that aren't to be trained"
            )


def _parameter(listed: Any) -> Tensor:
    found: Tensor = listed[1] if isinstance(listed, tuple) else listed
    return found


def check_apart(parameters: Mapping[str, Tensor]) -> None:
    """Raise an error if two parameters overlap in memory, since an update of one would overwrite the other.

    Raises:
        ModuleError: two parameters overlap; the message names them.
        ModuleError: a parameter was made in torch.inference_mode.
    """
    ends: list[tuple[int, int, str]] = []
    for name, p in parameters.items():
        if p.is_inference():
            raise ModuleError(
                f"model: {name} was made in torch.inference_mode, so it has no gradient; make it outside of that mode"
            )
        if p.layout != torch.strided or p.device.type == "meta":
            continue
        if any(n > 1 and step == 0 for n, step in zip(p.shape, p.stride(), strict=True)):
            raise ModuleError(
                f"model: several entries of {name} are one number in memory (expand); replace it by a clone"
            )
        length = 1 + sum((n - 1) * step for n, step in zip(p.shape, p.stride(), strict=True))
        ends.append((p.data_ptr(), p.data_ptr() + length * p.element_size(), name))
    ends.sort()
    for (_, end, one), (begin, _, other) in pairwise(ends):
        if begin < end:
            raise ModuleError(
                f"model: {one} and {other} are two parameters in the same memory (tied by .data); give both parts one "
                f"parameter (a.weight = b.weight), or compute one from the other in forward"
            )
