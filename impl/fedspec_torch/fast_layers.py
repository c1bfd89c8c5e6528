"""Chains of layers in compiled loops (:mod:`fedspec_torch.compiled`), where numba and SciPy are at hand.

The loops take linear layers with one activation each, or none, in a CPU's memory; other chains are refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedspec.arith import Array
from fedspec_torch import layered
from fedspec_torch.arith import Stack, Weights
from fedspec_torch.blocks import Block
from fedspec_torch.data import Minibatch
from fedspec_torch.layered import Chain, LayersError, Loss
from fedspec_torch.local_runs import taken
from fedspec_torch.solvers import InPlace

ROOM = 2**14
"""Entries of products that wait to be added: they stay in the cache nearest to the core."""

CODES = {(): 0, ("relu",): 1, ("tanh",): 2}


@dataclass(frozen=True, eq=False)
class Loops:
    """The compiled loops of one chain, with memory for one thread.

    Attributes:
        chain: the layers.
        loss: cross-entropy or a mean square.
        vectors: of n d numbers, as many as were asked for, by name.
    """

    chain: Chain
    loss: Loss
    vectors: dict[str, Tensor] = field(default_factory=dict)
    _tables: dict[int, tuple[Array, int]] = field(default_factory=dict)
    _memory: dict[Any, Any] = field(default_factory=dict)
