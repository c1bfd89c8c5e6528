"""Dropout in a stack of clients: each client's mask is drawn from a generator with the client's own seed.

Plain autograd seeds torch's generator before each client's call, and ``nn.Dropout`` draws from it. A generator of each
client with that seed draws the same masks, in the same order of calls, so that stacked clients lose the same entries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.func import vmap
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from fedspec_torch.gradients import module_state


class Masks(TorchFunctionMode):
    """Function mode that multiplies by each client's own mask where ``torch.nn.functional.dropout`` is called.

    Attributes:
        generators: the generator of each client.
        client: the number of the client that vmap runs, a tensor; it is set within the vmapped call.
    """

    def __init__(self, device: torch.device, seeds: Sequence[int]) -> None:
        super().__init__()
        self.generators = [torch.Generator(device).manual_seed(seed) for seed in seeds]
        self.client: Tensor | None = None

    def over(self, f: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function vmapped over the clients, each with its own masks."""

        def one(client: Tensor, *given: Any) -> Any:
            self.client = client
            return f(*given)

        who = torch.arange(len(self.generators), device=self.generators[0].device)
        return lambda *given: vmap(one, randomness="same")(who, *given)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run a call; dropout takes the clients' masks."""
        if func is not F.dropout or self.client is None:
            return func(*args, **(kwargs or {}))
        return self._dropped(*args, **(kwargs or {}))

    def _dropped(self, x: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
        if not training or p == 0:
            return F.dropout(x, p, training, inplace)
        one = [torch.empty(x.shape, dtype=x.dtype, device=x.device) for _ in self.generators]
        masks = torch.stack([m.bernoulli_(1 - p, generator=g) for m, g in zip(one, self.generators, strict=True)])
        assert self.client is not None
        mask = masks.div_(1 - p).index_select(0, self.client.reshape(1))[0]
        return x.mul_(mask) if inplace else x * mask


@contextmanager
def masking(draws: bool, device: torch.device, seeds: Sequence[int]) -> Iterator[Masks | None]:
    """Context for a vmapped call: with masks if the module draws at random; torch's own generators stay as they are.

    vmap must allow draws, since the masks are drawn within it. What else a module draws is then the same for all
    clients, which the comparison with plain autograd refuses.
    """
    if not (draws and seeds):
        yield None
        return
    with module_state.restoring(device, {}, draws=True), Masks(device, seeds) as masks:
        yield masks
