"""Recurrent layers step by step, in operators that torch's vmap takes for a stack of clients.

Neither cuDNN's recurrences nor torch's ``lstm`` take a weight for each client. So within this mode, ``nn.RNN``,
``nn.GRU`` and ``nn.LSTM`` of a module run as their equations in torch's documentation state them: under vmap, a step of
all clients is one batched product for each layer and direction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

State: TypeAlias = tuple[Tensor, ...]
"""Hidden state (h,) of a layer, or (h, c) of an LSTM's, each [b, H]."""

Cell: TypeAlias = Callable[[Tensor, Tensor, State], State]
"""Next state from W_ih x + b_ih, W_hh h + b_hh and the state."""


def _lstm(x: Tensor, h: Tensor, state: State) -> State:
    i, f, g, o = (x + h).chunk(4, -1)
    c = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def _gru(x: Tensor, h: Tensor, state: State) -> State:
    (x_r, x_z, x_n), (h_r, h_z, h_n) = x.chunk(3, -1), h.chunk(3, -1)
    n = (x_n + (x_r + h_r).sigmoid() * h_n).tanh()
    return (n + (x_z + h_z).sigmoid() * (state[0] - n),)


CELLS: dict[str, Cell] = {
    "lstm": _lstm,
    "gru": _gru,
    "rnn_tanh": lambda x, h, _: ((x + h).tanh(),),
    "rnn_relu": lambda x, h, _: ((x + h).relu(),),
}
"""Cells by the name of torch's function."""


class Steps(TorchFunctionMode):
    """Function mode that runs torch's recurrent layers step by step; other calls pass through."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run a call; packed sequences, projections and dropout between layers are left to torch."""
        cell = CELLS.get(getattr(func, "__name__", ""))
        if cell is None or len(args) != ARGUMENTS:
            return func(*args, **(kwargs or {}))
        x, hidden, weights, has_bias, layers, dropout, trains, both_ways, batch_first = args
        state, each = (hidden if isinstance(hidden, tuple) else (hidden,)), 4 if has_bias else 2
        ways = 2 if both_ways else 1
        if len(weights) != each * ways * layers or (dropout and trains):
            return func(*args, **(kwargs or {}))
        rows = [weights[at : at + each] for at in range(0, len(weights), each)]
        out, last = x.transpose(0, 1) if batch_first else x, list[State]()
        for layer in range(layers):
            here = range(ways * layer, ways * layer + ways)
            found = [_layer(cell, out, tuple(part[j] for part in state), rows[j], back=j % ways == 1) for j in here]
            out = torch.cat([hs for hs, _ in found], -1)
            last += [end for _, end in found]
        ends = [torch.stack(parts) for parts in zip(*last, strict=True)]
        return out.transpose(0, 1) if batch_first else out, *ends


ARGUMENTS = 9
"""Number of arguments of torch's recurrent functions; those of packed sequences have one fewer."""


def _layer(cell: Cell, x: Tensor, state: State, weights: Sequence[Tensor], *, back: bool) -> tuple[Tensor, State]:
    """Outputs [T, b, H] of one layer in one direction, in the order of the inputs, and its last state."""
    (w_ih, w_hh), (b_ih, b_hh) = weights[:2], weights[2:] or (None, None)
    inputs, hs = F.linear(x, w_ih, b_ih).unbind(), list[Tensor]()
    for z in reversed(inputs) if back else inputs:
        state = cell(z, F.linear(state[0], w_hh, b_hh), state)
        hs.append(state[0])
    return torch.stack(hs[::-1] if back else hs), state


def stepping_of(module: nn.Module) -> Callable[[], AbstractContextManager[Any]]:
    """Return what makes the context of a vmapped call: recurrent layers step by step, if the module has any."""
    return Steps if any(isinstance(part, nn.RNNBase) for part in module.modules()) else nullcontext
