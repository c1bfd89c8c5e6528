"""Devices of the ranks: whether their group can send tensors of the model's device."""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Sequence

import torch
import torch.distributed as dist
from torch import Tensor

from fedspec_torch.ranks.processes import BACKENDS, RankError, Ranks


def check_first(tensor: Tensor, ranks: Ranks) -> None:
    """Send a number to all ranks on a tensor's device, if the group can: NCCL's first call must include all ranks.

    Raises:
        RankError: the group has no backend for the device, or two ranks have the same CUDA device.
    """
    here = ""
    if tensor.is_cuda:
        # Two ranks may see different devices under the same number.
        here = f"{socket.gethostname()}: {torch.cuda.get_device_properties(tensor.device).uuid}"
    check_devices(dist.get_backend_config(), tensor.device.type, ranks.told(here))
    ranks.same(tensor.new_zeros(1, dtype=torch.float32))


def check_devices(backends: str, kind: str, devices: Sequence[str]) -> None:
    """Raise an error unless the group's backends take tensors of this kind of device, for NCCL one device a rank.

    Args:
        backends: the group's backends as torch writes them, such as ``cpu:gloo,cuda:nccl``.
        kind: the kind of device of the model.
        devices: each rank's CUDA device; "" on a CPU.

    Raises:
        RankError: the group has another backend or none for such devices, two ranks have the same CUDA device, or
            models lie on devices of different kinds.
    """
    if len({bool(device) for device in devices}) > 1:
        raise RankError("device: some ranks have the model on a CPU, some on a CUDA device; give all the same")
    backend = dict(pair.split(":") for pair in backends.split(",")).get(kind)
    if backend is None or (kind == "cuda" and backend != "nccl"):
        raise RankError(
            f"group: it has {backend or 'no backend'} for tensors on {kind}; begin it by "
            f'torch.distributed.init_process_group("{BACKENDS}")'
        )
    for device, count in Counter(filter(None, devices)).items():
        if count > 1:
            raise RankError(
                f"device: {count} ranks have the same CUDA device ({device}), and NCCL needs one for each rank; start "
                "one rank a device, with --device cuda, or in Python after torch.cuda.set_device(LOCAL_RANK)"
            )
